package allocator

import (
	"maps"
	"slices"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// denial is one excess pod.
type denial struct {
	answered bool // the driver refuses it from now on
	inFlight bool
	done     bool // the server accepted the delete
	tries    int
	next     time.Time
}

// Denied tells the driver's answer to Deny: those that had registered before are kept and counted again.
func (a *Allocator) Denied(ids, registered []int64, now time.Time) {
	for _, id := range ids {
		d := a.denials[id]
		if d == nil {
			continue
		}
		if slices.Contains(registered, id) {
			delete(a.denials, id)
			a.ours.Remove(id)
			a.kept.Add(id)
			a.Touch(id)
			continue
		}
		d.answered, d.next = true, now
		a.advance = append(a.advance, id)
	}
}

// DenyFailed tells that the driver did not answer: the pods are counted again and may be chosen again.
func (a *Allocator) DenyFailed(ids []int64) {
	for _, id := range ids {
		delete(a.denials, id)
		a.ours.Remove(id)
		a.Touch(id)
	}
}

// Deleted tells the outcome of a delete of a denied pod: refused means an error that no repetition heals.
func (a *Allocator) Deleted(id int64, ok, refused bool, now time.Time) {
	d := a.denials[id]
	if d == nil {
		return
	}
	d.inFlight = false
	a.advance = append(a.advance, id)
	if ok {
		d.done = true
		return
	}
	if d.tries++; !refused {
		d.tries = min(d.tries, 6)
	}
	d.next = now.Add(min(backoffMax, backoffFirst<<min(d.tries-1, 6)))
	if refused && d.tries >= 3 {
		d.next, d.answered, d.done = time.Time{}, false, true // given up: allowed again in the next round
	}
}

// advanceDenials sends due deletes of denied pods and closes the books of those that are gone (A9, D3).
func (a *Allocator) advanceDenials(act *Actions, store *snapshot.Store, now time.Time) {
	if !a.denialAt.IsZero() && !now.Before(a.denialAt) {
		a.advance, a.denialAt = slices.AppendSeq(a.advance, maps.Keys(a.denials)), time.Time{}
	}
	if len(a.advance) > 0 {
		slices.Sort(a.advance)
		for _, id := range slices.Compact(a.advance) {
			if d := a.denials[id]; d != nil {
				a.advanceOne(act, store, id, d, now)
			}
		}
		a.advance = nil
	}
	if !a.denialAt.IsZero() {
		act.due(a.denialAt)
	}
}

func (a *Allocator) advanceOne(act *Actions, store *snapshot.Store, id int64, d *denial, now time.Time) {
	p := store.Get(id)
	switch {
	case d.done && !d.answered: // the delete is refused for good
		delete(a.denials, id)
		a.ours.Remove(id)
		a.Touch(id)
		act.Allow = append(act.Allow, id)
	case p == nil && d.answered && !d.inFlight:
		delete(a.denials, id)
		act.Allow = append(act.Allow, id)
	case !d.answered || d.inFlight || d.done || p == nil || p.Deleting:
	case now.Before(d.next):
		if a.denialAt.IsZero() || d.next.Before(a.denialAt) {
			a.denialAt = d.next
		}
	default:
		d.inFlight = true
		act.Deletes = append(act.Deletes, p)
	}
}
