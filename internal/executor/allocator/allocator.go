package allocator

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// idBlock is how many ids are reserved at a time (design, decided 9).
const idBlock = 100

// Allocator holds the books. It belongs to one goroutine.
type Allocator struct {
	set     Settings
	targets map[int]int
	queued  map[int]int       // wanted creates that wait for a place in flight
	creates map[int64]*create // posted, not yet seen
	denials map[int64]*denial // excess pods on their way out: A9
	ours    snapshot.IDSet    // ever denied
	kept    snapshot.IDSet    // registered before they could be denied: never chosen again
	brakes  map[int]*brake
	rounds  map[int]time.Time // start of the last creating round
	slow    map[int64]time.Time
	badRP   map[string]bool
	window  window
	ids     ids

	anyCreated bool // an executor pod was created once: refusals no longer end the application
	refusals   int
	refusal    string
}

// create is one pod on its way: counted as not running until it is seen, refused, absent, or out of time.
type create struct {
	profile  int
	since    time.Time
	inFlight bool
	seen     bool
	checks   int
	next     time.Time // of the next look at an unknown outcome
}

// denial is one excess pod.
type denial struct {
	answered bool // the driver refuses it from now on
	inFlight bool
	done     bool // the server accepted the delete
	tries    int
	next     time.Time
}

// New makes an allocator. nextID is the first id never reserved; denied are the excess pods of an earlier life.
func New(set Settings, nextID int64, denied []int64) *Allocator {
	a := &Allocator{set: set, targets: map[int]int{}, queued: map[int]int{}, creates: map[int64]*create{},
		denials: map[int64]*denial{}, brakes: map[int]*brake{}, rounds: map[int]time.Time{}, slow: map[int64]time.Time{},
		badRP: map[string]bool{}, window: newWindow(), ids: ids{reserved: max(0, nextID-1)}}
	for _, id := range denied {
		a.denials[id] = &denial{answered: true}
		a.ours.Add(id)
	}
	return a
}

// SetTargets takes the wanted totals: entries overwrite, profiles that are absent keep theirs (B6).
func (a *Allocator) SetTargets(totals map[int]int) { maps.Copy(a.targets, totals) }

// Targets returns a copy of the wanted totals.
func (a *Allocator) Targets() map[int]int { return maps.Clone(a.targets) }

// Ours says whether the allocator chose to delete the executor.
func (a *Allocator) Ours(id int64) bool { return a.ours.Has(id) }

// Unresolved says whether the executor's create is under way or its outcome unknown.
func (a *Allocator) Unresolved(id int64) bool {
	c := a.creates[id]
	return c != nil && !c.seen
}

// InFlight is the number of creates that wait for an answer.
func (a *Allocator) InFlight() int { return a.window.inFlight }

func (a *Allocator) brake(profile int) *brake {
	b := a.brakes[profile]
	if b == nil {
		b = &brake{}
		a.brakes[profile] = b
	}
	return b
}

// Registered tells that an executor of the profile registered: executors do start.
func (a *Allocator) Registered(profile int) {
	b := a.brake(profile)
	b.startFails, b.startUntil = 0, time.Time{}
}

// StartFailed tells that an executor of the profile ended before it registered.
func (a *Allocator) StartFailed(profile int, now time.Time) { a.brake(profile).startFailure(now) }

// Answer tells the outcome of a create or of the look at an unknown one. fatal is a text that ends the application.
func (a *Allocator) Answer(o Outcome, now time.Time) (log []Line, fatal string) {
	c := a.creates[o.ID]
	if c == nil || !c.inFlight {
		return nil, ""
	}
	c.inFlight = false
	a.window.answered(o.Latency, o.Throttled, o.Sent, now)
	b := a.brake(c.profile)
	switch o.Kind {
	case Created:
		b.succeeded(o)
		a.anyCreated, a.refusals = true, 0
		delete(a.creates, o.ID)
		return nil, ""
	case Lost:
		c.next = now.Add([]time.Duration{0, 10 * time.Second, 30 * time.Second, time.Minute}[min(c.checks, 3)])
		c.checks++
		return nil, ""
	case Skipped:
		delete(a.creates, o.ID)
		return a.skipped(b, now), ""
	}
	delete(a.creates, o.ID)
	a.queued[c.profile] = 0 // the rest asks again after the pause, with fresh counts
	b.failed(o, now)
	return b.warn(c.profile, o, now), a.permanent(o)
}

