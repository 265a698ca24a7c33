package allocator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// slowAfter is how long a pod may pend before the log says why, and how often it is said again (D8).
const slowAfter = 5 * time.Minute

// slow remembers the pods that pend. It is looked at when the first of them is due, not with each event.
type slow struct {
	waits map[int64]wait
	added []int64
	at    time.Time // the next look
}

type wait struct {
	since time.Time // creation of the pod
	said  time.Time // zero: never
}

func newSlow() slow { return slow{waits: map[int64]wait{}} }

// add begins to watch a pod that pends and that Spark does not know.
func (s *slow) add(p *snapshot.Pod) {
	if _, ok := s.waits[p.ID]; !ok {
		s.waits[p.ID] = wait{since: p.Created}
		s.added = append(s.added, p.ID)
	}
}

// next is when a pod is due.
func (a *Allocator) nextSlow(w wait) time.Time {
	at := w.since.Add(slowAfter)
	if !w.said.IsZero() {
		at = w.said.Add(slowAfter)
	}
	if limit := a.set.PendingTimeout; limit > 0 {
		at = earlier(at, w.since.Add(limit))
	}
	return at
}

func (a *Allocator) dueSlow(w wait) {
	if at := a.nextSlow(w); a.slow.at.IsZero() || at.Before(a.slow.at) {
		a.slow.at = at
	}
}

// watchSlow says why pods pend for long, and takes back those that pend longer than the user allows.
func (a *Allocator) watchSlow(act *Actions, tallies []*tally, store *snapshot.Store, now time.Time) {
	for _, id := range a.slow.added {
		w := a.slow.waits[id]
		if w.since.IsZero() || w.since.After(now) {
			w.since = now
			a.slow.waits[id] = w
		}
		a.dueSlow(w)
	}
	a.slow.added = a.slow.added[:0]
	if !a.slow.at.IsZero() && !now.Before(a.slow.at) {
		a.slow.at = time.Time{}
		for _, id := range slices.Sorted(maps.Keys(a.slow.waits)) {
			a.lookSlow(act, tallies, store, id, a.slow.waits[id], now)
		}
	}
	if !a.slow.at.IsZero() {
		act.due(a.slow.at)
	}
}

func (a *Allocator) lookSlow(act *Actions, tallies []*tally, store *snapshot.Store, id int64, w wait, now time.Time) {
	p := store.Get(id)
	if p == nil || a.count.places[id].class != pendingUnknown {
		delete(a.slow.waits, id)
		return
	}
	age := now.Sub(w.since)
	why := sentence(cmp.Or(p.Waiting, "the server gives no reason"))
	if limit := a.set.PendingTimeout; limit > 0 && age >= limit {
		act.logf("WARN", fmt.Sprintf("Executor pod %s has been pending for %s and is replaced: %s", p.Name, age.Round(time.Second), why))
		a.expel(act, tallyOf(tallies, a.count.places[id].profile), p)
		a.StartFailed(p.Profile, now)
		delete(a.slow.waits, id)
		return
	}
	if !now.Before(a.nextSlow(w)) {
		w.said = now
		a.slow.waits[id] = w
		act.logf("WARN", fmt.Sprintf("Executor pod %s has been pending for %s: %s", p.Name, age.Round(time.Second), why))
	}
	a.dueSlow(w)
}
