package allocator

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// house drives an allocator against a store as the manager does, by hand and with its own clock.
type house struct {
	t     reporter
	a     *Allocator
	store *snapshot.Store
	known map[int64]bool
	now   time.Time
	next  int64
	rp    map[int64]int
	v     uint64
}

// reporter is a testing.T or a rapid.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

func newHouse(t reporter, edit func(*Settings)) *house {
	set := Settings{Paced: true, BatchSize: 5, BatchDelay: time.Second, MaxPending: math.MaxInt32, MaxPendingPerRP: math.MaxInt32,
		Maximum: math.MaxInt32, Timeout: 600 * time.Second, IdleTimeout: 10 * time.Second}
	if edit != nil {
		edit(&set)
	}
	return &house{t: t, a: New(set, 1, nil), store: snapshot.NewStore(), known: map[int64]bool{}, now: time.Unix(0, 0), next: 1, rp: map[int64]int{}}
}

// round runs rounds until no ids are asked for, and returns what the last wanted.
func (h *house) round() Actions {
	for _, p := range h.store.Pods() {
		h.a.Touch(p.ID)
	}
	act := h.a.Round(h.store, View{Known: func(id int64) bool { return h.known[id] }}, h.now)
	for act.Reserve > 0 {
		h.a.Reserved(h.next, h.next+int64(act.Reserve)-1)
		h.next += int64(act.Reserve)
		more := h.a.Round(h.store, View{Known: func(id int64) bool { return h.known[id] }}, h.now)
		more.Deny = append(act.Deny, more.Deny...)
		more.Creates = append(act.Creates, more.Creates...)
		more.Log = append(act.Log, more.Log...)
		act = more
	}
	return act
}

// created answers creates with 201 and shows the pods.
func (h *house) created(act Actions) []int64 {
	var ids []int64
	for _, c := range act.Creates {
		h.show(c.ID, c.Profile, snapshot.Pending)
		h.a.Answer(Outcome{ID: c.ID, Kind: Created, Sent: h.now}, h.now)
		ids = append(ids, c.ID)
	}
	return ids
}

func (h *house) show(id int64, rp int, s snapshot.State) {
	h.v++
	created := h.now
	if old := h.store.Get(id); old != nil {
		created = old.Created
	}
	p := &snapshot.Pod{ID: id, Name: fmt.Sprint("p", id), UID: fmt.Sprint("u", id), Profile: rp, State: s, Version: h.v, Created: created}
	h.rp[id] = rp
	h.store.Update(p, h.now)
}

