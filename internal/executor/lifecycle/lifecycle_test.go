package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

func failed(id int64, e snapshot.Exit) *snapshot.Pod {
	return &snapshot.Pod{ID: id, Name: fmt.Sprint("p", id), UID: fmt.Sprint("u", id), State: snapshot.Failed, Exit: &e}
}

func facts(pods ...*snapshot.Pod) []snapshot.Fact {
	var out []snapshot.Fact
	for _, p := range pods {
		out = append(out, snapshot.Fact{Pod: p, State: p.State})
	}
	return out
}

func view() View {
	return View{Known: map[int64]time.Time{}, Registered: func(int64) bool { return true }, Ours: func(int64) bool { return false },
		Active: func(int64) bool { return false }, Missing: func(int64) bool { return true }, DriverReady: true}
}

func settings() Settings {
	return Settings{DeleteOnTermination: true, Interval: time.Second, MissingDelta: 30 * time.Second, MaxFailures: 100}
}

// E083, E107: the text that Spark shows, byte for byte.
func TestReasonE083(t *testing.T) {
	p := failed(1, snapshot.Exit{Code: 1, Reason: "because", Message: "of that", Containers: []snapshot.Container{
		{Name: "a", Image: "img", State: snapshot.ContainerState{Kind: "terminated", StartedAt: "s", FinishedAt: "f", ExitCode: 1, Reason: "Error"}},
		{Name: "b", Image: "img2", State: snapshot.ContainerState{Kind: "running", StartedAt: "s2"}},
		{Name: "c", Image: "img3", State: snapshot.ContainerState{Kind: "waiting", Reason: "Pulling"}},
		{Name: "d", Image: "img4"},
	}})
	want := "\nThe executor with id 1 exited with exit code 1(generic, look at logs to clarify).\n" +
		"The API gave the following brief reason: because\n" +
		"The API gave the following message: of that\n\n" +
		"The API gave the following container statuses:\n\n" +
		"\n\t container name: a\n\t container image: img\n\t container state: terminated\n\t container started at: s\n" +
		"\t container finished at: f\n\t exit code: 1\n\t termination reason: Error\n\n" +
		"\n\t container name: b\n\t container image: img2\n\t container state: running\n\t container started at: s2\n\n" +
		"\n\t container name: c\n\t container image: img3\n\t container state: waiting\n\t pending reason: Pulling\n\n" +
		"\n\t container name: d\n\t container image: img4\n\t container state: N/A\n      "
	if d := cmp.Diff(want, exitText(p)); d != "" {
		t.Error(d)
	}
}

func TestMeaningsE107(t *testing.T) {
	for code, want := range map[int]string{0: "(success)", 10: "(Uncaught exception)", 42: "(Douglas Adams fan)", 50: "(Uncaught exception)",
		52: "(JVM OOM)", 53: "(DiskStore failed to create temp dir)", 126: "(not executable - possibly perm or arch)",
		137: "(SIGKILL, possible container OOM)", 139: "(SIGSEGV: that's unexpected)", 255: "(exit-1, your guess is as good as mine)", 7: "(unexpected)"} {
		if got := meaning(code); got != want {
			t.Errorf("%d: %q, want %q", code, got, want)
		}
	}
}

// E102 to E106, E278: whose fault an end is.
func TestFault(t *testing.T) {
	for _, tc := range []struct {
		name string
		p    *snapshot.Pod
		edit func(*View)
		want bool
	}{
		{"plain failure", failed(1, snapshot.Exit{Code: 1}), nil, true},
		{"evicted for the node E102", failed(1, snapshot.Exit{Reason: "Evicted", Message: "The node was low on resource: ephemeral-storage. Container x exceeds its request"}), nil, false},
		{"evicted for its own limit E102", failed(1, snapshot.Exit{Reason: "Evicted", Message: `Usage of EmptyDir volume "x" exceeds the limit "1Gi".`}), nil, true},
		{"disrupted E103", failed(1, snapshot.Exit{Code: 143, Disrupted: true}), nil, false},
		{"preempted E103", failed(1, snapshot.Exit{Reason: "Preempting"}), nil, false},
		{"out of memory E104", failed(1, snapshot.Exit{Code: 137, OOM: true}), func(v *View) { v.Ours = func(int64) bool { return true } }, true},
		{"drained with a sidecar E105", &snapshot.Pod{ID: 1, State: snapshot.Failed, Deleting: true, Exit: &snapshot.Exit{Code: 143}}, nil, false},
		{"on the deleted list E106", failed(1, snapshot.Exit{Code: 1}), func(v *View) { v.Ours = func(int64) bool { return true } }, false},
		{"before the driver was ready E278", failed(1, snapshot.Exit{Code: 1}), func(v *View) {
			v.DriverReady, v.Registered = false, func(int64) bool { return false }
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := view()
			if tc.edit != nil {
				tc.edit(&v)
			}
			d := New(settings(), nil, nil).Run(facts(tc.p), v, time.Unix(1, 0))
			if len(d.Removals) != 1 || d.Removals[0].CausedByApp != tc.want || d.Removals[0].Counts != tc.want {
				t.Errorf("removals %+v, want caused by app %v", d.Removals, tc.want)
			}
		})
	}
}

