package snapshot

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/internal/sparkpod"
)

const spark = "spark-executor"

func wire(id, phase string, edit ...func(*Wire)) *Wire {
	w := &Wire{Metadata: WireMeta{Name: "p-exec-" + id, UID: "u" + id, ResourceVersion: "5", CreationTimestamp: "2026-01-01T00:00:00Z",
		Labels: map[string]string{sparkpod.LabelExecutorID: id, sparkpod.LabelResourceProfile: "0"}},
		Spec: WireSpec{RestartPolicy: "Never"}, Status: WireStatus{Phase: phase}}
	for _, e := range edit {
		e(w)
	}
	return w
}

func deleting(w *Wire) { w.Metadata.DeletionTimestamp = "2026-01-01T00:00:00Z" }

// ended gives the containers states: "r" running, a number terminated.
func containers(states map[string]any) func(*Wire) {
	return func(w *Wire) {
		for _, name := range []string{"sidecar", spark} {
			switch s := states[name].(type) {
			case string:
				w.Status.ContainerStatuses = append(w.Status.ContainerStatuses, WireContainer{Name: name, State: WireState{Running: &WireRunning{}}})
			case int:
				w.Status.ContainerStatuses = append(w.Status.ContainerStatuses, WireContainer{Name: name, State: WireState{Terminated: &WireTerminated{ExitCode: s}}})
			}
		}
	}
}

