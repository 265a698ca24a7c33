package submit

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/kubetest"
)

// testTime is 16 digits of unique text: ab ab ab, then this clock.
var testTime = time.UnixMilli(1_700_000_000_000)

// constant is a random source that always gives the same byte.
type constant byte

func (c constant) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(c)
	}
	return len(p), nil
}

func testEnv(t *testing.T, env map[string]string) Env {
	t.Helper()
	return Env{Lookup: func(k string) (string, bool) { v, ok := env[k]; return v, ok }, Files: OSFiles{Dir: t.TempDir()},
		Now: func() time.Time { return testTime }, Random: constant(0xab), UserName: "analyst"}
}

// piArgs is a plain cluster-mode submission.
func piArgs(props map[string]string) Args {
	a := Args{Master: "k8s://https://10.0.0.1:6443", DeployMode: "cluster", Name: "Spark Pi", PrimaryResource: "local:///opt/spark/examples/pi.py",
		Conf: map[string]string{"spark.kubernetes.container.image": "kubespark/spark:4.2.0", "spark.kubernetes.namespace": "spark"}}
	for k, v := range props {
		a.Conf[k] = v
	}
	return a
}

func mustPlan(t *testing.T, a Args, env Env) *Plan {
	t.Helper()
	p, err := NewPlan(a, env)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// files writes files below a folder and returns it.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// lines is a log handler that keeps "LEVEL text".
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := io.WriteString(&l.buf, r.Level.String()+" "+r.Message+"\n")
	return err
}

func (l *lines) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l *lines) WithGroup(string) slog.Handler      { return l }

// Write takes the driver's log between our lines.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) has(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(l.String(), text) {
		t.Errorf("the log lacks %q:\n%s", text, l)
	}
}

// newTestClient is a client of an API server in memory.
func newTestClient(t *testing.T, s *kubetest.Server) (*Client, *lines) {
	t.Helper()
	log := &lines{}
	cfg := s.Config()
	kube.Wrap(cfg, time.Minute)
	c, err := NewClient(cfg, WithLogger(slog.New(log)))
	if err != nil {
		t.Fatal(err)
	}
	return c, log
}

// forbidden is the answer to credentials without the right to a verb.
func forbidden(verb, resource string) kubetest.Fault {
	return kubetest.Fault{Verb: verb, Resource: resource, Status: 403, Reason: "Forbidden",
		Message: resource + ` is forbidden: User "u" cannot ` + verb + ` resource "` + resource + `" in API group "" in the namespace "spark"`}
}

func slogTo(l *lines) *slog.Logger { return slog.New(l) }
