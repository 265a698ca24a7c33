package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/bridgetest"
)

// memoryLimitMiB is what the manager may use with 1,000 executors; the goal is 24 (design, decided 15).
const memoryLimitMiB = 64

// E255: the real binary with 1,000 executors stays small. Its resident size is logged.
func TestResidentMemoryE255(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("builds the binary and reads /proc")
	}
	binary := filepath.Join(t.TempDir(), "kubespark-manager")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	s := newSpark(t, nil)
	s.kubelet(10*time.Millisecond, 10*time.Millisecond)
	s.server.KeepCalls(false)
	url := s.server.Start(t)
	cmd, in, out, stderr := start(t, binary)
	s.pipe, s.peer, s.starts, s.apiServer = in, bridgetest.NewPeer(in), 1, url
	go s.read(out)
	began := time.Now()
	s.open(1000)
	for len(s.ids()) < 1000 || s.registered() < 1000 {
		if time.Since(began) > time.Minute {
			t.Fatalf("%d executors after a minute\n%s%s", len(s.ids()), s.dump(), stderr.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
	up := time.Since(began)
	time.Sleep(time.Second)
	peak, now := status(t, cmd.Process.Pid, "VmHWM"), status(t, cmd.Process.Pid, "VmRSS")
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("1000 executors in %s; resident %d MiB now, %d MiB at most; binary %.1f MiB", up.Round(10*time.Millisecond), now>>10,
		peak>>10, float64(info.Size())/(1<<20))
	if peak>>10 > memoryLimitMiB {
		t.Errorf("resident memory reached %d MiB, the limit is %d", peak>>10, memoryLimitMiB)
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} { // E234: Ctrl-C reaches the whole group
		if err := cmd.Process.Signal(sig); err != nil {
			t.Error(err)
		}
	}
	time.Sleep(200 * time.Millisecond)
	if a := s.call("ping", object{}); a["result"] == nil {
		t.Errorf("after the signals the manager answers %v", a)
	}
	if err := in.Close(); err != nil { // E235: the process ends with its stdin and deletes nothing
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the manager ended with %v: %s", err, stderr.String())
	}
	if n := len(s.ids()); n != 1000 {
		t.Errorf("%d executors after the end of the manager", n)
	}
}

// start runs the manager as a process of its own.
func start(t *testing.T, binary string) (cmd *exec.Cmd, in io.WriteCloser, out io.Reader, stderr *bytes.Buffer) {
	t.Helper()
	cmd, stderr = exec.Command(binary), &bytes.Buffer{}
	cmd.Stderr, cmd.Env = stderr, []string{"HOME=/nonexistent"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, out, stderr
}

// status reads a size in KiB from /proc.
func status(t *testing.T, pid int, field string) int {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // read only
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := bytes.Fields(lines.Bytes())
		if len(words) > 1 && string(words[0]) == field+":" {
			n, err := strconv.Atoi(string(words[1]))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s in /proc", field)
	return 0
}