// permanent ends an application whose pods are refused for the same reason three times before any pod was ever created
// (18.3).
func (a *Allocator) permanent(o Outcome) string {
	if o.Kind != Permanent && o.Kind != Refused || a.anyCreated {
		a.refusals = 0
		return ""
	}
	if o.Text != a.refusal {
		a.refusals, a.refusal = 0, o.Text
	}
	if a.refusals++; a.refusals < 3 {
		return ""
	}
	return o.Text
}

func (a *Allocator) skipped(b *brake, now time.Time) []Line {
	if b.skips++; b.skips < 100 {
		return nil
	}
	b.until = now.Add(time.Second)
	if b.skips > 100 {
		return nil
	}
	return []Line{{"WARN", "100 executor pod names in a row are taken by pods of others; set " +
		"spark.kubernetes.executor.podNamePrefix to a prefix of your own."}}
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
			continue
		}
		d.answered, d.next = true, now
	}
}

// DenyFailed tells that the driver did not answer: the pods are counted again and may be chosen again.
func (a *Allocator) DenyFailed(ids []int64) {
	for _, id := range ids {
		delete(a.denials, id)
		a.ours.Remove(id)
	}
}

// Deleted tells the outcome of a delete of a denied pod: refused means an error that no repetition heals.
func (a *Allocator) Deleted(id int64, ok, refused bool, now time.Time) {
	d := a.denials[id]
	if d == nil {
		return
	}
	d.inFlight = false
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

// ids hands out reserved executor ids.
type ids struct {
	reserved int64 // highest id ever reserved
	skip     int64 // ids up to this one belong to pods of an earlier life
	blocks   [][2]int64
	asking   bool
	said     bool
}

// Reserved takes a block of ids, both ends inclusive. A failed reservation has from > to.
func (a *Allocator) Reserved(from, to int64) {
	a.ids.asking = false
	if from <= to {
		a.ids.reserved = max(a.ids.reserved, to)
		a.ids.blocks = append(a.ids.blocks, [2]int64{from, to})
	}
}

// SkipIDs keeps ids up to highest out of use: pods of an earlier life of the driver carry them.
func (a *Allocator) SkipIDs(highest int64) { a.ids.skip = max(a.ids.skip, highest) }

func (i *ids) take() (int64, bool) {
	for len(i.blocks) > 0 {
		b := &i.blocks[0]
		b[0] = max(b[0], i.skip+1)
		if b[0] > b[1] {
			i.blocks = i.blocks[1:]
			continue
		}
		b[0]++
		return b[0] - 1, true
	}
	return 0, false
}

func (i *ids) left() int64 {
	var n int64
	for _, b := range i.blocks {
		n += max(0, b[1]-max(b[0], i.skip+1)+1)
	}
	return n
}

// reserve asks for ids when the queue needs more than there are.
func (a *Allocator) reserve(act *Actions) {
	wanted := 0
	for _, n := range a.queued {
		wanted += n
	}
	if a.ids.asking || int64(wanted) <= a.ids.left() {
		return
	}
	n := min(idBlock, a.set.Maximum-a.ids.reserved)
	if n > 0 {
		act.Reserve, a.ids.asking = int(n), true
		return
	}
	if a.ids.left() == 0 {
		clear(a.queued)
	}
	if !a.ids.said {
		a.ids.said = true
		act.logf("ERROR", fmt.Sprintf("Exceed the pod creation limit: %d", a.set.Maximum))
	}
}
