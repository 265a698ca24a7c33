package allocator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// tally is one profile's count of a round (A7).
type tally struct {
	profile        int
	running        int
	pendingKnown   int
	pendingUnknown []*snapshot.Pod
	unresolved     int
}

// Round is one run of the allocation decision (8.2 with the differences of 8.3).
func (a *Allocator) Round(store *snapshot.Store, view View, now time.Time) Actions {
	var act Actions
	a.resolve(&act, store, now)
	a.advanceDenials(&act, store, now)
	tallies := a.count(&act, store, view)
	outstanding := a.outstanding(tallies)
	for _, t := range tallies {
		a.trim(&act, t, now)
	}
	a.want(&act, tallies, outstanding, now)
	a.reserve(&act)
	a.start(&act, now)
	a.warnSlow(&act, tallies, now)
	return act
}

// resolve closes the books of creates that were seen, looks at unknown outcomes that are due and gives up those that are
// too old (A1, A4, D1).
func (a *Allocator) resolve(act *Actions, store *snapshot.Store, now time.Time) {
	var late []string
	for _, id := range slices.Sorted(maps.Keys(a.creates)) {
		c := a.creates[id]
		if store.Get(id) != nil || store.Gone(id) {
			c.seen, a.anyCreated = true, true
			if !c.inFlight {
				delete(a.creates, id)
			}
			continue
		}
		if now.Sub(c.since) > a.set.Timeout {
			if !c.inFlight {
				late = append(late, strconv.FormatInt(id, 10))
				act.Forget = append(act.Forget, id)
				delete(a.creates, id)
			}
			continue
		}
		act.due(c.since.Add(a.set.Timeout + time.Millisecond))
		if c.inFlight {
			continue
		}
		if now.Before(c.next) {
			act.due(c.next)
			continue
		}
		c.inFlight = true
		a.window.inFlight++
		act.Resolve = append(act.Resolve, Create{ID: id, Profile: c.profile})
	}
	if len(late) > 0 {
		act.logf("WARN", fmt.Sprintf("Executors with ids %s were not detected in the Kubernetes cluster after %d ms despite "+
			"the fact that a previous allocation attempt tried to create them. The executors may have been deleted but the "+
			"application missed the deletion event.", strings.Join(late, ","), a.set.Timeout.Milliseconds()))
	}
}

// advanceDenials sends due deletes of denied pods and closes the books of those that are gone (A9, D3).
func (a *Allocator) advanceDenials(act *Actions, store *snapshot.Store, now time.Time) {
	for _, id := range slices.Sorted(maps.Keys(a.denials)) {
		d, p := a.denials[id], store.Get(id)
		switch {
		case d.done && !d.answered: // the delete is refused for good
			delete(a.denials, id)
			a.ours.Remove(id)
			act.Allow = append(act.Allow, id)
		case p == nil && d.answered && !d.inFlight:
			delete(a.denials, id)
			act.Allow = append(act.Allow, id)
		case !d.answered || d.inFlight || d.done || p == nil || p.Deleting:
		case now.Before(d.next):
			act.due(d.next)
		default:
			d.inFlight = true
			act.Deletes = append(act.Deletes, p)
		}
	}
}

// count groups the pods by profile (A6, A7). Pods on their way out are not counted: those that were denied, and those that
// are being deleted and unknown to Spark (D4).
func (a *Allocator) count(act *Actions, store *snapshot.Store, view View) []*tally {
	byProfile := map[int]*tally{}
	for rp := range a.targets {
		byProfile[rp] = &tally{profile: rp}
	}
	for _, p := range store.Pods() {
		known := view.Known(p.ID) || (a.kept.Has(p.ID) && !p.Deleting)
		if a.denials[p.ID] != nil || (p.Deleting && !known) {
			continue
		}
		if p.BadProfile && len(a.targets) > 1 {
			a.warnProfile(act, p)
		}
		a.tallyOf(byProfile, p.Profile).add(p, known)
	}
	for _, c := range a.creates {
		if !c.seen {
			a.tallyOf(byProfile, c.profile).unresolved++
		}
	}
	return slices.SortedFunc(maps.Values(byProfile), func(x, y *tally) int { return cmp.Compare(x.profile, y.profile) })
}

