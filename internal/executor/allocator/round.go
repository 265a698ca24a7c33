package allocator

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// Round is one run of the allocation decision (8.2 with the differences of 8.3).
func (a *Allocator) Round(store *snapshot.Store, view View, now time.Time) Actions {
	var act Actions
	a.gather(&act, store)
	a.advanceDenials(&act, store, now)
	a.recount(&act, store, view)
	tallies := a.tallies()
	a.resolve(&act, tallies, view, now)
	outstanding := a.outstanding(tallies)
	for _, t := range tallies {
		a.trim(&act, t, store, now)
		if len(act.Log) > 0 {
			act.logf("DEBUG", a.status(t))
		}
		if len(act.Log) > 0 && t.running == a.targets[t.profile] {
			act.logf("DEBUG", fmt.Sprintf("Current number of running executors for ResourceProfile Id %d is equal to the number of "+
				"requested executors. Not scaling up further.", t.profile))
		}
	}
	a.want(&act, tallies, view, outstanding, now)
	a.reserve(&act)
	a.start(&act, now)
	a.watchSlow(&act, tallies, store, now)
	return act
}

// resolve looks at unknown outcomes that are due and gives up those that are too old (A4, D1).
func (a *Allocator) resolve(act *Actions, tallies []*tally, view View, now time.Time) {
	if a.resolveAt.IsZero() || now.Before(a.resolveAt) {
		if !a.resolveAt.IsZero() {
			act.due(a.resolveAt)
		}
		return
	}
	a.resolveAt = time.Time{}
	var late []string
	for _, id := range slices.Sorted(maps.Keys(a.creates)) {
		c := a.creates[id]
		if c.seen || c.inFlight {
			continue
		}
		age := now.Sub(c.since)
		switch {
		case c.posted && view.Known(id): // registered before any source showed it: no timeout
			a.resolveBy(now.Add(a.set.Timeout))
		case age > a.set.Timeout:
			act.logf("DEBUG", fmt.Sprintf("Executor with id %d was not found in the Kubernetes cluster since it was created %d "+
				"milliseconds ago.", id, age.Milliseconds()))
			late = append(late, strconv.FormatInt(id, 10))
			act.Forget = append(act.Forget, id)
			a.forget(id, c)
			tallyOf(tallies, c.profile).unresolved--
		case c.posted:
			a.resolveBy(c.since.Add(a.set.Timeout + time.Millisecond))
		case now.Before(c.next):
			a.resolveBy(earlier(c.next, c.since.Add(a.set.Timeout+time.Millisecond)))
		default:
			c.inFlight = true
			a.window.inFlight++
			act.Resolve = append(act.Resolve, Create{ID: id, Profile: c.profile})
		}
	}
	if !a.resolveAt.IsZero() {
		act.due(a.resolveAt)
	}
	if len(late) > 0 {
		act.logf("WARN", fmt.Sprintf("Executors with ids %s were not detected in the Kubernetes cluster after %d ms despite "+
			"the fact that a previous allocation attempt tried to create them. The executors may have been deleted but the "+
			"application missed the deletion event.", strings.Join(late, ","), a.set.Timeout.Milliseconds()))
	}
}

// tallyOf finds a profile's tally; with one profile everything belongs to it.
func tallyOf(tallies []*tally, rp int) *tally {
	for _, t := range tallies {
		if t.profile == rp || len(tallies) == 1 {
			return t
		}
	}
	return &tally{profile: rp}
}

func earlier(x, y time.Time) time.Time {
	if y.Before(x) {
		return y
	}
	return x
}

// notRunning is what of a profile is not running yet, wanted creates included.
func (a *Allocator) notRunning(t *tally) int {
	return t.pendingKnown + t.unknown + t.unresolved + a.queued[t.profile]
}

// outstanding is A12's number before the round: while it is zero a creating round need not wait for the pace.
func (a *Allocator) outstanding(tallies []*tally) int {
	n := 0
	for _, t := range tallies {
		n += t.unknown + t.unresolved + a.queued[t.profile]
	}
	return n
}

// status is the allocator's DEBUG line about a profile.
func (a *Allocator) status(t *tally) string {
	return fmt.Sprintf("ResourceProfile Id: %d (pod allocation status: %d running, %d unknown pending, %d scheduler backend known "+
		"pending, %d unknown newly created, %d scheduler backend known newly created)", t.profile, t.running, t.unknown,
		t.pendingKnown, t.unresolved+a.queued[t.profile], 0)
}

// trim takes back what exceeds the target: first creates that were not sent, then pending pods that Spark does not know
// and that are older than the idle timeout: unscheduled ones first, then the youngest (A8, D7).
func (a *Allocator) trim(act *Actions, t *tally, store *snapshot.Store, now time.Time) {
	excess := t.running + a.notRunning(t) - a.targets[t.profile]
	if back := min(excess, a.queued[t.profile]); back > 0 {
		a.queued[t.profile] -= back
		excess -= back
	}
	if excess <= 0 || t.unknown == 0 {
		return
	}
	if at := a.trimAt[t.profile]; now.Before(at) {
		act.due(at)
		return
	}
	chosen := a.choose(act, t.profile, t.unknownPods(store), excess, now)
	if len(chosen) == 0 {
		return
	}
	var texts []string
	slices.SortFunc(chosen, func(x, y *snapshot.Pod) int { return cmp.Compare(x.ID, y.ID) })
	for _, p := range chosen {
		a.expel(act, t, p)
		texts = append(texts, p.IDText())
	}
	act.logf("INFO", fmt.Sprintf("Deleting %d excess pod requests (%s).", len(chosen), strings.Join(texts, ",")))
}

