package upload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Google's storage library would bring gRPC and some 28 MB into the program. Four calls of its JSON API are what is needed.
const (
	gsDefaultRoot = "https://storage.googleapis.com"
	gsChunk       = 16 << 20 // a multiple of 256 KiB
	gsTries       = 5
)

// gsStore is one bucket.
type gsStore struct {
	bucket string
	root   string
	http   *http.Client
	pause  time.Duration // before the second try; doubles
}

func openGS(ctx context.Context, h *hadoopConf, at Location) (store, error) {
	if at.Authority == "" {
		return nil, fmt.Errorf("%s names no bucket", at)
	}
	client, err := gsClient(ctx, h)
	if err != nil {
		return nil, err
	}
	root := strings.TrimSuffix(h.get("fs.gs.storage.root.url"), "/")
	if root == "" {
		root = gsDefaultRoot
	}
	return &gsStore{bucket: at.Authority, root: root, http: client, pause: 500 * time.Millisecond}, nil
}

func (s *gsStore) url(prefix string, parts ...string) string {
	u := s.root + prefix + "/storage/v1/b/" + url.PathEscape(s.bucket) + "/o"
	for _, p := range parts {
		u += "/" + url.PathEscape(p)
	}
	return u
}

// put opens a resumable session and sends the file through it, in chunks that can each be sent again.
func (s *gsStore) put(ctx context.Context, at Location, src *os.File, size int64, wrote func(int64)) error {
	q := url.Values{"uploadType": {"resumable"}, "name": {at.key()}}
	header := http.Header{"X-Upload-Content-Length": {strconv.FormatInt(size, 10)}}
	resp, err := s.call(ctx, http.MethodPost, s.url("/upload")+"?"+q.Encode(), nil, header)
	if err != nil {
		return err
	}
	session := resp.header.Get("Location")
	if session == "" {
		return errors.New("the server began no upload: it does not answer as Google Cloud Storage does")
	}
	ctx = counted(ctx, wrote)
	for from := int64(0); ; {
		n := min(gsChunk, size-from)
		span := fmt.Sprintf("bytes %d-%d/%d", from, from+n-1, size)
		if size == 0 {
			span = "bytes */0"
		}
		resp, err := s.call(ctx, http.MethodPut, session, io.NewSectionReader(src, from, n), http.Header{"Content-Range": {span}})
		if err != nil {
			return err
		}
		if resp.status != http.StatusPermanentRedirect {
			return nil
		}
		next := gsReceived(resp.header)
		if next <= from && size > 0 || next > size {
			return fmt.Errorf("the server keeps %d bytes of %d and takes no more", next, size)
		}
		wrote(next - from - n) // what it did not keep goes again
		from = next
	}
}

// gsReceived reads how many bytes of a session the server has, from "bytes=0-41".
func gsReceived(h http.Header) int64 {
	_, last, _ := strings.Cut(h.Get("Range"), "-")
	n, err := strconv.ParseInt(last, 10, 64)
	if err != nil {
		return 0
	}
	return n + 1
}

// gsAnswer is a complete answer.
type gsAnswer struct {
	status int
	header http.Header
	body   []byte
}

// call sends a request, again after an answer that says so. body may be nil.
func (s *gsStore) call(ctx context.Context, method, target string, body *io.SectionReader, header http.Header) (gsAnswer, error) {
	pause := s.pause
	for try := 1; ; try++ {
		a, err := s.once(ctx, method, target, body, header)
		switch again := a.status == http.StatusTooManyRequests || a.status == http.StatusRequestTimeout || a.status >= 500; {
		case err == nil && a.status < 400:
			return a, nil
		case try == gsTries || ctx.Err() != nil || !again && err == nil:
			if err == nil {
				err = s.refusal(a)
			}
			return a, err
		case err != nil && permanent(err):
			return a, err
		}
		select {
		case <-ctx.Done():
			return a, ctx.Err()
		case <-time.After(pause):
			pause *= 2
		}
	}
}

func (s *gsStore) once(ctx context.Context, method, target string, body *io.SectionReader, header http.Header) (a gsAnswer, err error) {
	var reader io.Reader
	if body != nil {
		if _, err := body.Seek(0, io.SeekStart); err != nil {
			return a, err
		}
		reader = io.NopCloser(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, reader)
	if err != nil {
		return a, err
	}
	if body != nil {
		req.ContentLength = body.Size()
		if body.Size() == 0 {
			req.Body = http.NoBody
		}
	}
	for k, v := range header {
		req.Header[k] = v
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return a, err
	}
	const limit = 64 << 20 // of a page of a listing
	a = gsAnswer{status: resp.StatusCode, header: resp.Header}
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, limit))
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	return a, err
}

// refusal reads the error of Google's APIs.
func (s *gsStore) refusal(a gsAnswer) error {
	e := &answerError{store: "Google Cloud Storage", of: "bucket " + s.bucket, code: strconv.Itoa(a.status) + " " + http.StatusText(a.status)}
	var told struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(a.body, &told) == nil {
		e.text = told.Error.Message
	}
	return e
}

func (s *gsStore) remove(ctx context.Context, at Location) error {
	a, err := s.call(ctx, http.MethodDelete, s.url("", at.key()), nil, nil)
	if a.status == http.StatusNotFound {
		return nil
	}
	return err
}

func (s *gsStore) list(ctx context.Context, at Location) ([]entry, error) {
	q := url.Values{"prefix": {at.key()}, "delimiter": {"/"}, "fields": {"items(name),prefixes,nextPageToken"}}
	var out []entry
	for {
		a, err := s.call(ctx, http.MethodGet, s.url("")+"?"+q.Encode(), nil, nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Items []struct {
				Name string `json:"name"`
			} `json:"items"`
			Prefixes      []string `json:"prefixes"`
			NextPageToken string   `json:"nextPageToken"`
		}
		if err := json.NewDecoder(bytes.NewReader(a.body)).Decode(&page); err != nil {
			return nil, fmt.Errorf("the listing of bucket %s cannot be read: %w", s.bucket, err)
		}
		for _, i := range page.Items {
			out = appendObject(out, strings.TrimPrefix(i.Name, at.key()))
		}
		for _, p := range page.Prefixes {
			out = appendObject(out, strings.TrimPrefix(p, at.key()))
		}
		if page.NextPageToken == "" {
			return out, nil
		}
		q.Set("pageToken", page.NextPageToken)
	}
}

func (s *gsStore) close() error {
	s.http.CloseIdleConnections()
	return nil
}
