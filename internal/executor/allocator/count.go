package allocator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// class is how a pod counts (A7).
type class uint8

const (
	none class = iota
	isRunning
	pendingKnown
	pendingUnknown
)

// count keeps the sums of A7 up to date: a change costs the pods that changed, not those that are there.
type count struct {
	facts      *snapshot.Queue
	touched    []int64
	places     map[int64]place
	sums       map[int]*sum // by the profile on the pod's label
	unresolved map[int]int  // creates not yet seen, by profile
	badProfile map[int64]bool
	noAge      map[int64]bool // pods without a usable creationTimestamp that were said
}

type place struct {
	profile int
	class   class
}

type sum struct {
	running, pendingKnown int
	pendingUnknown        map[int64]bool
}

func newCount() count {
	return count{places: map[int64]place{}, sums: map[int]*sum{}, unresolved: map[int]int{}, badProfile: map[int64]bool{},
		noAge: map[int64]bool{}}
}

// tally is one profile's count of a round.
type tally struct {
	profile      int
	running      int
	pendingKnown int
	unknown      int // pending and not known to Spark
	unresolved   int
	sets         []map[int64]bool // the ids of unknown
}

// gather takes what changed since the last round.
func (a *Allocator) gather(act *Actions, store *snapshot.Store) {
	if a.count.facts == nil {
		a.count.facts = store.Subscribe()
		a.anyCreated = a.anyCreated || store.Len() > 0 // of an earlier life of the manager
	}
	facts := a.count.facts.Drain()
	if len(facts) > 0 {
		act.logf("DEBUG", fmt.Sprintf("Received %d snapshots", len(facts)))
	}
	for _, f := range facts {
		id := f.Pod.ID
		a.Touch(id)
		if a.denials[id] != nil {
			a.advance = append(a.advance, id)
		}
	}
}

// recount moves the changed pods to where they count now.
func (a *Allocator) recount(act *Actions, store *snapshot.Store, view View) {
	for _, id := range a.count.touched {
		p := store.Get(id)
		if c := a.creates[id]; c != nil && !c.seen && (p != nil || store.Gone(id)) {
			a.seen(act, id, c)
		}
		to := a.placeOf(act, p, view)
		from := a.count.places[id]
		if from == to {
			continue
		}
		a.count.move(id, from, -1)
		a.count.move(id, to, 1)
		if to.class == none {
			delete(a.count.places, id)
		} else {
			a.count.places[id] = to
		}
		if to.class == pendingUnknown {
			a.slow.add(p)
			clear(a.trimAt)
		}
		if p == nil {
			delete(a.count.badProfile, id)
			delete(a.count.noAge, id)
		}
	}
	a.count.touched = a.count.touched[:0]
}

// seen closes the books of a create whose pod a source has shown (A1).
func (a *Allocator) seen(act *Actions, id int64, c *create) {
	c.seen, a.anyCreated = true, true
	a.count.unresolved[c.profile]--
	if !c.inFlight {
		delete(a.creates, id)
		act.Shown = append(act.Shown, id)
	}
}

// placeOf says how a pod counts. Pods on their way out do not: those that were denied, and those that are being deleted
// and unknown to Spark (D4).
func (a *Allocator) placeOf(act *Actions, p *snapshot.Pod, view View) place {
	if p == nil || a.denials[p.ID] != nil {
		return place{}
	}
	known := view.Known(p.ID) || (a.kept.Has(p.ID) && !p.Deleting)
	if p.Deleting && !known && !a.set.CountLeaving {
		return place{}
	}
	if p.BadProfile && !a.count.badProfile[p.ID] && len(a.targets) > 1 {
		a.count.badProfile[p.ID] = true
		act.logf("WARN", "Pod "+p.Name+" has no usable label spark-exec-resourceprofile-id; it counts for profile 0.")
	}
	at := place{profile: p.Profile}
	switch {
	case p.State == snapshot.Running:
		at.class = isRunning
	case p.State == snapshot.Pending && known:
		at.class = pendingKnown
	case p.State == snapshot.Pending:
		at.class = pendingUnknown
	default:
		return place{}
	}
	return at
}

func (c *count) move(id int64, at place, by int) {
	if at.class == none {
		return
	}
	s := c.sums[at.profile]
	if s == nil {
		s = &sum{pendingUnknown: map[int64]bool{}}
		c.sums[at.profile] = s
	}
	switch {
	case at.class == isRunning:
		s.running += by
	case at.class == pendingKnown:
		s.pendingKnown += by
	case by > 0:
		s.pendingUnknown[id] = true
	default:
		delete(s.pendingUnknown, id)
	}
}

// tallies groups the sums by the profiles that Spark wants. With one profile in the table everything belongs to it (A6).
func (a *Allocator) tallies() []*tally {
	all := map[int]*tally{}
	for rp := range a.targets {
		all[rp] = &tally{profile: rp}
	}
	of := func(rp int) *tally {
		if len(a.targets) == 1 {
			for only := range a.targets {
				rp = only
			}
		}
		if all[rp] == nil {
			all[rp] = &tally{profile: rp}
		}
		return all[rp]
	}
	for rp, s := range a.count.sums {
		t := of(rp)
		t.running += s.running
		t.pendingKnown += s.pendingKnown
		t.unknown += len(s.pendingUnknown)
		t.sets = append(t.sets, s.pendingUnknown)
	}
	for rp, n := range a.count.unresolved {
		of(rp).unresolved += n
	}
	return slices.SortedFunc(maps.Values(all), func(x, y *tally) int { return cmp.Compare(x.profile, y.profile) })
}

// unknownPods returns the pending pods that Spark does not know, in ascending order of their ids.
func (t *tally) unknownPods(store *snapshot.Store) []*snapshot.Pod {
	var pods []*snapshot.Pod
	for _, set := range t.sets {
		for id := range set {
			if p := store.Get(id); p != nil {
				pods = append(pods, p)
			}
		}
	}
	slices.SortFunc(pods, func(x, y *snapshot.Pod) int { return cmp.Compare(x.ID, y.ID) })
	return pods
}