// choose picks at most n pending pods that are old enough to be taken back.
func (a *Allocator) choose(act *Actions, profile int, pods []*snapshot.Pod, n int, now time.Time) []*snapshot.Pod {
	var old []*snapshot.Pod
	var next time.Time
	for _, p := range pods {
		if p.Created.IsZero() && !a.count.noAge[p.ID] {
			a.count.noAge[p.ID] = true
			act.logf("ERROR", "Cannot get the creationTimestamp of the pod: "+p.Name)
		}
		if now.Sub(p.Created) > a.set.IdleTimeout {
			old = append(old, p)
		} else if at := p.Created.Add(a.set.IdleTimeout + time.Millisecond); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if len(old) < n && !next.IsZero() {
		a.trimAt[profile] = next
		act.due(next)
	}
	if !a.set.OldestFirst {
		slices.SortFunc(old, func(x, y *snapshot.Pod) int {
			return cmp.Or(boolInt(x.Node != "")-boolInt(y.Node != ""), y.Created.Compare(x.Created), cmp.Compare(y.ID, x.ID))
		})
	}
	return old[:min(n, len(old))]
}

// expel takes a pending pod out of the count and asks the driver to refuse it.
func (a *Allocator) expel(act *Actions, t *tally, p *snapshot.Pod) {
	a.denials[p.ID] = &denial{}
	a.ours.Add(p.ID)
	a.count.move(p.ID, a.count.places[p.ID], -1)
	delete(a.count.places, p.ID)
	t.unknown--
	act.Deny = append(act.Deny, p.ID)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// want puts new creates into the queue (A10, A11).
func (a *Allocator) want(act *Actions, tallies []*tally, view View, outstanding int, now time.Time) {
	slots := a.set.MaxPending
	var wanting []*tally
	for _, t := range tallies {
		slots -= a.notRunning(t)
		if t.running+a.notRunning(t) < a.targets[t.profile] && a.open(act, t, outstanding, now) {
			wanting = append(wanting, t)
		}
	}
	if slots <= 0 || len(wanting) == 0 {
		return
	}
	room := math.MaxInt
	if view.Room != nil {
		room = view.Room()
	}
	for i, share := range Split(slots, len(wanting)) {
		t := wanting[i]
		known := t.running + a.notRunning(t)
		n := min(a.targets[t.profile]-known, share, a.set.MaxPendingPerRP-a.notRunning(t))
		if a.set.Paced {
			n = min(n, a.set.BatchSize)
		}
		if a.brake(t.profile).step > 0 {
			n = min(n, 1) // one create tries whether the server takes pods again
		}
		if n > room {
			n, act.Waiting = room, true
		}
		if n <= 0 {
			continue
		}
		room -= n
		level := "INFO"
		if a.brake(t.profile).step > 0 {
			level = "DEBUG" // the refusal was said, and how long the pause is
		}
		act.logf(level, fmt.Sprintf("Going to request %d executors from Kubernetes for ResourceProfile Id: %d, target: %d, "+
			"known: %d, sharedSlotFromPendingPods: %d.", n, t.profile, a.targets[t.profile], known, share))
		a.queued[t.profile] += n
		a.rounds[t.profile] = now
		if a.set.Paced && known+n < a.targets[t.profile] {
			act.due(now.Add(a.set.BatchDelay))
		}
	}
}

// open says whether the profile may ask for pods now: its pace, its back-off and its start failures allow it.
func (a *Allocator) open(act *Actions, t *tally, outstanding int, now time.Time) bool {
	b := a.brake(t.profile)
	if at := b.openAt(); now.Before(at) {
		act.due(at)
		return false
	}
	if a.set.StockGate && t.unresolved > 0 {
		act.logf("DEBUG", fmt.Sprintf("Still waiting for %d executors for ResourceProfile Id %d before requesting more.",
			t.unresolved, t.profile))
		return false
	}
	if b.step > 0 && a.queued[t.profile]+t.unresolved > 0 {
		return false // the trying create is under way
	}
	if at := a.rounds[t.profile].Add(a.set.BatchDelay); a.set.Paced && outstanding > 0 && now.Before(at) {
		act.due(at)
		return false
	}
	return true
}

// start sends queued creates while there are ids and places in flight.
func (a *Allocator) start(act *Actions, now time.Time) {
	for _, rp := range slices.Sorted(maps.Keys(a.queued)) {
		for a.queued[rp] > 0 && a.window.free() > 0 {
			id, ok := a.ids.take()
			if !ok {
				return
			}
			a.queued[rp]--
			a.window.inFlight++
			a.creates[id] = &create{profile: rp, since: now, inFlight: true}
			a.count.unresolved[rp]++
			act.Creates = append(act.Creates, Create{ID: id, Profile: rp})
		}
	}
}