// tallyOf finds the count of a profile. With one profile in the table everything belongs to it (A6).
func (a *Allocator) tallyOf(all map[int]*tally, rp int) *tally {
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

func (t *tally) add(p *snapshot.Pod, known bool) {
	switch {
	case p.State == snapshot.Running:
		t.running++
	case p.State == snapshot.Pending && known:
		t.pendingKnown++
	case p.State == snapshot.Pending:
		t.pendingUnknown = append(t.pendingUnknown, p)
	}
}

func (a *Allocator) warnProfile(act *Actions, p *snapshot.Pod) {
	if !a.badRP[p.UID] {
		a.badRP[p.UID] = true
		act.logf("WARN", "Pod "+p.Name+" has no usable label spark-exec-resourceprofile-id; it counts for profile 0.")
	}
}

func (a *Allocator) notRunning(t *tally) int {
	return t.pendingKnown + len(t.pendingUnknown) + t.unresolved + a.queued[t.profile]
}

// outstanding is A12's number before the round: while it is zero a creating round need not wait for the pace.
func (a *Allocator) outstanding(tallies []*tally) int {
	n := 0
	for _, t := range tallies {
		n += len(t.pendingUnknown) + t.unresolved + a.queued[t.profile]
	}
	return n
}

// trim takes back what exceeds the target: first creates that were not sent, then pending pods that Spark does not know
// and that are older than the idle timeout: unscheduled ones first, then the youngest (A8, D7).
func (a *Allocator) trim(act *Actions, t *tally, now time.Time) {
	excess := t.running + a.notRunning(t) - a.targets[t.profile]
	if back := min(excess, a.queued[t.profile]); back > 0 {
		a.queued[t.profile] -= back
		excess -= back
	}
	if excess <= 0 {
		return
	}
	var old []*snapshot.Pod
	for _, p := range t.pendingUnknown {
		if now.Sub(p.Created) > a.set.IdleTimeout {
			old = append(old, p)
		} else {
			act.due(p.Created.Add(a.set.IdleTimeout + time.Millisecond))
		}
	}
	slices.SortFunc(old, func(x, y *snapshot.Pod) int {
		return cmp.Or(cmp.Compare(len(x.Node), len(y.Node))*boolInt((x.Node == "") != (y.Node == "")),
			y.Created.Compare(x.Created), cmp.Compare(y.ID, x.ID))
	})
	chosen := old[:min(excess, len(old))]
	if len(chosen) == 0 {
		return
	}
	var texts []string
	for _, p := range chosen {
		a.denials[p.ID] = &denial{}
		a.ours.Add(p.ID)
		act.Deny = append(act.Deny, p.ID)
	}
	slices.Sort(act.Deny)
	for _, p := range slices.SortedFunc(slices.Values(chosen), func(x, y *snapshot.Pod) int { return cmp.Compare(x.ID, y.ID) }) {
		texts = append(texts, p.IDText())
	}
	t.pendingUnknown = slices.DeleteFunc(t.pendingUnknown, func(p *snapshot.Pod) bool { return a.denials[p.ID] != nil })
	act.logf("INFO", fmt.Sprintf("Deleting %d excess pod requests (%s).", len(chosen), strings.Join(texts, ",")))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// want puts new creates into the queue (A10, A11).
func (a *Allocator) want(act *Actions, tallies []*tally, outstanding int, now time.Time) {
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
		if n <= 0 {
			continue
		}
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
			act.Creates = append(act.Creates, Create{ID: id, Profile: rp})
		}
	}
}

// slowAfter is how long a pod may pend before the log says why, and how often it is said again (D8).
const slowAfter = 5 * time.Minute

func (a *Allocator) warnSlow(act *Actions, tallies []*tally, now time.Time) {
	pending := map[int64]bool{}
	for _, t := range tallies {
		for _, p := range t.pendingUnknown {
			pending[p.ID] = true
			since, ok := a.slow[p.ID]
			if !ok {
				since = p.Created
				if since.IsZero() || since.After(now) {
					since = now
				}
				a.slow[p.ID] = since
			}
			if now.Sub(since) >= slowAfter {
				a.slow[p.ID], since = now, now
				act.logf("WARN", "Executor pod "+p.Name+" has been pending for "+now.Sub(p.Created).Round(time.Second).String()+
					": "+sentence(cmp.Or(p.Waiting, "the server gives no reason")))
			}
			act.due(since.Add(slowAfter))
		}
	}
	maps.DeleteFunc(a.slow, func(id int64, _ time.Time) bool { return !pending[id] })
}
