package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
)

// wroteKey is the context key of a put's progress.
type wroteKey struct{}

// counted lets the requests of ctx report their bodies' bytes.
func counted(ctx context.Context, wrote func(int64)) context.Context {
	return context.WithValue(ctx, wroteKey{}, wrote)
}

// countingTransport tells a put's progress how much of a request's body has gone, and takes it back when the request failed
// and has to be sent again. It sees what libraries send, not what they read to hash it first.
type countingTransport struct{ base http.RoundTripper }

// httpClient makes a client with connections of its own.
func httpClient() *http.Client {
	base := &http.Transport{}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		base = t.Clone()
	}
	base.MaxIdleConnsPerHost = 32
	return &http.Client{Transport: countingTransport{base}}
}

// RoundTrip sends a request.
func (t countingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	wrote, ok := req.Context().Value(wroteKey{}).(func(int64))
	list := req.URL.Query().Get("comp") == "blocklist" // Azure's end of an upload: no content
	if !ok || req.Body == nil || req.Method != http.MethodPut || list {
		return t.base.RoundTrip(req)
	}
	body := &countingBody{ReadCloser: req.Body, wrote: wrote}
	req = req.Clone(req.Context())
	req.Body = body
	resp, err := t.base.RoundTrip(req)
	if err != nil || resp.StatusCode >= 400 {
		wrote(-body.sum.Load())
	}
	return resp, err
}

type countingBody struct {
	io.ReadCloser
	wrote func(int64)
	sum   atomic.Int64
}

func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.sum.Add(int64(n))
		b.wrote(int64(n))
	}
	return n, err
}

// plain takes a library's wrapping off a request that got no answer: the URL's query can hold a signature.
func plain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var u *url.Error
	if !errors.As(err, &u) {
		return err
	}
	host := "the server"
	if parsed, perr := url.Parse(u.URL); perr == nil && parsed.Host != "" {
		host = parsed.Scheme + "://" + parsed.Host
	}
	return fmt.Errorf("no answer from %s: %w", host, u.Err)
}