func (h *house) wants(what string, got, want any) {
	h.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		h.t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestSplitE119(t *testing.T) {
	for slots, want := range map[int][]int{0: {0, 0, 0}, 1: {1, 0, 0}, 2: {1, 1, 0}, 3: {1, 1, 1}, 4: {2, 1, 1}} {
		if d := cmp.Diff(want, Split(slots, 3)); d != "" {
			t.Errorf("%d: %s", slots, d)
		}
	}
}

// E120, E121, E123: a batch, then the rest a batch delay later; ids in order.
func TestBatchesE120(t *testing.T) {
	h := newHouse(t, nil)
	h.a.SetTargets(map[int]int{0: 6})
	h.wants("first round", h.created(h.round()), []int64{1, 2, 3, 4, 5})
	act := h.round()
	h.wants("at once", len(act.Creates), 0)
	h.wants("next round", act.Next, h.now.Add(time.Second))
	h.now = h.now.Add(time.Second)
	h.wants("a second later", h.created(h.round()), []int64{6})
	h.now = h.now.Add(time.Second)
	h.wants("then", len(h.round().Creates), 0)
}

// E122: a failed pod is replaced.
func TestReplaceE122(t *testing.T) {
	h := newHouse(t, nil)
	h.a.SetTargets(map[int]int{0: 5})
	for _, id := range h.created(h.round()) {
		h.show(id, 0, snapshot.Running)
	}
	h.show(5, 0, snapshot.Failed)
	h.wants("replacement", h.created(h.round()), []int64{6})
}

// E127, E139: young pods are not trimmed; exactly at the idle timeout neither.
func TestTrimE127(t *testing.T) {
	h := newHouse(t, nil)
	h.a.SetTargets(map[int]int{0: 1})
	h.created(h.round())
	h.now = time.Unix(10, 0)
	h.a.SetTargets(map[int]int{0: 2})
	h.wants("raised", h.created(h.round()), []int64{2})
	h.a.SetTargets(map[int]int{0: 1})
	h.wants("exactly ten seconds old", len(h.round().Deny), 0)
	h.now = time.Unix(20, 0)
	h.wants("older", h.round().Deny, []int64{1})
	h.wants("ours", h.a.Ours(1), true)
	h.a.Denied([]int64{1}, nil, h.now)
	act := h.round()
	h.wants("deletes", len(act.Deletes), 1)
	h.a.Deleted(1, true, false, h.now)
	h.wants("E144: no repetition", len(h.round().Deletes), 0)
	h.store.Remove(1, nil, h.now)
	h.wants("E154: allowed when gone", h.round().Allow, []int64{1})
}

// E143: a delete that is refused for good is taken back.
func TestRefusedDeleteE143(t *testing.T) {
	h := newHouse(t, nil)
	h.a.SetTargets(map[int]int{0: 2})
	h.created(h.round())
	h.a.SetTargets(map[int]int{0: 1})
	h.now = time.Unix(20, 0)
	act := h.round()
	h.wants("youngest first E159", act.Deny, []int64{2})
	h.a.Denied(act.Deny, nil, h.now)
	for range 3 {
		h.wants("deletes", len(h.round().Deletes), 1)
		h.a.Deleted(2, false, true, h.now)
		h.now = h.now.Add(time.Minute)
	}
	h.wants("allowed", h.round().Allow, []int64{2})
}

// E130: two profiles.
func TestProfilesE130(t *testing.T) {
	h := newHouse(t, nil)
	h.a.SetTargets(map[int]int{0: 1, 7: 2})
	h.wants("first", h.created(h.round()), []int64{1, 2, 3})
	for id, rp := range h.rp {
		h.show(id, rp, snapshot.Running)
	}
	h.a.SetTargets(map[int]int{0: 4, 7: 3})
	h.wants("second", h.created(h.round()), []int64{4, 5, 6, 7})
	h.show(4, 0, snapshot.Running)
	h.wants("nothing", len(h.round().Creates), 0)
	h.now = time.Unix(20, 0)
	h.a.SetTargets(map[int]int{0: 1, 7: 1})
	h.wants("trimmed", slices.Sorted(slices.Values(h.round().Deny)), []int64{5, 6, 7})
}

// E132: the pending limit is shared.
func TestMaxPendingE132(t *testing.T) {
	h := newHouse(t, func(s *Settings) { s.MaxPending = 3 })
	h.a.SetTargets(map[int]int{0: 2, 7: 3})
	h.wants("first", h.created(h.round()), []int64{1, 2, 3})
	h.show(1, 0, snapshot.Running)
	h.now = h.now.Add(time.Second)
	h.wants("one slot", h.created(h.round()), []int64{4})
	h.now = h.now.Add(time.Second)
	h.wants("none", len(h.round().Creates), 0)
}

// E133: the pending limit of each profile.
func TestMaxPendingPerProfileE133(t *testing.T) {
	h := newHouse(t, func(s *Settings) { s.MaxPending, s.MaxPendingPerRP = 10, 2 })
	h.a.SetTargets(map[int]int{0: 5, 7: 5})
	h.wants("first", len(h.created(h.round())), 4)
	h.show(1, 0, snapshot.Running)
	h.now = h.now.Add(time.Second)
	h.wants("one more", len(h.created(h.round())), 1)
}

// E134: the number of ids is limited; it is said once.
func TestMaximumE134(t *testing.T) {
	h := newHouse(t, func(s *Settings) { s.Maximum, s.BatchSize = 4, 20 })
	h.a.SetTargets(map[int]int{0: 10})
	act := h.round()
	h.wants("pods", len(h.created(act)), 4)
	said := 0
	for range 5 {
		h.now = h.now.Add(2 * time.Second)
		act := h.round()
		h.wants("creates", len(act.Creates), 0)
		for _, l := range act.Log {
			if l.Text == "Exceed the pod creation limit: 4" {
				said++
			}
		}
	}
	h.wants("said at most once afterwards", said <= 1, true)
}

// E124, E125: an unknown outcome is looked at again and given up after the timeout.
func TestUnknownE124(t *testing.T) {
	h := newHouse(t, nil)
	h.a.SetTargets(map[int]int{0: 1})
	h.round()
	h.a.Answer(Outcome{ID: 1, Kind: Lost}, h.now)
	act := h.round()
	h.wants("looked at at once", act.Resolve, []Create{{ID: 1}})
	h.a.Answer(Outcome{ID: 1, Kind: Lost}, h.now)
	h.wants("then after ten seconds", h.round().Next, h.now.Add(10*time.Second))
	h.now = time.Unix(600, 0)
	h.wants("at the timeout", len(h.round().Forget), 0)
	h.a.Answer(Outcome{ID: 1, Kind: Lost}, h.now)
	h.now = h.now.Add(time.Millisecond)
	act = h.round()
	h.wants("past it", act.Forget, []int64{1})
	h.wants("a new one", h.created(act), []int64{2})
}

// E145, E146: pods that leave and that Spark forgot are not counted; killed ones still running are.
func TestLeavingE145(t *testing.T) {
	h := newHouse(t, nil)
	h.a.SetTargets(map[int]int{0: 1})
	h.created(h.round())
	h.show(1, 0, snapshot.Running)
	h.known[1] = true
	p := *h.store.Get(1)
	p.Deleting, p.Version = true, p.Version+1
	h.store.Update(&p, h.now)
	h.wants("still known", len(h.round().Creates), 0)
	delete(h.known, 1)
	h.wants("forgotten", h.created(h.round()), []int64{2})
}

// E188: executors that die before they register slow creation down.
func TestStartFailuresE188(t *testing.T) {
	h := newHouse(t, nil)
	h.a.SetTargets(map[int]int{0: 1})
	for range 3 {
		h.a.StartFailed(0, h.now)
	}
	h.wants("three are free", len(h.round().Creates), 1)
	h.a.Answer(Outcome{ID: 1, Kind: Created}, h.now)
	h.store.Replace(snapshot.List{})
	h.a.StartFailed(0, h.now)
	h.wants("the fourth waits", len(h.round().Creates), 0)
	h.now = h.now.Add(2 * time.Second)
	h.wants("two seconds", len(h.created(h.round())), 1)
	h.a.StartFailed(0, h.now)
	h.a.Registered(0)
	h.wants("reset", h.a.brake(0).openAt().IsZero(), true)
}

// The window of creates in flight: it grows while a round of answers is as fast as the best one, halves when one takes twice as long,
// and once for a burst of 429.
func TestWindow(t *testing.T) {
	w := newWindow()
	now := time.Unix(0, 0)
	answers := func(n int, latency time.Duration, slowDown bool) {
		for range n {
			w.inFlight++
			w.answered(latency, slowDown, now, now)
		}
	}
	is := func(what string, want int) {
		t.Helper()
		if w.size != want || w.inFlight != 0 {
			t.Errorf("%s: the window is %d, want %d (%d in flight)", what, w.size, want, w.inFlight)
		}
	}
	answers(1, 3*time.Millisecond, false)
	answers(31, 150*time.Millisecond, false)
	is("one quick answer among slow ones", 40)
	answers(40, 180*time.Millisecond, false)
	is("latency is flat", 48)
	answers(48, 250*time.Millisecond, false)
	is("latency rises", 48)
	now = now.Add(time.Second)
	answers(48, 400*time.Millisecond, false)
	is("latency has doubled", 24)
	answers(24, 300*time.Millisecond, false)
	is("the server has become slower for good", 32)
	now = now.Add(time.Second)
	answers(5, 300*time.Millisecond, true)
	is("a burst of 429", 16)
	answers(16, 0, false)
	is("nothing was sent", 16)
	answers(10_000, 10*time.Millisecond, false)
	is("a quick server", windowMax)
}

// E138: whatever happens in whatever order, no create goes past the target or the pending limit.
func TestInvariantE138(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "") }
		limit := 1 + draw(8)
		h := newHouse(t, func(s *Settings) { s.Paced, s.MaxPending = draw(2) == 0, limit })
		h.a.SetTargets(map[int]int{0: draw(10)})
		var open []Create
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			h.now = h.now.Add(time.Duration(draw(3000)) * time.Millisecond)
			open = h.disturb(draw, open)
			act := h.round()
			h.check(act, limit)
			open = append(open, act.Creates...)
			open = append(open, act.Resolve...)
			if len(act.Deny) > 0 {
				h.a.Denied(act.Deny, act.Deny[:draw(len(act.Deny)+1)], h.now)
			}
			for _, p := range act.Deletes {
				h.a.Deleted(p.ID, draw(3) > 0, false, h.now)
			}
		}
	})
}

