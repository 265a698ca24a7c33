package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/localcluster/internal/image"
)

func run(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	app := &App{Version: "1.2.3", Out: &stdout, Err: &stderr}
	code = app.Run(t.Context(), args)
	return code, stdout.String(), stderr.String()
}

func TestWrongCommandLines(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		args string
		want string
	}{
		{"--bad", "unknown flag: --bad: see kubespark-cluster --help"},
		{"up --bad", "unknown flag: --bad: see kubespark-cluster up --help"},
		{"frob", `unknown command "frob" for "kubespark-cluster"`},
		{"up extra", `kubespark-cluster up takes no argument, but got "extra": see kubespark-cluster up --help`},
		{"up --port 0", "--port 0 is no port: name one between 1 and 65535"},
		{"up --network 10", `--network "10" is no network: name one such as 127.10.0.0/16`},
		{"up --network 10.0.0.0/16", "--network 10.0.0.0/16 is no loopback network for pods: name one such as 127.10.0.0/16"},
		{"up --memory lots", `--memory "lots" is no amount of memory: write it like 16Gi or 512Mi`},
		{"up --memory 1Ki", "--memory is too little: a node has at least 1Mi"},
		{"up --capacity gpu=2", `--capacity "gpu=2": "gpu" is no name of an extended resource: name one such as example.com/gpu=2`},
		{"up --capacity kubernetes.io/gpu=2", `--capacity "kubernetes.io/gpu=2": "kubernetes.io/gpu" is no name of an extended resource: name one such as example.com/gpu=2`},
		{"up --capacity example.com/gpu", `--capacity "example.com/gpu" has no whole amount: write it like example.com/gpu=2`},
		{"up --capacity a.b/c=1 --capacity a.b/c=2", "--capacity names a.b/c twice: give one amount"},
		{"up --state-dir /", `"/" cannot be the state folder: name a folder of the cluster's own with --state-dir`},
		{"logs", "name one component: etcd, kube-apiserver, kube-scheduler, kube-controller-manager, node, supervisor, audit"},
		{"logs kubelet", "name one component: etcd, kube-apiserver, kube-scheduler, kube-controller-manager, node, supervisor, audit"},
		{"image load", "kubespark-cluster image load takes one argument, the OCI layout's path: see kubespark-cluster image load --help"},
		{"image add", "kubespark-cluster image add takes one argument, the image's name: see kubespark-cluster image add --help"},
	} {
		args := append([]string{"--state-dir=" + filepath.Join(dir, "s")}, strings.Fields(tc.args)...)
		code, _, err := run(t, args...)
		if want := "kubespark-cluster: " + tc.want + "\n"; code != exitUsage || err != want {
			t.Errorf("%s: exit code %d, %q, want %d, %q", tc.args, code, err, exitUsage, want)
		}
	}
}

func TestWithoutACluster(t *testing.T) {
	state := filepath.Join(t.TempDir(), "s")
	again := "kubespark-cluster --state-dir=" + state + " up starts one\n"
	for _, tc := range []struct {
		args     string
		code     int
		out, err string
	}{
		{"status", exitDown, "there is no cluster in " + state + ": " + again, ""},
		{"down", 0, "there is no cluster in " + state + "\n", ""},
		{"kubectl get pods -o wide", exitError, "", "kubespark-cluster: there is no cluster in " + state + ": " + again},
		{"kubectl -- get pods", exitError, "", "kubespark-cluster: there is no cluster in " + state + ": " + again},
		{"logs etcd", exitError, "", "kubespark-cluster: there is no cluster in " + state + ": " + again},
		{"image ls", exitError, "", "kubespark-cluster: there is no cluster in " + state + ": " + again},
	} {
		code, out, err := run(t, append([]string{"--state-dir=" + state}, strings.Fields(tc.args)...)...)
		if code != tc.code || out != tc.out || err != tc.err {
			t.Errorf("%s: exit code %d, out %q, err %q, want %d, %q, %q", tc.args, code, out, err, tc.code, tc.out, tc.err)
		}
		if _, err := os.Stat(state); err == nil {
			t.Errorf("%s made the folder", tc.args)
		}
	}
}

