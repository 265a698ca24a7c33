package submit

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	fetchTime   = 60 * time.Second
	maxJar      = 1 << 30 // a larger jar is asked for its class on the command line
	maxTemplate = 4 << 20
)

// isHTTP says whether a URI is fetched by HTTP.
func isHTTP(uri string) bool {
	s := schemeOf(uri)
	return s == "http" || s == "https"
}

// fetch reads what a plan needs from a web server: a jar's manifest or a pod template.
func (e Env) fetch(uri string, limit int64) (body []byte, err error) {
	client := e.HTTP
	if client == nil {
		client = &http.Client{Timeout: fetchTime}
	}
	u, err := url.Parse(uri)
	if err != nil {
		return nil, fmt.Errorf("%s is no URL", uri)
	}
	resp, err := client.Get(uri)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := resp.Body.Close(); err == nil {
			err = cerr
		}
	}()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server of %s answers %s", u.Redacted(), resp.Status)
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(body)) > limit {
		err = fmt.Errorf("%s is larger than %d MiB", u.Redacted(), limit>>20)
	}
	return body, err
}