// disturb lets one random thing happen.
func (h *house) disturb(draw func(int) int, open []Create) []Create {
	pods := h.store.Pods()
	switch n := draw(10); {
	case n == 0:
		h.a.SetTargets(map[int]int{0: draw(10)})
	case n < 6 && len(open) > 0:
		i := draw(len(open))
		c := open[i]
		open = slices.Delete(open, i, i+1)
		kind := []Kind{Created, Created, Created, Busy, Lost, Skipped, Refused}[draw(7)]
		if kind == Created || (kind == Lost && draw(2) == 0) {
			h.show(c.ID, c.Profile, snapshot.Pending)
		}
		h.a.Answer(Outcome{ID: c.ID, Kind: kind, Sent: h.now}, h.now)
	case n < 8 && len(pods) > 0:
		p := pods[draw(len(pods))]
		if p.State == snapshot.Pending {
			h.show(p.ID, 0, snapshot.Running)
			h.known[p.ID] = draw(2) == 0
		} else {
			h.show(p.ID, 0, snapshot.Failed)
			delete(h.known, p.ID)
		}
	case n == 8 && len(pods) > 0:
		p := pods[draw(len(pods))]
		h.store.Remove(p.ID, nil, h.now)
		delete(h.known, p.ID)
	}
	return open
}

// check counts what is there and on its way after a round that creates.
func (h *house) check(act Actions, limit int) {
	if len(act.Creates) == 0 {
		return
	}
	running, notRunning := 0, 0
	for _, p := range h.store.Pods() {
		if h.a.denials[p.ID] != nil {
			continue
		}
		switch p.State {
		case snapshot.Running:
			running++
		case snapshot.Pending:
			notRunning++
		}
	}
	for id := range h.a.creates {
		if h.store.Get(id) == nil && !h.store.Gone(id) {
			notRunning++
		}
	}
	if target := h.a.targets[0]; running+notRunning > target || notRunning > limit {
		h.t.Errorf("%d running and %d not running with target %d and limit %d", running, notRunning, target, limit)
	}
}
