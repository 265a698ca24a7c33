package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubespark/kubespark/conf"
)

func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	cfg := &rest.Config{Host: srv.URL, QPS: -1}
	Wrap(cfg, time.Minute)
	c, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func status(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status: "Failure", Code: int32(code), Reason: reason, Message: message})
}

func TestKind(t *testing.T) {
	tests := []struct {
		code    int
		reason  metav1.StatusReason
		message string
		want    ErrorKind
	}{
		{409, metav1.StatusReasonAlreadyExists, "", AlreadyExists},
		{409, metav1.StatusReasonConflict, "", Conflict},
		{404, metav1.StatusReasonNotFound, "", NotFound},
		{403, metav1.StatusReasonForbidden, `pods "a" is forbidden: exceeded quota: q, requested: pods=1`, Quota},
		{403, metav1.StatusReasonForbidden, `pods is forbidden: User "u" cannot create`, Forbidden},
		{401, metav1.StatusReasonUnauthorized, "", Unauthorized},
		{410, metav1.StatusReasonExpired, "", Expired},
		{400, metav1.StatusReasonBadRequest, "", Invalid},
		{422, metav1.StatusReasonInvalid, "", Invalid},
		{429, metav1.StatusReasonTooManyRequests, "", Transient},
		{503, metav1.StatusReasonServiceUnavailable, "", Transient},
		{500, metav1.StatusReasonInternalError, "", Unknown},
		{504, metav1.StatusReasonTimeout, "", Unknown},
		{405, metav1.StatusReasonMethodNotAllowed, "", Other},
	}
	for _, tt := range tests {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { status(w, tt.code, tt.reason, tt.message) })
		_, err := c.Pods("n").Create(t.Context(), &corev1.Pod{}, metav1.CreateOptions{})
		if got := Kind(fmt.Errorf("wrapped: %w", err)); got != tt.want {
			t.Errorf("%d %s: kind %d, want %d (%v)", tt.code, tt.reason, got, tt.want, err)
		}
	}
	if Kind(nil) != None || Kind(context.Canceled) != Canceled || Kind(io.ErrUnexpectedEOF) != Unknown {
		t.Error("errors without an answer have the wrong kind")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	c, err := NewClient(&rest.Config{Host: "http://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Pods("n").Create(t.Context(), &corev1.Pod{}, metav1.CreateOptions{})
	if Kind(err) != Transient {
		t.Errorf("a refused connection has kind %d: %v", Kind(err), err)
	}
}

// S057: a create that meets 500 four times is tried four times; 403 once. The pause asked for by the server is kept.
func TestRetryCountsTries(t *testing.T) {
	for _, tt := range []struct {
		code, want int
	}{{500, 4}, {403, 1}, {429, 4}} {
		tries := 0
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			tries++
			w.Header().Set("Retry-After", "0")
			status(w, tt.code, "", "no")
		})
		b := StockBackoff
		b.First = time.Microsecond
		err := Retry(t.Context(), b, func(ctx context.Context) error {
			_, err := c.Pods("n").Create(ctx, &corev1.Pod{}, metav1.CreateOptions{})
			return err
		})
		if err == nil || tries != tt.want {
			t.Errorf("%d: %d tries, want %d (%v)", tt.code, tries, tt.want, err)
		}
	}
}

func TestRetryPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []time.Duration
		err := Retry(t.Context(), StockBackoff, func(context.Context) error {
			at = append(at, time.Since(start))
			return io.ErrUnexpectedEOF
		})
		want := []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond, 700 * time.Millisecond}
		if diff := cmp.Diff(want, at); diff != "" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v %s", err, diff)
		}
	})
}

// C073: the server's pause is readable on the error, also when the body is plain text.
func TestRetryAfterIsKept(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
	})
	_, err := c.Pods("n").Get(t.Context(), "p", metav1.GetOptions{})
	if d, ok := RetryAfter(err); !ok || d != 7*time.Second || Kind(err) != Transient {
		t.Errorf("RetryAfter = %s, %v, kind %d (%v)", d, ok, Kind(err), err)
	}
}

func TestRequestTimeoutSparesWatches(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	})
	cfgd := c.core.(*rest.RESTClient).Client.Transport
	for cfgd != nil {
		if w, ok := cfgd.(*transport); ok {
			w.timeout = 20 * time.Millisecond
			break
		}
		cfgd = cfgd.(interface{ WrappedRoundTripper() http.RoundTripper }).WrappedRoundTripper()
	}
	_, err := c.Pods("n").Get(t.Context(), "p", metav1.GetOptions{})
	if Kind(err) != Unknown || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request without an answer: %v", err)
	}
	w, err := c.Pods("n").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	select {
	case e, ok := <-w.ResultChan():
		t.Errorf("the watch ended: %v %v", e, ok)
	case <-time.After(60 * time.Millisecond):
	}
}

