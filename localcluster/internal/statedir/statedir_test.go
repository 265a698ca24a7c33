package statedir

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubespark/kubespark/localcluster/internal/process"
)

func spec() Spec {
	return Spec{Port: 6443, Network: netip.MustParsePrefix("127.10.0.0/16"), NodeName: "local", CPUs: 64, MemoryMiB: 1024}
}

func newDir(t *testing.T) Dir {
	t.Helper()
	d, err := New(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestNewRefuses(t *testing.T) {
	for path, want := range map[string]string{
		"":                             "cannot be the state folder",
		"/":                            "cannot be the state folder",
		"/" + strings.Repeat("x", 100): "has 101 characters",
	} {
		if _, err := New(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%q): %v, want %q", path, err, want)
		}
	}
}

func TestSpecCheck(t *testing.T) {
	if err := spec().Check(); err != nil {
		t.Error(err)
	}
	for name, tc := range map[string]struct {
		spoil func(*Spec)
		want  string
	}{
		"port":          {func(s *Spec) { s.Port = 65536 }, "--port 65536"},
		"outside":       {func(s *Spec) { s.Network = netip.MustParsePrefix("10.0.0.0/16") }, "no loopback network"},
		"too small":     {func(s *Spec) { s.Network = netip.MustParsePrefix("127.10.0.0/24") }, "no loopback network"},
		"not a network": {func(s *Spec) { s.Network = netip.MustParsePrefix("127.10.3.0/16") }, "no loopback network"},
		"the host's":    {func(s *Spec) { s.Network = netip.MustParsePrefix("127.0.0.0/16") }, "127.0.0.1"},
		"cpus":          {func(s *Spec) { s.CPUs = 0 }, "--cpus 0"},
		"memory":        {func(s *Spec) { s.MemoryMiB = 0 }, "--memory"},
	} {
		s := spec()
		tc.spoil(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestRecord(t *testing.T) {
	d := newDir(t)
	if _, err := d.Load(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load without a record: %v", err)
	}
	want := Record{
		Boot: "b", Spec: spec(), Supervisor: process.ID{PID: 7, Start: 70}, Started: time.Unix(1800000000, 0).UTC(),
		Components: []Component{
			{Name: "etcd", Phase: Ready, Process: process.ID{PID: 8, Start: 80}, Took: time.Second, Restarts: 2},
			{Name: "node", Phase: Starting, Reason: "it has not registered yet"},
		},
	}
	if err := d.Create(want); err != nil {
		t.Fatal(err)
	}
	got, err := d.Load()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(d.Record(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("Load of half a record: %v", err)
	}
}

func TestOwned(t *testing.T) {
	d := newDir(t)
	expect := func(want bool) {
		t.Helper()
		if got, err := d.Owned(); err != nil || got != want {
			t.Errorf("Owned = %v, %v, want %v", got, err, want)
		}
	}
	expect(true) // absent
	if err := os.Mkdir(string(d), 0o755); err != nil {
		t.Fatal(err)
	}
	expect(true) // empty
	if err := os.WriteFile(d.Join("thesis.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	expect(false)
	if err := d.Create(Record{}); err != nil {
		t.Fatal(err)
	}
	expect(true)
	if err := d.Remove(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(string(d))
	if err != nil || len(left) != 1 || left[0].Name() != "thesis.txt" {
		t.Errorf("Remove left %v, %v, want the user's file", left, err)
	}
	if err := os.Remove(d.Join("thesis.txt")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time is no error
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(string(d)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestMountsBelow(t *testing.T) {
	const table = `21 1 8:1 / / rw - ext4 /dev/sda rw
30 21 0:4 / /var/lib/cluster rw - tmpfs none rw
31 21 0:5 / /var/lib/cluster/node/a\040b rw,relatime shared:1 - overlay overlay rw
32 21 0:6 / /var/lib/cluster2/node rw - tmpfs none rw
`
	if diff := cmp.Diff([]string{"/var/lib/cluster/node/a b"}, mountsBelow(table, "/var/lib/cluster")); diff != "" {
		t.Error(diff)
	}
}

func TestLockWaitsForTheOtherCommand(t *testing.T) {
	d := newDir(t)
	unlock, err := d.Lock(nil)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{})
	locked := make(chan error, 1)
	go func() {
		second, err := d.Lock(func() { close(waiting) })
		if err == nil {
			second()
		}
		locked <- err
	}()
	<-waiting
	select {
	case err := <-locked:
		t.Fatalf("two commands hold the lock: %v", err)
	default:
	}
	if err := d.Remove(); err != nil { // as `down` does; the other one must not end up with a folder that is gone
		t.Fatal(err)
	}
	unlock()
	if err := <-locked; err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(string(d)); err != nil {
		t.Errorf("the second command holds the lock of no folder: %v", err)
	}
}

func TestNodesShareTheNetwork(t *testing.T) {
	s := spec()
	if got := []string{s.PodNetwork(0).String(), s.Kubelet(0).String()}; s.NodeCount() != 1 || got[0] != "127.10.0.0/16" || got[1] != "127.10.0.1:10250" {
		t.Errorf("one node: %v", got)
	}
	s.Nodes = 3
	if diff := cmp.Diff([]string{"local", "local-2", "local-3"}, s.NodeNames()); diff != "" {
		t.Error(diff)
	}
	if got := s.PodNetwork(2).String(); got != "127.10.128.0/18" || s.Kubelet(2).Port() != 10252 {
		t.Errorf("the third node: %s, %s", got, s.Kubelet(2))
	}
	s.Nodes = 65
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "--nodes 65") {
		t.Errorf("65 nodes: %v", err)
	}
}