// E084, E110, E112, E115: one removal; one delete an interval while the pod stays; ascending order.
func TestOnceAndAgainE084(t *testing.T) {
	m := New(settings(), nil, nil)
	d := m.Run(facts(failed(2, snapshot.Exit{Code: 1}), failed(1, snapshot.Exit{Code: 1})), view(), time.Unix(1, 0))
	if len(d.Removals) != 2 || d.Removals[0].ID != 1 || len(d.Deletes) != 2 {
		t.Fatalf("first run: %+v", d)
	}
	if d := m.Run(facts(failed(1, snapshot.Exit{Code: 1})), view(), time.Unix(2, 0)); len(d.Removals)+len(d.Deletes) != 0 {
		t.Errorf("while the delete is under way: %+v", d)
	}
	m.Cleaned(1, false)
	m.Cleaned(2, true)
	if at, ok := m.Due(false, false); !ok || !at.Equal(time.Unix(3, 0)) {
		t.Errorf("next run at %v %v", at, ok)
	}
	if d := m.Run(nil, view(), time.Unix(3, 0)); len(d.Removals) != 0 || len(d.Deletes) != 1 || d.Deletes[0].ID != 1 {
		t.Errorf("after a failed delete: %+v", d)
	}
}

// E087, E079: with deleteOnTermination false the pod is labelled once, and its leaving the watch is no deletion.
func TestLabelledE087E079(t *testing.T) {
	set := settings()
	set.DeleteOnTermination = false
	m := New(set, nil, nil)
	p := failed(1, snapshot.Exit{Code: 1})
	d := m.Run(facts(p), view(), time.Unix(1, 0))
	if len(d.Labels) != 1 || len(d.Deletes) != 0 || len(d.Removals) != 1 {
		t.Fatalf("first run: %+v", d)
	}
	m.Cleaned(1, true)
	d = m.Run([]snapshot.Fact{{Pod: p, State: snapshot.Failed}, {Pod: p, State: snapshot.Deleted, Gone: true}}, view(), time.Unix(2, 0))
	if len(d.Labels)+len(d.Removals) != 0 {
		t.Errorf("second run: %+v", d)
	}
}

// E093, E094: missing only by a newly complete view, and strictly later than the delta.
func TestMissingE093(t *testing.T) {
	m := New(settings(), nil, nil)
	v := view()
	v.Known[1] = time.UnixMilli(7)
	v.FullAt = time.UnixMilli(30_007)
	if d := m.Run(nil, v, v.FullAt); len(d.Missing) != 0 {
		t.Errorf("at the delta: %v", d.Missing)
	}
	v.FullAt = time.UnixMilli(30_008)
	if d := m.Run(nil, v, v.FullAt); len(d.Missing) != 1 || len(d.Removals) != 0 {
		t.Errorf("past it: %+v", d)
	}
	if d := m.Run(nil, v, v.FullAt); len(d.Missing) != 0 {
		t.Errorf("without a new list: %+v", d)
	}
	d := m.ConfirmMissing(1, v.Known[1], v.FullAt, time.Unix(40, 0))
	want := "The executor with ID 1 (registered at 7 ms) was not found in the cluster at the polling time (30008 ms) which is after the " +
		"accepted detect delta time (30000 ms) configured by `spark.kubernetes.executor.missingPodDetectDelta`. The executor may have " +
		"been deleted but the driver missed the deletion event. Marking this executor as failed."
	if len(d.Removals) != 1 || d.Removals[0].Text != want || d.Removals[0].Code != -1 || d.Removals[0].CausedByApp {
		t.Errorf("confirmed: %+v", d.Removals)
	}
}

// E098, E241: failures inside the interval, with those of an earlier life.
func TestFailureLimitE098(t *testing.T) {
	set := settings()
	set.MaxFailures, set.Validity = 2, 2*time.Second
	m := New(set, nil, nil)
	run := func(sec int64, ids ...int64) Decision {
		var pods []*snapshot.Pod
		for _, id := range ids {
			pods = append(pods, failed(id, snapshot.Exit{Code: 1}))
		}
		return m.Run(facts(pods...), view(), time.Unix(sec, 0))
	}
	for _, step := range []struct {
		sec   int64
		ids   []int64
		count int
		exit  bool
	}{{1, []int64{1, 2}, 2, false}, {2, nil, 2, false}, {4, nil, 0, false}, {5, []int64{3, 4, 5}, 3, true}, {6, nil, 3, false}} {
		if d := run(step.sec, step.ids...); d.Exit != step.exit || m.Failures() != step.count {
			t.Errorf("at %d: exit %v with %d failures, want %v with %d", step.sec, d.Exit, m.Failures(), step.exit, step.count)
		}
	}
	set.Validity = 0
	m = New(set, []int64{1, 2}, []time.Time{time.Unix(1, 0), time.Unix(2, 0)})
	if d := m.Run(facts(failed(1, snapshot.Exit{Code: 1})), view(), time.Unix(3, 0)); d.Exit || len(d.Removals) != 0 {
		t.Errorf("a reported executor counted again: %+v", d)
	}
	if d := m.Run(facts(failed(3, snapshot.Exit{Code: 1})), view(), time.Unix(4, 0)); !d.Exit {
		t.Error("the failures of before the restart were forgotten")
	}
}

func TestSummary(t *testing.T) {
	p := failed(3, snapshot.Exit{Code: 137, OOM: true})
	p.Node = "n1"
	want := "Executor 3 lost: its pod failed, exit code 137 (SIGKILL), OOMKilled: the container passed its memory limit (pod p3 on node n1)."
	if got := Summary(p, snapshot.Failed); got != want {
		t.Errorf("got %q", got)
	}
	p = failed(3, snapshot.Exit{Code: snapshot.NoCode, Init: []snapshot.Container{{Name: "init", State: snapshot.ContainerState{ExitCode: 2}}}})
	if got := exitText(p); !strings.Contains(got, "The init container init ended with exit code 2.") { // E046
		t.Errorf("text %q", got)
	}
}