func TestObjects(t *testing.T) {
	var got []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, fmt.Sprintf("%s %s?%s %s", r.Method, r.URL.Path, r.URL.RawQuery, b))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"NetworkPolicy","apiVersion":"networking.k8s.io/v1","metadata":{"name":"p"}}`)
	})
	np := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	if err := c.CreateObject(t.Context(), "n", np); err != nil {
		t.Fatal(err)
	}
	if err := c.ApplyObject(t.Context(), "n", np); err != nil {
		t.Fatal(err)
	}
	r, err := Ref(np, "n")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.DeleteObject(t.Context(), r, "u1"); err != nil {
		t.Fatal(err)
	}
	body := `{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"p"},"spec":{"podSelector":{}}}`
	want := []string{
		"POST /apis/networking.k8s.io/v1/namespaces/n/networkpolicies?fieldManager=kubespark " + body,
		"PATCH /apis/networking.k8s.io/v1/namespaces/n/networkpolicies/p?fieldManager=kubespark&force=true " + body,
		`DELETE /apis/networking.k8s.io/v1/namespaces/n/networkpolicies/p? {"kind":"DeleteOptions","apiVersion":"networking.k8s.io/v1","preconditions":{"uid":"u1"},"propagationPolicy":"Background"}`,
	}
	for i := range got {
		got[i] = strings.TrimSpace(got[i])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: c, cluster: {server: "https://s1:6443", insecure-skip-tls-verify: true}}
contexts:
- {name: one, context: {cluster: c, user: u1, namespace: ns1}}
- {name: other, context: {cluster: c, user: u2}}
- {name: legacy, context: {cluster: c, user: u3}}
users:
- {name: u1, user: {token: t1}}
- {name: u2, user: {token: t2}}
- {name: u3, user: {auth-provider: {name: foo}}}
`

func options(t *testing.T, props map[string]string) Options {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return Options{Conf: conf.New(props), Prefix: "spark.kubernetes.authenticate.submission", APIServer: "https://s2",
		Env: func(n string) (string, bool) {
			if n == "KUBECONFIG" {
				return "/does/not/exist:" + file, true
			}
			return "", false
		}}
}

// S053, S054, S056, S058, P146.
func TestConfig(t *testing.T) {
	const p = "spark.kubernetes.authenticate.submission."
	tests := []struct {
		name  string
		props map[string]string
		want  rest.Config
		err   string
	}{
		{name: "S058: the context's credentials, the master's address", want: rest.Config{Host: "https://s2", BearerToken: "t1"}},
		{name: "S054: another context", props: map[string]string{"spark.kubernetes.context": "other"}, want: rest.Config{Host: "https://s2", BearerToken: "t2"}},
		{name: "S054: an empty context is the current one", props: map[string]string{"spark.kubernetes.context": ""}, want: rest.Config{Host: "https://s2", BearerToken: "t1"}},
		{name: "S053: both tokens", props: map[string]string{p + "oauthToken": "a", p + "oauthTokenFile": "b"},
			err: "requirement failed: Cannot specify OAuth token through both a file " + p + "oauthTokenFile and a value " + p + "oauthToken."},
		{name: "token", props: map[string]string{p + "oauthToken": "a"}, want: rest.Config{Host: "https://s2", BearerToken: "a"}},
		{name: "missing token file", props: map[string]string{p + "oauthTokenFile": "/nope"}, err: p + "oauthTokenFile: stat /nope: no such file or directory"},
		{name: "S056: files", props: map[string]string{p + "clientKeyFile": "/k", p + "clientCertFile": "/c"},
			want: rest.Config{Host: "https://s2", BearerToken: "t1", TLSClientConfig: rest.TLSClientConfig{KeyFile: "/k", CertFile: "/c"}}},
		{name: "P146: a legacy auth-provider", props: map[string]string{"spark.kubernetes.context": "legacy"},
			err: `the kubeconfig user has auth-provider "foo", which is no longer supported: use an exec plug-in`},
		{name: "unknown context", props: map[string]string{"spark.kubernetes.context": "none"}, err: `the kubeconfig cannot be used: context "none" does not exist`},
	}
	for _, tt := range tests {
		cfg, err := Config(options(t, tt.props))
		if msg := fmt.Sprint(err); (err != nil || tt.err != "") && msg != tt.err {
			t.Errorf("%s: error %q, want %q", tt.name, msg, tt.err)
		}
		if err != nil {
			continue
		}
		got := rest.Config{Host: cfg.Host, BearerToken: cfg.BearerToken,
			TLSClientConfig: rest.TLSClientConfig{KeyFile: cfg.KeyFile, CertFile: cfg.CertFile, CAFile: cfg.CAFile}}
		if diff := cmp.Diff(fmt.Sprintf("%+v", tt.want), fmt.Sprintf("%+v", got)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if !strings.HasPrefix(cfg.UserAgent, "kubespark-submit/") || cfg.QPS != -1 {
			t.Errorf("%s: user agent %q, QPS %v", tt.name, cfg.UserAgent, cfg.QPS)
		}
	}
}

func TestConfigRefusesServerWithoutHost(t *testing.T) {
	o := options(t, nil)
	o.APIServer = "https://"
	if _, err := Config(o); err == nil || err.Error() != "Kubernetes master URL has no host" {
		t.Error(err)
	}
}

func TestNamespace(t *testing.T) {
	o := options(t, nil)
	if ns, err := Namespace(o); err != nil || ns != "ns1" {
		t.Error(ns, err)
	}
	o.Context = "other"
	if ns, err := Namespace(o); err != nil || ns != "default" {
		t.Error(ns, err)
	}
}
