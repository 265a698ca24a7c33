package rig

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRequests(t *testing.T) {
	line := func(agent, verb, stage, resource, received string) string {
		return fmt.Sprintf(`{"stage":%q,"verb":%q,"requestURI":"/x","userAgent":%q,"objectRef":{"resource":%q,"namespace":"n"},`+
			`"requestReceivedTimestamp":%q,"stageTimestamp":%[5]q,"responseStatus":{"code":200}}`, stage, verb, agent, resource, received)
	}
	log := strings.Join([]string{
		line("kubespark-manager/1", "create", "ResponseComplete", "pods", "2026-01-01T00:00:01.000001Z"),
		line("kubespark-manager/1", "list", "ResponseComplete", "pods", "2026-01-01T00:00:02.5Z"),
		line("kubespark-manager/1", "watch", "ResponseStarted", "pods", "2026-01-01T00:00:02.6Z"),
		line("kubespark-manager/1", "watch", "ResponseComplete", "pods", "2026-01-01T00:00:02.6Z"),
		line("fabric8-kubernetes-client/7", "list", "ResponseComplete", "pods", "2026-01-01T00:00:03Z"),
	}, "\n")
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(log+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := Requests(path, ManagerAgent, time.Date(2026, 1, 1, 0, 0, 2, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]int{"list pods": 1, "watch pods": 1}, Count(found)); d != "" {
		t.Errorf("the end of a watch is no request, and what came before does not count: %s", d)
	}
	if err := os.WriteFile(path, []byte("kubespark-manager no JSON\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Requests(path, ManagerAgent, time.Time{}); err == nil {
		t.Error("a line that cannot be read was taken")
	}
}

func TestForwarderCounts(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		c, err := server.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		if _, err := io.CopyN(io.Discard, c, 10); err != nil {
			t.Error(err)
		}
		if _, err := io.WriteString(c, "answer"); err != nil {
			t.Error(err)
		}
	}()
	f, err := Forward(server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := net.Dial("tcp", strings.TrimPrefix(f.URL(), "https://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "0123456789"); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if err != nil || string(got) != "answer" || f.Bytes() != 16 {
		t.Errorf("%q, %v, %d bytes counted", got, err, f.Bytes())
	}
}

func TestWatchCounts(t *testing.T) {
	var came []string
	w := &Watch{present: map[string]bool{}, added: map[string]time.Time{}, gone: map[string]time.Time{},
		on: func(name string, _ map[string]string) { came = append(came, name) }}
	at := time.Unix(100, 0)
	type reached struct {
		at  time.Time
		err error
	}
	two, none := make(chan reached, 1), make(chan reached, 1)
	await := func(to chan reached, f func() (time.Time, error)) {
		before := len(w.reached)
		go func() {
			at, err := f()
			to <- reached{at, err}
		}()
		for n := before; n == before; { // until it waits
			w.mu.Lock()
			n = len(w.reached)
			w.mu.Unlock()
		}
	}
	await(two, func() (time.Time, error) { return w.Reached(t.Context(), 2) })
	w.event("ADDED", "a", nil, at)
	w.event("MODIFIED", "a", nil, at.Add(1))
	w.event("ADDED", "b", nil, at.Add(2))
	if r := <-two; r.err != nil || !r.at.Equal(at.Add(2)) {
		t.Errorf("two pods at %v, %v", r.at, r.err)
	}
	await(none, func() (time.Time, error) { return w.Fell(t.Context(), 0) })
	w.event("DELETED", "a", nil, at.Add(3))
	w.event("DELETED", "b", nil, at.Add(4))
	if r := <-none; r.err != nil || !r.at.Equal(at.Add(4)) {
		t.Errorf("no pod at %v, %v", r.at, r.err)
	}
	if ended, err := w.Ended(t.Context(), "a"); err != nil || !ended.Equal(at.Add(3)) {
		t.Errorf("a ended at %v, %v", ended, err)
	}
	if d := cmp.Diff([]string{"a", "b"}, came); d != "" {
		t.Error(d)
	}
	await(two, func() (time.Time, error) { return w.Reached(t.Context(), 1) })
	w.fail(io.ErrUnexpectedEOF)
	if r := <-two; r.err == nil {
		t.Error("a watch that broke off still counts")
	}
}

func TestExecutorOf(t *testing.T) {
	pod, err := executorOf("kind: Pod\nmetadata:\n  labels:\n    spark-role: driver\n---\nkind: Service\n---\n" +
		"kind: Pod\nmetadata:\n  name: e\n  labels:\n    spark-role: executor\n")
	if err != nil || pod["metadata"].(Object)["name"] != "e" {
		t.Errorf("%v, %v", pod, err)
	}
	if _, err := executorOf("kind: Service\n"); err == nil {
		t.Error("a Service is an executor")
	}
}

// A process that burns CPU and holds memory is seen to.
func TestRunMeasures(t *testing.T) {
	ran, err := Run(exec.Command("sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done"))
	if err != nil {
		t.Fatal(err)
	}
	if ran.CPU <= 0 || ran.Wall <= 0 || ran.PeakMiB <= 0 || ran.Output != "done\n" {
		t.Errorf("%+v", ran)
	}
	if _, err := Run(exec.Command("sh", "-c", "echo reason; exit 3")); err == nil || !strings.Contains(err.Error(), "reason") {
		t.Errorf("a failure without its words: %v", err)
	}
}

// Beside a program that does nothing, Run sees this process, RunApart the program.
func TestRunApart(t *testing.T) {
	ran, err := RunApart(exec.Command("sh", "-c", "echo done"))
	if err != nil {
		t.Fatal(err)
	}
	here, err := Run(exec.Command("sh", "-c", "echo done"))
	if err != nil {
		t.Fatal(err)
	}
	if ran.Output != "done\n" || ran.Wall <= 0 || time.Since(ran.Began) > time.Minute || ran.PeakMiB <= 0 || ran.PeakMiB >= here.PeakMiB {
		t.Errorf("%+v, beside %+v", ran, here)
	}
	if _, err := RunApart(exec.Command("sh", "-c", "echo reason; exit 3")); err == nil || !strings.Contains(err.Error(), "reason") {
		t.Errorf("a failure without its words: %v", err)
	}
}

func TestMeter(t *testing.T) {
	c := &Cluster{Options: Options{Dir: t.TempDir()}}
	m, err := c.Measure(nil)
	if err != nil {
		t.Fatal(err)
	}
	for before := CPUSeconds(os.Getpid()); CPUSeconds(os.Getpid()) < before+0.05; {
	}
	l, err := m.Stop("burning")
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, s := range l.Shares {
		sum += s
	}
	if l.When != "burning" || l.Busy <= 0 || l.Busy > 1.01 || l.Shares["the measuring program"] <= 0 || sum < 0.99 {
		t.Errorf("%+v", l)
	}
	if _, err := MemoryMiB(os.Getpid(), "VmRSS"); err != nil {
		t.Error(err)
	}
	if _, err := MemoryMiB(os.Getpid(), "VmNothing"); err == nil {
		t.Error("a field that is not there has a value")
	}
}
