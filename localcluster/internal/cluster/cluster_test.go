package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/localcluster/internal/container"
	"github.com/kubespark/kubespark/localcluster/internal/controlplane"
	"github.com/kubespark/kubespark/localcluster/internal/process"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
)

func spec() statedir.Spec {
	return statedir.Spec{Port: 6443, Network: netip.MustParsePrefix("127.99.0.0/16"), NodeName: "local", CPUs: 64, MemoryMiB: 1024}
}

func newDir(t *testing.T) statedir.Dir {
	t.Helper()
	d, err := statedir.New(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// leftover starts a process that a killed supervisor could have left.
func leftover(t *testing.T, table process.Table) process.ID {
	t.Helper()
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = c.Wait() }()
	t.Cleanup(func() { _ = c.Process.Kill(); <-ended })
	id, err := table.Identify(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// machine is a host that notes what is cleaned.
func machine(cleaned *[]string) Host {
	return Host{Table: process.NewTable("/proc"), CleanNode: func(dir string) error {
		*cleaned = append(*cleaned, dir)
		return nil
	}}
}

func quiet(string, ...any) {}

func TestClearEndsWhatAKilledSupervisorLeft(t *testing.T) {
	var cleaned []string
	h := machine(&cleaned)
	boot, err := h.Table.Boot()
	if err != nil {
		t.Fatal(err)
	}
	d, mine, foreign := newDir(t), leftover(t, h.Table), leftover(t, h.Table)
	record := statedir.Record{Boot: boot, Spec: spec(), Components: []statedir.Component{
		{Name: "etcd", Process: mine},
		{Name: "kube-apiserver", Process: process.ID{PID: foreign.PID, Start: foreign.Start - 1}}, // the number came again
	}}
	if err := d.Create(record); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	err = h.remove(t.Context(), d, func(format string, args ...any) { fmt.Fprintf(&said, format, args...) })
	if err != nil {
		t.Fatal(err)
	}
	if h.Table.Alive(mine) || !h.Table.Alive(foreign) {
		t.Errorf("alive: the cluster's %v, a foreign one %v", h.Table.Alive(mine), h.Table.Alive(foreign))
	}
	if want := fmt.Sprintf("ending etcd (pid %d), which its supervisor left\n", mine.PID); said.String() != want {
		t.Errorf("said %q, want %q", said.String(), want)
	}
	if diff := cmp.Diff([]string{d.Node(0)}, cleaned); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(string(d)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

func TestLastLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	for text, want := range map[string]string{
		"":                                  "",
		"one\n":                             "one",
		"one\ntwo\n\n":                      "two",
		strings.Repeat("x", 9000):           strings.Repeat("x", lastLineMax) + "…",
		"a\n" + strings.Repeat("é\n", 5000): "é",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := lastLine(path); got != want {
			t.Errorf("lastLine = %.40q, want %.40q", got, want)
		}
	}
	if got := lastLine(path + "-not"); got != "" {
		t.Errorf("lastLine of no file = %q", got)
	}
}

func TestClearAfterAnotherBootTouchesNoProcess(t *testing.T) {
	var cleaned []string
	h := machine(&cleaned)
	d, stranger := newDir(t), leftover(t, h.Table)
	record := statedir.Record{Boot: "an earlier one", Supervisor: stranger, Components: []statedir.Component{{Name: "etcd", Process: stranger}}}
	if err := d.Create(record); err != nil {
		t.Fatal(err)
	}
	if err := h.clear(t.Context(), d, quiet); err != nil {
		t.Fatal(err)
	}
	if !h.Table.Alive(stranger) {
		t.Error("a process of this boot was ended")
	}
	if len(cleaned) != 1 {
		t.Errorf("cleaned %q, want the node's folder", cleaned)
	}
}

func TestClearKeepsTheLock(t *testing.T) {
	var cleaned []string
	h, d := machine(&cleaned), newDir(t)
	unlock, err := d.Lock(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Create(statedir.Record{}); err != nil {
		t.Fatal(err)
	}
	if err := h.clear(t.Context(), d, quiet); err != nil {
		t.Fatal(err)
	}
	waiting, done := make(chan struct{}), make(chan error, 1)
	go func() {
		second, err := d.Lock(func() { close(waiting) })
		if err == nil {
			second()
		}
		done <- err
	}()
	select {
	case <-waiting:
	case err := <-done:
		t.Fatalf("another command got in between the old cluster's end and the new one's start: %v", err)
	}
	unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestClearKeepsTheFolderWhenTheNodeIsNotClean(t *testing.T) {
	var cleaned []string
	h := machine(&cleaned)
	h.CleanNode = func(string) error { return errors.New("a mount is busy") }
	d := newDir(t)
	if err := d.Create(statedir.Record{}); err != nil {
		t.Fatal(err)
	}
	if err := h.clear(t.Context(), d, quiet); err == nil || err.Error() != "remove what the node left: a mount is busy" {
		t.Errorf("clear: %v", err)
	}
	if _, err := d.Load(); err != nil {
		t.Errorf("the record is gone, `down` cannot go on: %v", err)
	}
}

func TestDownWithoutACluster(t *testing.T) {
	var cleaned []string
	d := newDir(t)
	found, err := Down(t.Context(), machine(&cleaned), d, quiet)
	if found || err != nil {
		t.Errorf("Down of nothing: %v, %v", found, err)
	}
	if err := os.MkdirAll(d.Join("photos"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Down(t.Context(), machine(&cleaned), d, quiet); err == nil || !strings.Contains(err.Error(), "holds no cluster") {
		t.Errorf("Down of another folder: %v", err)
	}
	if _, err := os.Stat(d.Join("photos")); err != nil {
		t.Error(err)
	}
}

func TestCheckPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := spec()
	s.Port = l.Addr().(*net.TCPAddr).Port
	h := machine(nil)
	want := fmt.Sprintf("127.0.0.1:%d, for the API server, is taken by cluster.test (pid %d): name another with --port", s.Port, os.Getpid())
	if err := h.checkPorts(t.Context(), s); err == nil || err.Error() != want {
		t.Errorf("checkPorts: %v, want %s", err, want)
	}
}

func TestAwait(t *testing.T) {
	var cleaned []string
	h := machine(&cleaned)
	boot, err := h.Table.Boot()
	if err != nil {
		t.Fatal(err)
	}
	alive := leftover(t, h.Table)
	etcd := statedir.Component{Name: "etcd", Phase: statedir.Ready, Took: 1500 * time.Millisecond}
	for _, tc := range []struct {
		name       string
		record     statedir.Record
		said, want string
	}{
		{"ready", statedir.Record{Supervisor: alive, Components: []statedir.Component{etcd}}, "  etcd                     ready after  1.5 s\n", ""},
		{"given up", statedir.Record{Supervisor: alive, Failure: "node failed"}, "", "node failed"},
		{"killed", statedir.Record{Supervisor: process.ID{PID: alive.PID, Start: 1}}, "", "the supervisor ended before the cluster was ready: see "},
		{"slow", statedir.Record{Supervisor: alive, Components: []statedir.Component{{Name: "node", Phase: statedir.Starting, Reason: "it has not registered yet"}}},
			"", "the cluster was not ready within 1ms: node is starting, it has not registered yet; it keeps running"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDir(t)
			tc.record.Boot = boot
			if err := d.Create(tc.record); err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			o := UpOptions{Dir: d, Wait: time.Millisecond, Say: func(format string, args ...any) { fmt.Fprintf(&said, format, args...) }}
			err := h.await(t.Context(), o, tc.record.Supervisor)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)) {
				t.Errorf("await: %v, want %q", err, tc.want)
			}
			if said.String() != tc.said {
				t.Errorf("said %q, want %q", said.String(), tc.said)
			}
		})
	}
}

func TestInterruptedUpTakesDownWhatItStarted(t *testing.T) {
	var cleaned []string
	h := machine(&cleaned)
	boot, err := h.Table.Boot()
	if err != nil {
		t.Fatal(err)
	}
	d, supervisor := newDir(t), leftover(t, h.Table)
	if err := d.Create(statedir.Record{Boot: boot, Supervisor: supervisor}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = h.await(ctx, UpOptions{Dir: d, Wait: time.Minute, Say: quiet}, supervisor)
	if err == nil || err.Error() != "interrupted: the cluster was taken down again" {
		t.Errorf("await: %v", err)
	}
	if h.Table.Alive(supervisor) {
		t.Error("the supervisor was left")
	}
}

func TestInspect(t *testing.T) {
	var cleaned []string
	h := machine(&cleaned)
	d := newDir(t)
	if _, err := Inspect(t.Context(), h, d); !errors.Is(err, ErrNone) {
		t.Errorf("Inspect of nothing: %v", err)
	}
	boot, err := h.Table.Boot()
	if err != nil {
		t.Fatal(err)
	}
	alive := leftover(t, h.Table)
	record := statedir.Record{Boot: boot, Spec: spec(), Supervisor: alive, Components: []statedir.Component{
		{Name: controlplane.Etcd, Phase: statedir.Ready, Process: alive}, // runs, and serves nothing
		{Name: controlplane.Scheduler, Phase: statedir.Ready, Process: alive, Restarts: 2},
		{Name: controlplane.ControllerManager, Phase: statedir.Restarting, Reason: "its last run: it ended with exit code 1"},
	}}
	if err := d.Create(record); err != nil {
		t.Fatal(err)
	}
	if err := controlplane.WriteKeys(d, record.Spec, time.Now()); err != nil {
		t.Fatal(err)
	}
	got, err := Inspect(t.Context(), h, d)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Components {
		got.Components[i].Resident = 0
	}
	want := Report{Spec: record.Spec, Components: []Component{
		{Name: SupervisorLog, State: "ready", PID: alive.PID},
		{Name: controlplane.Etcd, State: "not ready", PID: alive.PID, Why: "it does not accept connections yet"},
		{Name: controlplane.Scheduler, State: "ready", PID: alive.PID, Restarts: 2},
		{Name: controlplane.ControllerManager, State: "restarting", Why: "its last run: it ended with exit code 1"},
	}}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

// What runs in the supervisor itself cannot be asked from outside of the cluster's own network.
func TestInspectOfAClusterWithItsOwnNetwork(t *testing.T) {
	h := machine(nil)
	boot, err := h.Table.Boot()
	if err != nil {
		t.Fatal(err)
	}
	alive := leftover(t, h.Table)
	for _, tc := range []struct {
		supervisor  process.ID
		state, task string
	}{
		{alive, "ready", "ready"},
		{process.ID{PID: alive.PID, Start: 1}, "ended", "ended"},
	} {
		d := newDir(t)
		record := statedir.Record{Boot: boot, Spec: spec(), Supervisor: tc.supervisor, Components: []statedir.Component{{Name: controlplane.Service, Phase: statedir.Ready}}}
		record.Spec.OwnNetwork = true
		if err := errors.Join(d.Create(record), controlplane.WriteKeys(d, record.Spec, time.Now())); err != nil {
			t.Fatal(err)
		}
		got, err := Inspect(t.Context(), h, d)
		if err != nil || len(got.Components) != 2 || got.Components[0].State != tc.state || got.Components[1].State != tc.task {
			t.Errorf("%+v: %+v, %v", tc, got.Components, err)
		}
	}
}

func TestLacks(t *testing.T) {
	s := spec()
	if !container.CgroupsWritable() {
		t.Fatal("the tests run as root, with cgroups that can be written")
	}
	if got := lacks(s); len(got) > 0 {
		t.Errorf("root lacks %q", got)
	}
	s.OwnNetwork = true
	if got := lacks(s); len(got) != 1 || !strings.HasPrefix(got[0], "port 443 takes root here: ") {
		t.Errorf("in a network of its own it lacks %q", got)
	}
}