func TestStates(t *testing.T) {
	restarted := func(w *Wire) {
		w.Status.ContainerStatuses = []WireContainer{{Name: spark, RestartCount: 1, State: WireState{Running: &WireRunning{}},
			LastState: WireState{Terminated: &WireTerminated{ExitCode: 9}}}}
	}
	for _, tc := range []struct {
		name string
		w    *Wire
		want State
	}{
		{"pending E032", wire("1", "Pending"), Pending},
		{"running E032", wire("1", "Running"), Running},
		{"case E032", wire("1", "rUNNing"), Running},
		{"succeeded E032", wire("1", "Succeeded"), Succeeded},
		{"failed E032", wire("1", "Failed"), Failed},
		{"unknown E032", wire("1", "Unknown"), Unknown},
		{"no phase E040", wire("1", ""), Pending},
		{"deleting without phase E032", wire("1", "", deleting), Deleted},
		{"deleting running E039", wire("1", "Running", deleting), Running},
		{"deleting pending E039", wire("1", "Pending", deleting), Deleted},
		{"deleting failed E039", wire("1", "Failed", deleting), Deleted},
		{"deleting terminating E039", wire("1", "Terminating", deleting), Terminating},
		{"no statuses E038", wire("1", "Running", containers(nil)), Running},
		{"only the sidecar E038", wire("1", "Running", containers(map[string]any{"sidecar": "r"})), Running},
		{"restarted E276", wire("1", "Running", restarted), Failed},
		{"always E037", wire("1", "Running", containers(map[string]any{"sidecar": 1, spark: "r"}), func(w *Wire) { w.Spec.RestartPolicy = "Always" }), Running},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &Reader{Container: spark, CheckAll: true, RestartIsEnd: true}
			if got := r.Read(tc.w); got == nil || got.State != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// E036: the matrix of the Spark container and a sidecar.
func TestMatrixE036(t *testing.T) {
	for _, tc := range []struct {
		all  bool
		want string
	}{{true, "RRF SSF FFF"}, {false, "RRR SSS FFF"}} {
		var rows []string
		for _, main := range []any{"r", 0, 1} {
			var row strings.Builder
			for _, side := range []any{"r", 0, 1} {
				r := &Reader{Container: spark, CheckAll: tc.all, RestartIsEnd: true}
				p := r.Read(wire("1", "Running", containers(map[string]any{"sidecar": side, spark: main})))
				row.WriteByte(p.State.String()[0])
			}
			rows = append(rows, row.String())
		}
		if got := strings.Join(rows, " "); got != tc.want {
			t.Errorf("check all %v: got %s, want %s", tc.all, got, tc.want)
		}
	}
}

// E041, E042: pods that are not part of the snapshot.
func TestNotPartE041E042(t *testing.T) {
	var warnings []string
	r := &Reader{Container: spark, Warn: func(s string) { warnings = append(warnings, s) }}
	for _, id := range []string{"abc", "-1", "99999999999999999999"} {
		for range 2 {
			if p := r.Read(wire(id, "Running")); p != nil {
				t.Errorf("id %q: %v", id, p)
			}
		}
	}
	if p := r.Read(wire("1", "Running", func(w *Wire) { w.Metadata.Labels = nil })); p != nil {
		t.Errorf("no labels: %v", p)
	}
	if len(warnings) != 4 {
		t.Errorf("want one warning a pod, got %q", warnings)
	}
	for _, edit := range []func(*Wire){func(w *Wire) { w.Metadata.Labels[sparkpod.LabelExecutorID] = "EXECID" },
		func(w *Wire) { delete(w.Metadata.Labels, sparkpod.LabelExecutorID) }} {
		if p := r.Read(wire("1", "Running", edit)); p != nil {
			t.Errorf("without id: %v", p)
		}
	}
	if len(warnings) != 4 {
		t.Errorf("warnings about pods without id: %q", warnings[4:])
	}
}

// E043: only the Spark container's code counts.
func TestExitCodeE043(t *testing.T) {
	r := &Reader{Container: spark, CheckAll: true}
	for want, states := range map[int]map[string]any{1: {"sidecar": 0, spark: 1}, 52: {"sidecar": 3, spark: 52}, NoCode: {"sidecar": 7, spark: "r"}} {
		if p := r.Read(wire("1", "Failed", containers(states))); p.Exit.Code != want {
			t.Errorf("%v: code %d, want %d", states, p.Exit.Code, want)
		}
	}
}

// E045: random statuses never break the reader.
func TestFuzzE045(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	phases := []string{"", "Pending", "Running", "Failed", "Succeeded", "Terminating", "Odd"}
	r := &Reader{Container: spark, CheckAll: true, RestartIsEnd: true, Warn: func(string) {}}
	for range 100_000 {
		w := wire("1", phases[rng.IntN(len(phases))])
		if rng.IntN(2) == 0 {
			deleting(w)
		}
		for range rng.IntN(3) {
			c := WireContainer{Name: []string{spark, "x"}[rng.IntN(2)], RestartCount: rng.IntN(2)}
			switch rng.IntN(4) {
			case 0:
				c.State.Running = &WireRunning{}
			case 1:
				c.State.Waiting = &WireWaiting{Reason: "ImagePullBackOff"}
			case 2:
				c.State.Terminated = &WireTerminated{ExitCode: rng.IntN(3)}
			}
			w.Status.ContainerStatuses = append(w.Status.ContainerStatuses, c)
		}
		if p := r.Read(w); p.State.Final() != (p.Exit != nil) {
			t.Fatalf("state %v with exit %v", p.State, p.Exit)
		}
	}
}

func pod(id int64, version uint64, s State) *Pod {
	p := &Pod{ID: id, Name: fmt.Sprint("p", id), UID: fmt.Sprint("u", id), Version: version, State: s}
	if s.Final() {
		p.Exit = &Exit{}
	}
	return p
}

func said(facts []Fact) []string {
	out := []string{}
	for _, f := range facts {
		text := fmt.Sprintf("%d %s", f.Pod.ID, f.State)
		if f.Gone {
			text += " gone"
		}
		out = append(out, text)
	}
	return out
}

func TestStore(t *testing.T) {
	t0 := time.Unix(1000, 0)
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	for _, tc := range []struct {
		name string
		do   func(*Store)
		want []string
	}{
		{"the end and the deletion are two facts E054", func(s *Store) {
			s.Update(pod(7, 1, Running), at(0))
			s.Remove(7, pod(7, 3, Failed), at(1))
		}, []string{"7 Running", "7 Failed", "7 Deleted gone"}},
		{"force-deleted while running E044", func(s *Store) {
			s.Update(pod(3, 1, Running), at(0))
			s.Remove(3, pod(3, 2, Running), at(1))
		}, []string{"3 Running", "3 Deleted gone"}},
		{"a list older than the watch drops nothing E056", func(s *Store) {
			s.Update(pod(9, 120, Running), at(5))
			if doubtful := s.Replace(List{Version: 100, Started: at(6)}); doubtful != nil {
				t.Errorf("in doubt: %v", doubtful)
			}
		}, []string{"9 Running"}},
		{"a list started before the pod was seen drops nothing E056", func(s *Store) {
			s.Update(pod(9, 120, Running), at(5))
			if doubtful := s.Replace(List{Version: 130, Started: at(4)}); len(doubtful) != 1 || doubtful[0] != 9 {
				t.Errorf("in doubt: %v", doubtful)
			}
		}, []string{"9 Running"}},
		{"a list that could have seen it drops it", func(s *Store) {
			s.Update(pod(9, 120, Running), at(5))
			s.Replace(List{Version: 130, Started: at(6)})
		}, []string{"9 Running", "9 Deleted gone"}},
		{"older news changes nothing E057", func(s *Store) {
			s.Update(pod(4, 130, Failed), at(1))
			s.Replace(List{Version: 125, Started: at(2), Pods: []*Pod{pod(4, 124, Running)}})
		}, []string{"4 Failed"}},
		{"a late answer does not bring a pod back", func(s *Store) {
			s.Update(pod(1, 10, Running), at(1))
			s.Remove(1, pod(1, 12, Running), at(2))
			s.Update(pod(1, 10, Pending), at(3))
		}, []string{"1 Running", "1 Deleted gone"}},
		{"equal states are one fact T4", func(s *Store) {
			s.Update(pod(1, 1, Running), at(1))
			s.Update(pod(1, 2, Running), at(2))
		}, []string{"1 Running"}},
		{"a cached list proves absence by its version only", func(s *Store) {
			s.Update(pod(1, 10, Running), at(1))
			s.Update(pod(2, 20, Running), at(1))
			s.Replace(List{Version: 15, Started: at(2), Cached: true})
		}, []string{"1 Running", "2 Running", "1 Deleted gone"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := NewStore()
			q := s.Subscribe()
			tc.do(s)
			if d := cmp.Diff(tc.want, said(q.Drain())); d != "" {
				t.Error(d)
			}
			if q.Pending() {
				t.Error("facts are left after Drain")
			}
		})
	}
}

// E058: a list counts from its start.
func TestFullAtE058(t *testing.T) {
	s := NewStore()
	s.Replace(List{Started: time.Unix(10, 0)})
	s.Confirm(time.Unix(5, 0))
	if got := s.FullAt(); !got.Equal(time.Unix(10, 0)) {
		t.Errorf("full at %v", got)
	}
}

func TestIDSet(t *testing.T) {
	var s IDSet
	if !s.Add(1000) || s.Add(1000) || s.Add(-1) || !s.Has(1000) || s.Has(999) {
		t.Error("Add and Has disagree")
	}
	s.Remove(1000)
	s.Remove(5000)
	if s.Has(1000) {
		t.Error("1000 is still there")
	}
}
