package kube

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// M-5: an address without a scheme is tried with TLS, and in plain HTTP only when the server's answer is that; no
// credentials are sent then, wherever they come from.
func TestPlainHTTPFallback(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, login := range map[string]rest.Config{"token": {BearerToken: "secret"}, "token file": {BearerTokenFile: file}, "password": {Username: "u", Password: "secret"}} {
		t.Run(name, func(t *testing.T) {
			var got []string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				got = append(got, fmt.Sprint(r.Method, " ", len(body) > 0, err, r.Header["Authorization"]))
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprint(w, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}}`)
			}))
			defer srv.Close()
			switched := 0
			cfg := login
			cfg.Host, cfg.Insecure = strings.Replace(srv.URL, "http:", "https:", 1), true
			finish(&cfg, Options{RequestTimeout: time.Minute})
			AllowPlainHTTP(&cfg, func() { switched++ })
			c, err := NewClient(&cfg)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Pods("ns").Delete(t.Context(), "p", metav1.DeleteOptions{GracePeriodSeconds: new(int64(7))}); err != nil {
				t.Error(err)
			}
			if _, err := c.Pods("ns").Get(t.Context(), "p", metav1.GetOptions{}); err != nil {
				t.Error(err)
			}
			if want := "[DELETE true <nil> [] GET false <nil> []]"; fmt.Sprint(got) != want || switched != 1 {
				t.Errorf("switched %d times; the server saw %v, want %s", switched, got, want)
			}
		})
	}
}

// A server with TLS keeps it, even one whose certificate is refused; without the permission a plain answer is an error at
// the first try.
func TestPlainHTTPFallbackIsForPlainServersOnly(t *testing.T) {
	calls := 0
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { calls++; w.WriteHeader(http.StatusTeapot) })
	secure, plain := httptest.NewTLSServer(handler), httptest.NewServer(handler)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshake
	defer secure.Close()
	defer plain.Close()
	for _, tt := range []struct {
		name, host string
		insecure   bool
		allow      bool
		want       string
		calls      int
	}{
		{name: "TLS", host: secure.URL, insecure: true, allow: true, want: "418", calls: 1},
		{name: "an unknown certificate", host: secure.URL, allow: true, want: "certificate signed by unknown authority"},
		{name: "plain, not allowed", host: strings.Replace(plain.URL, "http:", "https:", 1), want: "server gave HTTP response to HTTPS client"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls = 0
			cfg := &rest.Config{Host: tt.host, TLSClientConfig: rest.TLSClientConfig{Insecure: tt.insecure}}
			finish(cfg, Options{})
			if tt.allow {
				AllowPlainHTTP(cfg, func() { t.Error("TLS was given up") })
			}
			c, err := NewClient(cfg)
			if err != nil {
				t.Fatal(err)
			}
			tries := 0
			err = Retry(t.Context(), StockBackoff, func(ctx context.Context) error {
				tries++
				_, err := c.Pods("ns").Get(ctx, "p", metav1.GetOptions{})
				return err
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) || tries != 1 || calls != tt.calls {
				t.Errorf("%d tries, %d calls, %v", tries, calls, err)
			}
		})
	}
}
