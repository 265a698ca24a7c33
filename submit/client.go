package submit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/kube"
)

// CredentialPrefix is the prefix of the submitter's credential keys.
const CredentialPrefix = "spark.kubernetes.authenticate.submission"

// Client submits and looks after applications on one cluster. It is safe for concurrent use.
type Client struct {
	api      *kube.Client
	log      *slog.Logger
	progress func(UploadProgress) // may be nil
}

// ClientOption changes how NewClient makes a Client.
type ClientOption func(*Client)

// WithLogger receives what stock Spark logs; the attribute "logger" is the short name of Spark's class. Default: nothing
// is logged.
func WithLogger(l *slog.Logger) ClientOption { return func(c *Client) { c.log = l } }

// NewClient makes a client of the cluster that cfg names. Nothing is sent.
func NewClient(cfg *rest.Config, opts ...ClientOption) (*Client, error) {
	api, err := kube.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	c := &Client{api: api, log: slog.New(slog.DiscardHandler)}
	for _, o := range opts {
		o(c)
	}
	return c, nil
}

// RESTConfig makes the client configuration of a submission: kubeconfig or service account, then the keys of Spark. server
// is the API server's URL.
func RESTConfig(c *conf.Conf, server string, lookup func(string) (string, bool)) (*rest.Config, error) {
	o, err := options(c, server, lookup)
	if err != nil {
		return nil, err
	}
	cfg, err := kube.Config(o)
	if err != nil {
		return nil, &Error{Class: classArgument, Text: err.Error(), Err: err}
	}
	return cfg, nil
}

// DefaultNamespace is the namespace of the kubeconfig's context: what --kill and --status take when the id has none.
func DefaultNamespace(c *conf.Conf, lookup func(string) (string, bool)) (string, error) {
	o, err := options(c, "", lookup)
	if err != nil {
		return "", err
	}
	return kube.Namespace(o)
}

func options(c *conf.Conf, server string, lookup func(string) (string, bool)) (kube.Options, error) {
	connect, err := conf.SubmissionConnectTimeout.Get(c)
	if err != nil {
		return kube.Options{}, err
	}
	request, err := conf.SubmissionRequestTimeout.Get(c)
	if err != nil {
		return kube.Options{}, err
	}
	return kube.Options{Conf: c, Prefix: CredentialPrefix, APIServer: server, Env: lookup, UserAgent: kube.UserAgent("submit"),
		ConnectTimeout: time.Duration(connect) * time.Millisecond, RequestTimeout: time.Duration(request) * time.Millisecond}, nil
}

// Log writes a line as the given class of Spark.
func (c *Client) logLine(level slog.Level, logger, text string) {
	c.log.Log(context.Background(), level, text, "logger", logger)
}

// apiError words a failed call: what was tried on which object, and what the server said, on one line.
func apiError(doing string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	if kube.SpeaksPlainHTTP(err) {
		text += ": the server speaks plain HTTP; write --master k8s://http://… if that is meant"
	}
	switch kube.Kind(err) {
	case kube.Transient, kube.Unknown:
		text = "no usable answer from the Kubernetes API server: " + text
	case kube.Unauthorized:
		text = "the Kubernetes API server did not accept the credentials: " + text
	case kube.Quota:
		text += "; free some of it or ask for less"
	}
	return &Error{Class: classClient, Text: fmt.Sprintf("%s failed: %s", doing, text), Err: err}
}
