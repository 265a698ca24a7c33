package kube

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// tokenAge is how long the content of a token file is believed.
const tokenAge = time.Minute

// tokenFile logs in with the token of a file that somebody rotates: it is read again after a minute, and at once after a
// 401, whose request is then sent once more.
type tokenFile struct {
	base http.RoundTripper
	path string

	mu    sync.Mutex
	token string
	read  time.Time
}

func (t *tokenFile) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := t.current("")
	if err != nil {
		return nil, err
	}
	resp, err := t.base.RoundTrip(with(req, token))
	if err != nil || resp.StatusCode != http.StatusUnauthorized || (req.Body != nil && req.GetBody == nil) {
		return resp, err
	}
	fresh, err := t.current(token)
	if err != nil || fresh == token {
		return resp, nil //nolint:nilerr // the 401 says enough
	}
	again := with(req, fresh)
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return resp, nil //nolint:nilerr // as above
		}
	}
	if err := resp.Body.Close(); err != nil {
		return nil, fmt.Errorf("close the answer 401: %w", err)
	}
	return t.base.RoundTrip(again)
}

// current returns the token; refused is one that the server no longer takes.
func (t *tokenFile) current(refused string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token != "" && t.token != refused && time.Since(t.read) < tokenAge {
		return t.token, nil
	}
	text, err := os.ReadFile(t.path)
	token := strings.TrimSpace(string(text))
	switch {
	case err == nil && token != "":
		t.token, t.read = token, time.Now()
	case t.token != "": // the file is being replaced: the old token may still do
		return t.token, nil
	case err != nil:
		return "", fmt.Errorf("the token file cannot be read: %w", err)
	default:
		return "", fmt.Errorf("the token file %s is empty", t.path)
	}
	return t.token, nil
}

func with(req *http.Request, token string) *http.Request {
	out := req.Clone(req.Context())
	out.Header.Set("Authorization", "Bearer "+token)
	return out
}

// WrappedRoundTripper lets client-go find the transport below.
func (t *tokenFile) WrappedRoundTripper() http.RoundTripper { return t.base }
