package container

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// newRuntime is a runtime for real containers. They need root: without it the test fails, so that no gate passes by skipping it.
func newRuntime(t *testing.T) *Runtime {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("container tests need root")
	}
	dir := t.TempDir()
	r, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Clean(dir); err != nil {
			t.Error(err)
		}
	})
	return r
}

// output is what a container wrote, from both its streams.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func sh(id, script string, out io.Writer) Spec {
	return Spec{
		ID: id, Hostname: "box", Args: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"},
		Capabilities: DefaultCapabilities(), Stdout: out, Stderr: out,
	}
}

func runToEnd(t *testing.T, r *Runtime, s Spec) Exit {
	t.Helper()
	c, err := r.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("container did not end within 30 s")
	}
	if err := c.Remove(); err != nil {
		t.Error(err)
	}
	return c.Exit()
}

func TestContainerIsItsOwnWorld(t *testing.T) {
	r := newRuntime(t)
	var out output
	s := sh("world", `echo pid=$$ host=$(hostname); ls -A /root | wc -l; ls /tmp | grep -vc TestContainer; id -u; touch /usr/mine; echo "mem $(cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max)"; exit 7`, &out)
	s.MemoryLimit = 64 << 20
	start := time.Now()
	exit := runToEnd(t, r, s)
	t.Logf("%v\n%s", time.Since(start), out.String())
	if exit.Code != 7 || exit.OOMKilled {
		t.Errorf("exit %+v, want code 7", exit)
	}
	want := "pid=1 host=box\n0\n0\n0\nmem 67108864\n"
	if got := out.String(); got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if _, err := os.Stat("/usr/mine"); err == nil {
		t.Error("the container wrote to the host")
	}
}

func TestContainerPastItsMemoryLimitIsKilled(t *testing.T) {
	r := newRuntime(t)
	var out output
	s := sh("oom", `exec /usr/bin/python3 -c 'x = bytearray(512 << 20); print(len(x))'`, &out)
	s.MemoryLimit = 64 << 20
	if exit := runToEnd(t, r, s); exit.Code != 137 || !exit.OOMKilled {
		t.Errorf("exit %+v, want 137 by the OOM killer; output %s", exit, out.String())
	}
}

func TestContainerUserAndReadOnlyRoot(t *testing.T) {
	r := newRuntime(t)
	var out output
	s := sh("user", `id -u; id -g; id -G; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status; touch /x 2>/dev/null || echo refused; touch /data/ok && echo wrote`, &out)
	data := t.TempDir()
	if err := os.Chown(data, 185, 0); err != nil {
		t.Fatal(err)
	}
	s.UID, s.GID, s.Groups, s.NoNewPrivileges, s.ReadOnlyRoot = 185, 0, []int{2000}, true, true
	s.Capabilities = nil
	s.Mounts = []Mount{{Source: data, Destination: "/data"}}
	runToEnd(t, r, s)
	want := "185\n0\n0 2000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nrefused\nwrote\n"
	if out.String() != want {
		t.Errorf("output %q, want %q", out.String(), want)
	}
}

func TestContainerSignalsAndExec(t *testing.T) {
	r := newRuntime(t)
	var out output
	var execOut bytes.Buffer
	c, err := r.Start(sh("sig", `trap 'echo term; exit 3' TERM; echo up; while :; do sleep 0.05; done`, &out))
	if err != nil {
		t.Fatal(err)
	}
	code, err := c.Exec(context.Background(), Exec{
		Args: []string{"/bin/sh", "-c", "cat; hostname; exit 4"}, Env: []string{"PATH=/usr/bin:/bin"}, Stdin: strings.NewReader("in "), Stdout: &execOut,
		Capabilities: DefaultCapabilities(),
	})
	if err != nil || code != 4 || execOut.String() != "in box\n" {
		t.Errorf("exec: code %d, output %q, %v", code, execOut.String(), err)
	}
	execOut.Reset()
	code, err = c.Exec(context.Background(), Exec{
		Args: []string{"/bin/sh", "-c", "test -t 1 && echo tty; exit 5"}, Env: []string{"PATH=/usr/bin:/bin"}, TTY: true, Stdout: &execOut,
	})
	if err != nil || code != 5 || execOut.String() != "tty\r\n" {
		t.Errorf("exec with a terminal: code %d, output %q, %v", code, execOut.String(), err)
	}
	if err := c.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if c.Exit().Code != 3 || out.String() != "up\nterm\n" {
		t.Errorf("exit %+v, output %q", c.Exit(), out.String())
	}
	if err := c.Signal(unix.SIGTERM); err != nil {
		t.Errorf("signal to an ended container: %v", err)
	}
	if err := c.Remove(); err != nil {
		t.Error(err)
	}
}

func TestStartOfAMissingCommandLeavesNothing(t *testing.T) {
	r := newRuntime(t)
	s := sh("missing", "", nil)
	s.Args = []string{"/no/such/command"}
	_, err := r.Start(s)
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Fatalf("error %v", err)
	}
	for _, d := range []string{r.rootDir(), r.stateRoot()} {
		if left, _ := filepath.Glob(d + "/*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestCleanEndsWhatRuns(t *testing.T) {
	r := newRuntime(t)
	c, err := r.Start(sh("stay", `sleep 1000 & sleep 1001`, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := Clean(r.dir); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("the container survived Clean")
	}
	points, err := hostMountPoints()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range points {
		if below(p, r.dir) {
			t.Errorf("mount %s is left", p)
		}
	}
}
