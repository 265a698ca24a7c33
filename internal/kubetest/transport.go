package kubetest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// transport calls the server in the process: no socket, so that it works in a synctest bubble.
type transport struct{ s *Server }

// RoundTrip serves one request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body := r.Body
	if body == nil {
		body = http.NoBody
	}
	ctx, cancel := context.WithCancel(r.Context())
	in := r.Clone(ctx)
	in.Body = body
	pr, pw := io.Pipe()
	w := &pipeWriter{header: http.Header{}, pipe: pw, ready: make(chan struct{})}
	go func() {
		err := io.EOF
		defer func() {
			if p := recover(); p != nil {
				if aborted, ok := p.(error); !ok || !errors.Is(aborted, http.ErrAbortHandler) {
					panic(p)
				}
				err = io.ErrUnexpectedEOF
			}
			w.finish(err)
			cancel()
		}()
		t.s.ServeHTTP(w, in)
	}()
	select {
	case <-w.ready:
	case <-r.Context().Done():
		cancel()
		_ = pr.CloseWithError(r.Context().Err()) // never fails
		return nil, r.Context().Err()
	}
	if w.failed != nil {
		return nil, w.failed
	}
	stop := context.AfterFunc(r.Context(), func() { _ = pr.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: w.status, Status: http.StatusText(w.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: &pipeBody{PipeReader: pr, done: func() { stop(); cancel() }}, ContentLength: -1, Request: r}, nil
}

type pipeBody struct {
	*io.PipeReader
	done func()
}

func (b *pipeBody) Close() error {
	b.done()
	return b.PipeReader.Close()
}

type pipeWriter struct {
	header http.Header
	status int
	pipe   *io.PipeWriter
	once   sync.Once
	ready  chan struct{}
	failed error
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(code int) {
	w.once.Do(func() {
		w.status = code
		close(w.ready)
	})
}

func (w *pipeWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(b)
}

// Flush has nothing to do: nothing is buffered.
func (w *pipeWriter) Flush() {}

func (w *pipeWriter) finish(err error) {
	w.once.Do(func() {
		if errors.Is(err, io.EOF) {
			w.status = http.StatusOK
		} else {
			w.failed = err
		}
		close(w.ready)
	})
	_ = w.pipe.CloseWithError(err) // never fails
}
