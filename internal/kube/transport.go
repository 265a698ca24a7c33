package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// maxErrorBody bounds what is read of an error answer.
const maxErrorBody = 1 << 20

// transport gives each request but watches and log streams a time limit, and turns a Retry-After header into the
// retryAfterSeconds of the error: client-go would otherwise repeat the request up to ten times by itself, unseen by
// those who count tries and narrow their window.
type transport struct {
	base    http.RoundTripper
	timeout time.Duration // 0: none
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	cancel := func() {}
	if q := req.URL.Query(); t.timeout > 0 && q.Get("watch") == "" && q.Get("follow") == "" && q.Get("timeout") == "" {
		ctx, stop := context.WithTimeout(req.Context(), t.timeout)
		cancel, req = stop, req.WithContext(ctx)
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &cancelingBody{resp.Body, cancel}
	if after := resp.Header.Get("Retry-After"); after != "" && resp.StatusCode >= 400 {
		if err := keepRetryAfter(resp, after); err != nil {
			return nil, err
		}
	}
	return resp, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.base }

type cancelingBody struct {
	io.ReadCloser
	cancel func()
}

func (b *cancelingBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

func keepRetryAfter(resp *http.Response, after string) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("read the answer %s: %w", resp.Status, err)
	}
	seconds, err := strconv.Atoi(after)
	if err != nil { // a date: rare, and only a hint
		seconds = 1
	}
	var status metav1.Status
	if json.Unmarshal(body, &status) != nil || status.Kind != "Status" {
		status = metav1.Status{Status: metav1.StatusFailure, Message: strings.TrimSpace(string(body)), Code: int32(resp.StatusCode)}
		if resp.StatusCode == http.StatusTooManyRequests {
			status.Reason = metav1.StatusReasonTooManyRequests
		}
	}
	status.Kind, status.APIVersion = "Status", "v1"
	if status.Reason == "" && resp.StatusCode == http.StatusServiceUnavailable {
		status.Reason = metav1.StatusReasonServiceUnavailable
	}
	if status.Details == nil {
		status.Details = &metav1.StatusDetails{}
	}
	status.Details.RetryAfterSeconds = int32(seconds)
	if body, err = json.Marshal(&status); err != nil {
		return fmt.Errorf("rewrite the answer %s: %w", resp.Status, err)
	}
	resp.Header.Del("Retry-After")
	resp.Header.Set("Content-Type", "application/json")
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	resp.ContentLength = int64(len(body))
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// isTLSRefusal says whether the two sides could not agree on a secure connection: trying again does not help.
func isTLSRefusal(err error) bool {
	var (
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		host    x509.HostnameError
		record  tls.RecordHeaderError
	)
	return errors.As(err, &verify) || errors.As(err, &unknown) || errors.As(err, &host) || errors.As(err, &record) ||
		SpeaksPlainHTTP(err)
}

// Wrap puts this package's transport over a configuration that came from elsewhere, a caller's own for instance.
func Wrap(cfg *rest.Config, requestTimeout time.Duration) {
	cfg.Wrap(func(base http.RoundTripper) http.RoundTripper { return &transport{base, requestTimeout} })
}
