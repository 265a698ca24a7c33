//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	clusterPort      = "18443" // of the cluster all tests share
	clusterNetwork   = "127.120.0.0/16"
	secondPort       = "28443" // of the clusters that lifecycle tests start and break
	secondNetwork    = "127.130.0.0/16"
	tolerableStartup = 60 * time.Second
)

// spare is a second cluster, for tests that break it.
func spare(t *testing.T) *testCluster {
	t.Helper()
	return &testCluster{bin: cluster.bin, stateDir: filepath.Join(t.TempDir(), "state")}
}

func (c *testCluster) run(args ...string) (string, int) {
	cmd := exec.Command(filepath.Join(c.bin, "kubespark-cluster"), args...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		return err.Error(), -1
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (c *testCluster) start(t *testing.T) {
	t.Helper()
	began := time.Now()
	out, code := c.run("up", "--state-dir", c.stateDir, "--port", secondPort, "--network", secondNetwork)
	if code != 0 {
		t.Fatalf("up: exit %d\n%s", code, out)
	}
	t.Logf("up in %.1f s", time.Since(began).Seconds())
	if took := time.Since(began); took > tolerableStartup {
		t.Errorf("up took %s", took)
	}
}

// killAll kills every process of the cluster with -9.
func (c *testCluster) killAll(t *testing.T) {
	t.Helper()
	killed := 0
	for _, p := range processes() {
		if strings.Contains(p.cmdline, c.stateDir) {
			if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) { // it may have died with the supervisor
				t.Fatalf("kill -9 %d (%s): %v", p.pid, p.cmdline, err)
			}
			killed++
		}
	}
	if killed < 6 {
		t.Fatalf("only %d processes of the cluster were found", killed)
	}
}

func (c *testCluster) nothingLeft(t *testing.T) {
	t.Helper()
	eventually(t, 10*time.Second, "nothing of the cluster is left", func() (bool, string) {
		left := c.leftovers()
		return len(left) == 0, strings.Join(left, "\n")
	})
}

// up, status, a pod, kill -9 of everything, up again, kill -9 again, down: nothing is left.
func TestKilledCluster(t *testing.T) {
	c := spare(t)
	c.start(t)
	if out, code := c.run("status", "--state-dir", c.stateDir); code != 0 {
		t.Errorf("status of a running cluster: exit %d\n%s", code, out)
	}
	kubectl := []string{"--state-dir", c.stateDir, "kubectl"}
	run := append(kubectl, "run", "sleeper", "--image", hostImage, "--restart=Never", "--command", "--", "sleep", "987654")
	if out, code := c.run(run...); code != 0 {
		t.Fatalf("kubectl run: exit %d\n%s", code, out)
	}
	sleepers := func() int {
		n := 0
		for _, p := range processes() {
			if strings.HasPrefix(p.cmdline, "sleep 987654") {
				n++
			}
		}
		return n
	}
	eventually(t, 30*time.Second, "the pod's process runs", func() (bool, string) { return sleepers() == 1, fmt.Sprint(sleepers()) })
	c.killAll(t)
	c.start(t)
	if n := sleepers(); n != 0 {
		t.Errorf("%d processes of the killed cluster's pod are left after up", n)
	}
	c.killAll(t)
	if out, code := c.run("down", "--state-dir", c.stateDir); code != 0 {
		t.Fatalf("down: exit %d\n%s", code, out)
	}
	c.nothingLeft(t)
	if out, code := c.run("status", "--state-dir", c.stateDir); code == 0 {
		t.Errorf("status of a stopped cluster: exit 0\n%s", out)
	}
}

// One clear sentence for what a user may get wrong.
func TestClusterErrors(t *testing.T) {
	c := spare(t)
	var listener net.Listener
	eventually(t, 10*time.Second, "the port is free", func() (bool, string) { // a killed process may still be closing it
		l, err := net.Listen("tcp", "127.0.0.1:"+secondPort)
		listener = l
		return err == nil, fmt.Sprint(err)
	})
	defer listener.Close()
	lonely := filepath.Join(t.TempDir(), "kubespark-cluster")
	program, err := os.ReadFile(filepath.Join(c.bin, "kubespark-cluster"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lonely, program, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]struct {
		program string
		args    []string
		says    string
	}{
		"bad flag":       {"", []string{"up", "--frob"}, "--frob"},
		"taken port":     {"", []string{"up", "--state-dir", c.stateDir, "--port", secondPort}, secondPort},
		"missing binary": {lonely, []string{"up", "--state-dir", c.stateDir, "--port", "28444"}, "kubespark-control-plane"},
	} {
		t.Run(name, func(t *testing.T) {
			program := try.program
			if program == "" {
				program = filepath.Join(c.bin, "kubespark-cluster")
			}
			out, err := exec.Command(program, try.args...).CombinedOutput()
			if err == nil {
				t.Fatalf("succeeded:\n%s", out)
			}
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if last := lines[len(lines)-1]; !strings.Contains(last, try.says) {
				t.Errorf("the last line does not say %q:\n%s", try.says, out)
			}
		})
	}
	c.nothingLeft(t)
}
