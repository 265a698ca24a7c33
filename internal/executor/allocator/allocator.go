package allocator

import (
	"maps"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// landsWithin is how long a create without an answer may still take effect. A look after that time that finds no pod gives
// the id up: the pod may have lived and died unseen, and an id is never used twice.
const landsWithin = 10 * time.Second

// Allocator holds the books. It belongs to one goroutine.
type Allocator struct {
	set     Settings
	targets map[int]int
	queued  map[int]int       // wanted creates that wait for a place in flight
	creates map[int64]*create // posted, not yet seen or refused
	denials map[int64]*denial // excess pods on their way out: A9
	ours    snapshot.IDSet    // ever denied
	kept    snapshot.IDSet    // registered before they could be denied: never chosen again
	brakes  map[int]*brake
	rounds  map[int]time.Time // start of the last creating round
	window  window
	ids     ids
	count   count
	slow    slow

	resolveAt time.Time         // the next look at unknown outcomes, zero: none waits
	denialAt  time.Time         // the next repetition of a refused delete
	advance   []int64           // denials that may go on now
	trimAt    map[int]time.Time // no pending pod of the profile is old enough before

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
	posted   bool // answered, and with StockGate still waited for
	checks   int
	next     time.Time // of the next look at an unknown outcome
}

// New makes an allocator. nextID is the first id never reserved; denied are the excess pods of an earlier life.
func New(set Settings, nextID int64, denied []int64) *Allocator {
	a := &Allocator{set: set, targets: map[int]int{}, queued: map[int]int{}, creates: map[int64]*create{},
		denials: map[int64]*denial{}, brakes: map[int]*brake{}, rounds: map[int]time.Time{}, window: newWindow(),
		ids: ids{reserved: max(0, nextID-1)}, count: newCount(), slow: newSlow(), trimAt: map[int]time.Time{}}
	for _, id := range denied {
		a.denials[id] = &denial{answered: true}
		a.ours.Add(id)
		a.advance = append(a.advance, id)
	}
	return a
}

// SetTargets takes the wanted totals: entries overwrite, profiles that are absent keep theirs (B6).
func (a *Allocator) SetTargets(totals map[int]int) {
	maps.Copy(a.targets, totals)
	clear(a.trimAt)
}

// AnyCreated tells that an executor pod of the application was created once: no refusal ends it any more.
func (a *Allocator) AnyCreated() { a.anyCreated = true }

// EverCreated says whether an executor pod of the application is known to have been created.
func (a *Allocator) EverCreated() bool { return a.anyCreated }

// Touch tells that what Spark knows of an executor has changed.
func (a *Allocator) Touch(id int64) { a.count.touched = append(a.count.touched, id) }

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
func (a *Allocator) StartFailed(profile int, now time.Time) {
	if !a.set.NoStartDelay {
		a.brake(profile).startFailure(now)
	}
}

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
		if a.set.StockGate && !c.seen {
			c.posted = true
			a.resolveBy(c.since.Add(a.set.Timeout + time.Millisecond))
			return nil, ""
		}
		a.forget(o.ID, c)
		return nil, ""
	case Lost:
		c.next = now.Add([]time.Duration{0, 10 * time.Second, 30 * time.Second, time.Minute}[min(c.checks, 3)])
		c.checks++
		a.resolveBy(earlier(c.next, c.since.Add(a.set.Timeout+time.Millisecond)))
		return nil, ""
	case Absent:
		if lands := c.since.Add(landsWithin); now.Before(lands) {
			c.next = lands
			a.resolveBy(lands)
			return nil, ""
		}
		a.forget(o.ID, c)
		return nil, ""
	case Skipped:
		a.forget(o.ID, c)
		return a.skipped(b, now), ""
	}
	a.forget(o.ID, c)
	a.queued[c.profile] = 0 // the rest asks again after the pause, with fresh counts
	first := b.failed(o, now)
	log = b.warn(c.profile, o, now)
	if first {
		fatal = a.permanent(o)
	}
	return log, fatal
}

// Withdraw takes back a create that waited for something and was not sent, when its profile has more than its target by
// now. It says whether it did.
func (a *Allocator) Withdraw(id int64) bool {
	c := a.creates[id]
	if c == nil || c.seen || !c.inFlight {
		return false
	}
	if t := tallyOf(a.tallies(), c.profile); t.running+a.notRunning(t) <= a.targets[t.profile] {
		return false
	}
	a.window.inFlight--
	a.forget(id, c)
	return true
}

// permanent ends an application whose pods are refused for the same reason three times before any pod was ever created
// (18.3).
func (a *Allocator) permanent(o Outcome) string {
	if o.Kind != Permanent && o.Kind != Refused || a.anyCreated || a.set.NeverFatal {
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

// forget takes a create out of the books: it was seen, refused, or is given up.
func (a *Allocator) forget(id int64, c *create) {
	delete(a.creates, id)
	if !c.seen {
		a.count.unresolved[c.profile]--
	}
}

// resolveBy makes the next look at unknown outcomes due at a time.
func (a *Allocator) resolveBy(t time.Time) {
	if a.resolveAt.IsZero() || t.Before(a.resolveAt) {
		a.resolveAt = t
	}
}
