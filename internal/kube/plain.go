package kube

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// AllowPlainHTTP lets a configuration go on without TLS when the server turns out to speak plain HTTP: for an address that
// came without a scheme, which Spark's Kubernetes client probes. No credentials are sent then, because nobody asked for an
// open connection. switched is called once, before the first plain request.
func AllowPlainHTTP(cfg *rest.Config, switched func()) {
	// Below every other wrapper, so that what they put into a request can be taken out of it.
	others := cfg.WrapTransport
	cfg.WrapTransport = func(base http.RoundTripper) http.RoundTripper {
		plain := &plainFallback{base: base, switched: switched}
		if others == nil {
			return plain
		}
		return others(plain)
	}
}

// plainFallback repeats a request without TLS after a server's answer in plain HTTP, and stays there.
type plainFallback struct {
	base     http.RoundTripper
	switched func()
	plain    atomic.Bool
}

func (p *plainFallback) RoundTrip(req *http.Request) (*http.Response, error) {
	if p.plain.Load() {
		return p.base.RoundTrip(inTheClear(req))
	}
	resp, err := p.base.RoundTrip(req)
	if !SpeaksPlainHTTP(err) {
		return resp, err
	}
	again := inTheClear(req)
	if req.Body != nil && req.Body != http.NoBody {
		if req.GetBody == nil {
			return nil, err
		}
		var berr error
		if again.Body, berr = req.GetBody(); berr != nil {
			return nil, fmt.Errorf("repeat the request without TLS: %w", berr)
		}
	}
	if p.plain.CompareAndSwap(false, true) {
		p.switched()
	}
	return p.base.RoundTrip(again)
}

// SpeaksPlainHTTP says whether a request with TLS failed because the server answered in plain HTTP.
func SpeaksPlainHTTP(err error) bool {
	var record tls.RecordHeaderError // what a transport says; http.Client turns it into the other
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/"
}

// WrappedRoundTripper lets client-go find the transport below.
func (p *plainFallback) WrappedRoundTripper() http.RoundTripper { return p.base }

func inTheClear(req *http.Request) *http.Request {
	out := req.Clone(req.Context())
	out.URL.Scheme = "http"
	out.Header.Del("Authorization")
	return out
}
