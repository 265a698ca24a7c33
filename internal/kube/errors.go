package kube

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrorKind says what an API error means for the caller.
type ErrorKind int

// The kinds. Each error has exactly one.
const (
	None          ErrorKind = iota // no error
	Other                          // permanent, of no kind below
	Transient                      // nothing was done; trying again may help
	Unknown                        // it may have been done or not: a lost answer, a server error in the middle
	AlreadyExists                  // 409 on a create
	Conflict                       // 409 on a write to an older version
	NotFound                       // 404
	Forbidden                      // 403, by RBAC or an admission plug-in
	Quota                          // 403 because a resource quota is used up
	Invalid                        // 400 or 422
	Unauthorized                   // 401
	Expired                        // 410: resourceVersion too old
	Canceled                       // the caller's own context ended
)

// Kind classifies an error of this package's clients, wrapped or not.
func Kind(err error) ErrorKind {
	if err == nil {
		return None
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return statusKind(status.Status())
	}
	return transportKind(err)
}

func statusKind(s metav1.Status) ErrorKind {
	switch {
	case s.Reason == metav1.StatusReasonAlreadyExists:
		return AlreadyExists
	case s.Code == http.StatusForbidden && strings.Contains(s.Message, "exceeded quota"):
		return Quota
	}
	switch s.Code {
	case http.StatusConflict:
		return Conflict
	case http.StatusNotFound:
		return NotFound
	case http.StatusForbidden:
		return Forbidden
	case http.StatusUnauthorized:
		return Unauthorized
	case http.StatusGone:
		return Expired
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return Invalid
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return Transient
	}
	if s.Code >= 500 {
		return Unknown
	}
	return Other
}

func transportKind(err error) ErrorKind {
	var op *net.OpError
	switch {
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.As(err, &op) && op.Op == "dial":
		return Transient
	case isTLSRefusal(err):
		return Other
	}
	return Unknown
}

// RetryAfter is the pause that the server asked for.
func RetryAfter(err error) (time.Duration, bool) {
	s, ok := apierrors.SuggestsClientDelay(err)
	return time.Duration(s) * time.Second, ok
}
