package snapshot

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// E034, E035: a sidecar that failed, and the Spark container that ended, seen with and without checkAllContainers.
func TestSidecarsE034E035(t *testing.T) {
	for _, tc := range []struct {
		all    bool
		states map[string]any
		want   State
	}{
		{true, map[string]any{"sidecar": 1, spark: "r"}, Failed},
		{false, map[string]any{"sidecar": 1, spark: "r"}, Running},
		{true, map[string]any{"sidecar": "r", spark: 0}, Succeeded},
		{false, map[string]any{"sidecar": "r", spark: 0}, Succeeded},
		{true, map[string]any{"sidecar": "r", spark: 1}, Failed},
		{false, map[string]any{"sidecar": "r", spark: 1}, Failed},
	} {
		r := &Reader{Container: spark, CheckAll: tc.all}
		if p := r.Read(wire("1", "Running", containers(tc.states))); p.State != tc.want {
			t.Errorf("check all %v, %v: %v", tc.all, tc.states, p.State)
		}
	}
}

// E046: a failed init container counts only when the pod fails, and the text names it.
func TestInitContainerE046(t *testing.T) {
	initFailed := func(w *Wire) {
		w.Status.InitContainerStatuses = []WireContainer{{Name: "setup", State: WireState{Terminated: &WireTerminated{ExitCode: 2}}}}
	}
	r := &Reader{Container: spark, CheckAll: true}
	if p := r.Read(wire("1", "Pending", initFailed)); p.State != Pending {
		t.Errorf("pending pod: %v", p.State)
	}
	p := r.Read(wire("1", "Failed", initFailed))
	if p.State != Failed || len(p.Exit.Init) != 1 || p.Exit.Init[0].Name != "setup" || p.Exit.Init[0].State.ExitCode != 2 {
		t.Errorf("failed pod: %+v", p.Exit)
	}
}

// What the termination says beyond its code reaches the record.
func TestCause(t *testing.T) {
	for want, term := range map[string]WireTerminated{
		"":                            {ExitCode: 1, Reason: "Error"},
		"StartError: failed to start": {ExitCode: 128, Reason: "StartError", Message: "failed to start\nmore"},
		"ContainerCannotRun":          {ExitCode: 127, Reason: "ContainerCannotRun"},
		"out of disk":                 {ExitCode: 1, Reason: "Error", Message: "  out of disk\n"},
	} {
		w := wire("1", "Failed", func(w *Wire) {
			w.Status.ContainerStatuses = []WireContainer{{Name: spark, State: WireState{Terminated: &term}}}
		})
		if p := (&Reader{Container: spark}).Read(w); p.Exit.Cause != want {
			t.Errorf("%+v: %q", term, p.Exit.Cause)
		}
	}
}

// contents writes the store's pods as text.
func contents(s *Store) string {
	text := ""
	for _, p := range s.Pods() {
		text += fmt.Sprintf("%d%c ", p.ID, p.State.String()[0])
	}
	return text
}

// E033, E049: what the store holds after each change, and since when it was complete.
func TestChangesE033E049(t *testing.T) {
	s := NewStore()
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	s.Update(pod(0, 1, Pending), at(1))
	s.Update(pod(1, 2, Running), at(1))
	s.Update(pod(1, 3, Succeeded), at(2))
	if got := contents(s); got != "0P 1S " {
		t.Errorf("after the update: %s", got)
	}
	s.Update(pod(2, 4, Pending), at(3))
	if got := contents(s); got != "0P 1S 2P " {
		t.Errorf("after another pod: %s", got)
	}
	if s.Count(Pending) != 2 || s.Count(Succeeded) != 1 || s.Count(Running) != 0 || s.Len() != 3 {
		t.Error("the counts are wrong")
	}
	if !s.FullAt().IsZero() {
		t.Errorf("complete at %v before any list", s.FullAt())
	}
	s.Replace(List{Pods: []*Pod{pod(2, 4, Pending)}, Version: 9, Started: at(100)})
	if got := contents(s); got != "2P " || !s.FullAt().Equal(at(100)) {
		t.Errorf("after the list: %s at %v", got, s.FullAt())
	}
}

// E047, E048, E051: each reader gets every change once, in order, whatever the other has read; a new reader gets what is
// there; without changes there is nothing.
func TestReadersE047E048E051(t *testing.T) {
	s, now := NewStore(), time.Unix(1, 0)
	fast, slow := s.Subscribe(), s.Subscribe()
	if len(fast.Drain())+len(slow.Drain()) != 0 {
		t.Error("an empty store had changes")
	}
	s.Update(pod(1, 1, Running), now)
	first := said(fast.Drain())
	s.Update(pod(2, 2, Running), now)
	s.Update(pod(3, 3, Running), now)
	if d := cmp.Diff([]string{"1 Running", "2 Running", "3 Running"}, append(first, said(fast.Drain())...)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"1 Running", "2 Running", "3 Running"}, said(slow.Drain())); d != "" {
		t.Error(d)
	}
	if len(fast.Drain()) != 0 || slow.Pending() {
		t.Error("a tick without news has some")
	}
	if d := cmp.Diff([]string{"1 Running", "2 Running", "3 Running"}, said(s.Subscribe().Drain())); d != "" {
		t.Error(d)
	}
	s.Update(pod(2, 4, Failed), now)
	if !fast.HasFinal() || len(fast.Drain()) != 1 || fast.HasFinal() {
		t.Error("the end of a pod is not told apart")
	}
}

// E055: a thousand pods and five thousand events make at most as many facts, in little time.
func TestManyEventsE055(t *testing.T) {
	s := NewStore()
	q := s.Subscribe()
	began := time.Now()
	for v := range uint64(5) {
		state := Pending
		if v >= 2 {
			state = Running
		}
		for id := range int64(1000) {
			s.Update(pod(id+1, v*1000+uint64(id)+1, state), time.Unix(int64(v), 0))
		}
	}
	if n := len(q.Drain()); n != 2000 {
		t.Errorf("%d facts", n)
	}
	if d := time.Since(began); d > time.Second {
		t.Errorf("5,000 events took %s", d)
	}
}

// What one event costs, and what one pod takes, must not grow with the number of pods.
func BenchmarkEvent(b *testing.B) {
	for _, n := range []int64{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := NewStore()
			q := s.Subscribe()
			for id := range n {
				s.Update(pod(id+1, 1, Running), time.Unix(0, 0))
			}
			q.Drain()
			b.ReportAllocs()
			v := uint64(2)
			for b.Loop() {
				s.Update(pod(int64(v)%n+1, v, State(1+v%2)), time.Unix(int64(v), 0))
				q.Drain()
				v++
			}
		})
	}
}
