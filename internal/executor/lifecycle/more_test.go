package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// E085, E086, E089, E091, E092: what is reported and what is cleaned up for pods in odd conditions.
func TestOddEnds(t *testing.T) {
	t.Run("gone at the second look E085", func(t *testing.T) {
		m := New(settings(), nil, nil)
		m.Run(facts(failed(1, snapshot.Exit{Code: 1})), view(), time.Unix(1, 0))
		m.Cleaned(1, true) // 404
		gone := snapshot.Fact{Pod: failed(1, snapshot.Exit{Code: 1}), State: snapshot.Deleted, Gone: true}
		if d := m.Run([]snapshot.Fact{gone}, view(), time.Unix(2, 0)); len(d.Removals)+len(d.Deletes) != 0 {
			t.Errorf("%+v", d)
		}
		if _, waits := m.Due(false, false); waits {
			t.Error("a run is due for a pod that is gone")
		}
	})
	t.Run("already being deleted E086", func(t *testing.T) {
		p := failed(1, snapshot.Exit{Code: 1})
		p.Deleting = true
		if d := New(settings(), nil, nil).Run(facts(p), view(), time.Unix(1, 0)); len(d.Removals) != 1 || len(d.Deletes) != 0 {
			t.Errorf("%+v", d)
		}
	})
	t.Run("the sidecar is listed first E089", func(t *testing.T) {
		r := &snapshot.Reader{Container: "spark", CheckAll: true}
		w := &snapshot.Wire{Metadata: snapshot.WireMeta{Name: "p", UID: "u", Labels: map[string]string{"spark-exec-id": "1"}}}
		w.Status.Phase = "Failed"
		w.Status.ContainerStatuses = []snapshot.WireContainer{
			{Name: "side", State: snapshot.WireState{Terminated: &snapshot.WireTerminated{ExitCode: 0}}},
			{Name: "spark", State: snapshot.WireState{Terminated: &snapshot.WireTerminated{ExitCode: 52}}}}
		d := New(settings(), nil, nil).Run(facts(r.Read(w)), view(), time.Unix(1, 0))
		if d.Removals[0].Code != 52 || !strings.Contains(d.Removals[0].Text, "exited with exit code 52(JVM OOM).") {
			t.Errorf("%+v", d.Removals[0])
		}
	})
	t.Run("deleted without a status E091", func(t *testing.T) {
		p := &snapshot.Pod{ID: 1, Name: "p", State: snapshot.Deleted}
		d := New(settings(), nil, nil).Run(facts(p), view(), time.Unix(1, 0))
		if len(d.Removals) != 1 || d.Removals[0].Code != -1 || d.Removals[0].CausedByApp {
			t.Errorf("%+v", d.Removals)
		}
	})
	t.Run("ended by itself E092", func(t *testing.T) {
		v := view()
		v.Active = func(int64) bool { return true }
		p := failed(3, snapshot.Exit{Code: 0})
		p.State = snapshot.Succeeded
		d := New(settings(), nil, nil).Run(facts(p), v, time.Unix(1, 0))
		if len(d.Removals) != 1 || d.Removals[0].Code != 0 || !d.Removals[0].CausedByApp || d.Removals[0].Counts {
			t.Errorf("%+v", d.Removals)
		}
		want := Line{"INFO", "Snapshot reported succeeded executor with id 3, even though the application has not requested for it to be removed."}
		if len(d.Log) != 1 || d.Log[0] != want {
			t.Errorf("log %v", d.Log)
		}
	})
	t.Run("no end E114", func(t *testing.T) {
		for _, s := range []snapshot.State{snapshot.Terminating, snapshot.Unknown} {
			p := &snapshot.Pod{ID: 1, Name: "p", State: s}
			if d := New(settings(), nil, nil).Run(facts(p), view(), time.Unix(1, 0)); len(d.Removals)+len(d.Deletes) != 0 {
				t.Errorf("%v: %+v", s, d)
			}
		}
	})
}

// E110: a pod whose deletion keeps failing is reported once; with the difference off, again after the cache's time, and
// never counted twice.
func TestReportedOnceE110(t *testing.T) {
	for again, want := range map[time.Duration]int{0: 1, 180 * time.Second: 4} {
		set := settings()
		set.ReportAgain = again
		m := New(set, nil, nil)
		reports := 0
		m.Run(facts(failed(1, snapshot.Exit{Code: 1})), view(), time.Unix(0, 0))
		m.Cleaned(1, false)
		for sec := int64(1); sec < 600; sec++ {
			reports += len(m.Run(nil, view(), time.Unix(sec, 0)).Removals)
			m.Cleaned(1, false)
		}
		if reports+1 != want || m.Failures() != 1 {
			t.Errorf("cache %s: %d reports and %d failures, want %d and 1", again, reports+1, m.Failures(), want)
		}
	}
}

// The driver's log says what the container's reason and message add to the code.
func TestSummaryOfCause(t *testing.T) {
	p := failed(4, snapshot.Exit{Code: 128, Cause: "StartError: failed to create the container."})
	want := "Executor 4 lost: its pod failed, exit code 128 (StartError: failed to create the container) (pod p4)."
	if got := Summary(p, snapshot.Failed); got != want {
		t.Errorf("got %q", got)
	}
	p = failed(4, snapshot.Exit{Code: 137, Cause: "killed by hand"})
	if got := Summary(p, snapshot.Failed); !strings.Contains(got, "exit code 137 (SIGKILL; killed by hand)") {
		t.Errorf("got %q", got)
	}
}

// E079: a pod that somebody else labels inactive leaves the watch; its executor may work on, so it is not told to be gone.
func TestLabelOfOthersE079(t *testing.T) {
	p := &snapshot.Pod{ID: 3, Name: "p", UID: "u", State: snapshot.Running, Inactive: true}
	d := New(settings(), nil, nil).Run([]snapshot.Fact{{Pod: p, State: snapshot.Deleted, Gone: true}}, view(), time.Unix(1, 0))
	if len(d.Removals)+len(d.Deletes)+len(d.Labels) != 0 {
		t.Errorf("%+v", d)
	}
}
