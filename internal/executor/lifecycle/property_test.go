package lifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// history is a lifecycle manager and what really became of its pods.
type history struct {
	*rapid.T
	m       *Manager
	set     Settings
	view    View
	ended   map[int64]bool // the pod failed, finished or is gone
	crashed map[int64]bool // it failed
	removed map[int64]bool
	counted int
	calls   map[int64]bool // a clean-up is under way
	refused map[int64]bool // and was refused: it must come again
	gone    map[int64]bool
}

// L2 to L5 and L9, as a property over random histories: each end is told once and none is invented; what counts is a failure
// of the application's own; one clean-up at a time, again after it was refused and not after it was done.
func TestEndsAreToldOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{T: t, set: settings(), view: view(), ended: map[int64]bool{}, crashed: map[int64]bool{}, removed: map[int64]bool{},
			calls: map[int64]bool{}, refused: map[int64]bool{}, gone: map[int64]bool{}}
		h.set.DeleteOnTermination = rapid.Bool().Draw(t, "deletes")
		h.set.MaxFailures = 3
		h.m = New(h.set, nil, nil)
		now := time.Unix(1000, 0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Second)
			h.step(rapid.Int64Range(1, 4).Draw(t, "id"), now)
		}
	})
}

func (h *history) step(id int64, now time.Time) {
	switch rapid.IntRange(0, 7).Draw(h.T, "what") {
	case 0:
		h.view.Known[id] = now
	case 1: // the pod ends, or is seen once more
		if !h.gone[id] {
			h.ended[id], h.crashed[id] = true, true
			h.run(now, snapshot.Fact{Pod: failed(id, snapshot.Exit{Code: 1}), State: snapshot.Failed})
		}
	case 2: // it is deleted by somebody: an event says so, or a list does not have it
		list := rapid.Bool().Draw(h.T, "list")
		_, known := h.view.Known[id]
		if !h.gone[id] && (!known || !list) {
			h.ended[id], h.gone[id] = true, true
			h.refused[id], h.calls[id] = false, false
			h.run(now, snapshot.Fact{Pod: &snapshot.Pod{ID: id, Name: fmt.Sprint("p", id)}, State: snapshot.Deleted, Gone: true, List: list})
		} else if !h.gone[id] { // no proof: the executor may work
			h.run(now, snapshot.Fact{Pod: &snapshot.Pod{ID: id, Name: fmt.Sprint("p", id)}, State: snapshot.Deleted, List: list})
		}
	case 3, 4: // a clean-up is answered
		if h.calls[id] {
			ok := rapid.Bool().Draw(h.T, "ok")
			h.calls[id], h.refused[id] = false, !ok
			h.m.Cleaned(id, ok)
		}
	case 5: // the cluster does not know the pod: a read by name proved it
		if h.gone[id] {
			h.judge(h.m.ConfirmMissing(id, now, now, now))
		}
	case 6: // a manager that takes over is told what was reported
		h.m = New(h.set, h.told(), nil)
		h.counted = 0
		clear(h.calls)
		clear(h.refused)
	default:
		h.run(now)
	}
}

func (h *history) told() []int64 {
	var ids []int64
	for id := range h.removed {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (h *history) run(now time.Time, facts ...snapshot.Fact) {
	due := map[int64]bool{}
	for id := range h.refused {
		due[id] = h.refused[id]
	}
	d := h.m.Run(facts, h.view, now)
	h.judge(d)
	for _, p := range slices.Concat(d.Deletes, d.Labels) {
		if h.calls[p.ID] || h.gone[p.ID] || !h.ended[p.ID] {
			h.Fatalf("a clean-up of pod %d: under way %t, gone %t, ended %t", p.ID, h.calls[p.ID], h.gone[p.ID], h.ended[p.ID])
		}
		h.calls[p.ID], h.refused[p.ID] = true, false
		delete(due, p.ID)
	}
	for id, waits := range due {
		if waits {
			h.Fatalf("the refused clean-up of pod %d does not come again", id)
		}
	}
	if d.Exit && h.counted <= h.set.MaxFailures {
		h.Fatalf("the end after %d failures", h.counted)
	}
}

func (h *history) judge(d Decision) {
	for _, r := range d.Removals {
		if h.removed[r.ID] || !h.ended[r.ID] {
			h.Fatalf("the end of executor %d: told before %t, true %t", r.ID, h.removed[r.ID], h.ended[r.ID])
		}
		h.removed[r.ID] = true
		if r.Counts {
			h.counted++
		}
		if r.Counts && (!r.CausedByApp || !h.crashed[r.ID]) {
			h.Fatalf("%+v counts", r)
		}
	}
}