func TestVersionAndHelp(t *testing.T) {
	if code, out, _ := run(t, "--version"); code != 0 || out != "kubespark-cluster version 1.2.3\n" {
		t.Errorf("exit code %d, %q", code, out)
	}
	code, out, _ := run(t)
	if code != 0 || !strings.Contains(out, "  up ") || strings.Contains(out, "supervise") {
		t.Errorf("exit code %d, %s", code, out)
	}
}

func TestSpecFromFlags(t *testing.T) {
	f := upFlags{port: 7443, network: "127.20.0.0/16", name: "n", cpus: 8, memory: "2Gi", capacity: []string{"example.com/gpu=2"}, controlPlane: "/cp", node: true}
	s, err := f.spec()
	if err != nil {
		t.Fatal(err)
	}
	if s.MemoryMiB != 2048 || s.Capacity["example.com/gpu"] != 2 || s.NoNode || s.Service().String() != "127.20.0.1:443" || s.APIServer().String() != "127.0.0.1:7443" {
		t.Errorf("spec %+v", s)
	}
}

func TestAuditPolicyFlag(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("policy.yaml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := upFlags{port: 7443, network: "127.20.0.0/16", name: "n", cpus: 8, memory: "2Gi", controlPlane: "/cp", audit: "policy.yaml"}
	s, err := f.spec()
	if err != nil || !filepath.IsAbs(s.AuditPolicy) || filepath.Base(s.AuditPolicy) != "policy.yaml" {
		t.Errorf("audit policy %q, %v", s.AuditPolicy, err)
	}
	f.audit = "none.yaml"
	if _, err = f.spec(); !errors.As(err, new(usageError)) {
		t.Errorf("a policy that is not there: %v", err)
	}
}

func TestOwnArgsOfKubectl(t *testing.T) {
	for args, want := range map[string]struct{ dir, rest string }{
		"get pods -o wide":                 {"/default", "get pods -o wide"},
		"-- get pods":                      {"/default", "get pods"},
		"--state-dir /s -- logs -f x -- y": {"/s", "logs -f x -- y"},
		"--state-dir=/s get --state-dir":   {"/s", "get --state-dir"},
	} {
		app := &App{stateDir: "/default"}
		rest, err := app.ownArgs(strings.Fields(args))
		if err != nil || app.stateDir != want.dir || strings.Join(rest, " ") != want.rest {
			t.Errorf("%s: %s %q, %v, want %v", args, app.stateDir, rest, err, want)
		}
	}
	if _, err := new(App).ownArgs([]string{"--state-dir"}); err == nil {
		t.Error("a flag without value was accepted")
	}
}

func TestMemTotal(t *testing.T) {
	if got, err := memTotalMiB("MemTotal:       24683520 kB\nMemFree: 1 kB\n"); err != nil || got != 24105 {
		t.Errorf("memTotalMiB = %d, %v", got, err)
	}
	if _, err := memTotalMiB("MemFree: 1 kB\n"); err == nil {
		t.Error("no error without a total")
	}
}

func TestParseBinds(t *testing.T) {
	got, err := parseBinds([]string{"/a:/b"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]image.Bind{{Source: "/a", Destination: "/b"}}, got); diff != "" {
		t.Error(diff)
	}
	if _, err := parseBinds([]string{"/a"}); err == nil {
		t.Error("a bind without destination was accepted")
	}
}

func TestCopyLogFollows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	out := make(lines, 10)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- copyLog(ctx, out, log, true) }()
	if got := <-out; got != "one\n" {
		t.Errorf("first %q", got)
	}
	add, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := add.WriteString("two\n"); err != nil {
		t.Fatal(err)
	}
	if err := add.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-out; got != "two\n" {
		t.Errorf("then %q", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// lines passes on what is written.
type lines chan string

func (l lines) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

func TestDefaultStateDir(t *testing.T) {
	for _, tc := range []struct {
		ordinary          bool
		state, home, want string
	}{
		{false, "/state", "/home/me", "/var/lib/kubespark-cluster"},
		{true, "/state", "/home/me", "/state/kubespark-cluster"},
		{true, "", "/home/me", "/home/me/.local/state/kubespark-cluster"},
		{true, "state", "/home/me", "/home/me/.local/state/kubespark-cluster"}, // a relative one counts for nothing, by the XDG specification
		{true, "", "", ""},
	} {
		t.Setenv("XDG_STATE_HOME", tc.state)
		t.Setenv("HOME", tc.home)
		if got := defaultStateDir(tc.ordinary); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}
