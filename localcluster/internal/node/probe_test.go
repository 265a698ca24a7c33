package node

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func TestProbeThresholds(t *testing.T) {
	for name, tc := range map[string]struct {
		tally   probeTally
		results string // + and -
		reached string // . where no threshold was reached, else the result then
	}{
		"ready at once":             {probeTally{success: 1, failure: 3}, "+", "+"},
		"ready after two in a row":  {probeTally{success: 2, failure: 3}, "+-++", "...+"},
		"told once":                 {probeTally{success: 1, failure: 1}, "+++", "+.."},
		"live until the third":      {probeTally{ok: true, success: 1, failure: 3}, "--+---", ".....-"},
		"failing still":             {probeTally{ok: true, success: 1, failure: 2}, "----", ".---"},
		"ready, not ready, ready":   {probeTally{success: 1, failure: 1}, "+-+", "+-+"},
		"a live one is no news":     {probeTally{ok: true, success: 1, failure: 3}, "+-+", "..."},
		"unready from the very try": {probeTally{success: 1, failure: 1}, "-", "-"},
	} {
		var got strings.Builder
		for _, r := range tc.results {
			switch {
			case !tc.tally.count(r == '+'):
				got.WriteByte('.')
			case tc.tally.ok:
				got.WriteByte('+')
			default:
				got.WriteByte('-')
			}
		}
		if got.String() != tc.reached {
			t.Errorf("%s: %s gives %s, want %s", name, tc.results, got.String(), tc.reached)
		}
	}
}

// A probe waits for its delay, asks once a period, and counts an answer that does not come in time as a failure.
func TestProbeKeepsItsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var asked []time.Duration
		var failures []string
		results := []bool{}
		p := prober{
			probe: &corev1.Probe{InitialDelaySeconds: 5, PeriodSeconds: 2, TimeoutSeconds: 1, FailureThreshold: 2},
			try: func(ctx context.Context) error {
				asked = append(asked, time.Since(began))
				switch len(asked) {
				case 1:
					return nil
				case 2:
					<-ctx.Done()
					return ctx.Err()
				}
				return errors.New("no")
			},
			failed:  func(err error) { failures = append(failures, err.Error()) },
			changed: func(ok bool) { results = append(results, ok) },
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p.run(ctx, func() bool { return len(asked) == 3 })
		if d := cmp.Diff([]time.Duration{5 * time.Second, 7 * time.Second, 10 * time.Second}, asked); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]string{"no answer within 1s", "no"}, failures); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]bool{true, false}, results); d != "" {
			t.Error(d)
		}
		cancel()
		p.run(ctx, func() bool { return false })
		if len(asked) != 3 {
			t.Error("a probe of an ended container asked")
		}
	})
}

func TestHTTPAndTCPActions(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
			if r.Host != "me" || r.Header.Get("X-A") != "1" || r.URL.RawQuery != "q=1" {
				t.Errorf("asked as %s with %v, %s", r.Host, r.Header, r.URL.RawQuery)
			}
		case "/moved":
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer srv.Close()
	host, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := &corev1.Container{Name: "c", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: intstr.Parse(port).IntVal}}}
	get := func(path string, port intstr.IntOrString) *corev1.HTTPGetAction {
		return &corev1.HTTPGetAction{Path: path, Port: port, HTTPHeaders: []corev1.HTTPHeader{{Name: "Host", Value: "me"}, {Name: "X-A", Value: "1"}}}
	}
	for path, want := range map[string]string{"/ok?q=1": "", "/moved": "", "/no": "HTTP probe failed with statuscode: 503"} {
		got := ""
		if err := httpAction(t.Context(), c, host, get(path, intstr.FromString("web"))); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("GET %s: %q, want %q", path, got, want)
		}
	}
	if err := httpAction(t.Context(), c, host, get("/ok", intstr.FromString("db"))); err == nil || !strings.Contains(err.Error(), `no port named "db"`) {
		t.Errorf("a port that is not there: %v", err)
	}
	l := &loop{w: &worker{ip: host}, c: c}
	if err := l.act(t.Context(), nil, action{tcp: &corev1.TCPSocketAction{Port: intstr.Parse(port)}}); err != nil {
		t.Errorf("tcpSocket: %v", err)
	}
	srv.Close()
	if err := l.act(t.Context(), nil, action{tcp: &corev1.TCPSocketAction{Port: intstr.Parse(port)}}); err == nil {
		t.Error("tcpSocket of a closed port succeeded")
	}
}

func TestGRPCAction(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	known, srv := health.NewServer(), grpc.NewServer()
	known.SetServingStatus("ready", healthpb.HealthCheckResponse_SERVING)
	known.SetServingStatus("ending", healthpb.HealthCheckResponse_NOT_SERVING)
	healthpb.RegisterHealthServer(srv, known)
	go func() { _ = srv.Serve(l) }() // ends with Stop
	defer srv.Stop()
	port := int32(l.Addr().(*net.TCPAddr).Port)
	for name, tc := range map[string]struct {
		service *string
		mode    *corev1.GRPCProbeMode
		want    string
	}{
		"the server itself":      {nil, nil, ""},
		"a service":              {ptr.To("ready"), nil, ""},
		"plaintext":              {ptr.To("ready"), ptr.To(corev1.GRPCProbeModePlaintext), ""},
		"a service that ends":    {ptr.To("ending"), nil, `service unhealthy (responded with "NOT_SERVING")`},
		"a service that is none": {ptr.To("none"), nil, "health rpc probe failed: rpc error: code = NotFound desc = unknown service"},
		"TLS, which it has not":  {ptr.To("ready"), ptr.To(corev1.GRPCProbeModeTLS), "health rpc probe failed: rpc error: code = Unavailable"},
	} {
		got := ""
		if err := grpcAction(t.Context(), "127.0.0.1", &corev1.GRPCAction{Port: port, Service: tc.service, Mode: tc.mode}); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
