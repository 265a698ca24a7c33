package simulation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/executor/allocator"
	"github.com/kubespark/kubespark/internal/executor/lifecycle"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// desk is the two pure decisions on one store, with the world around them played by letters. A letter that cannot happen
// now does nothing, so every part of a program is a program.
type desk struct {
	a      *allocator.Allocator
	l      *lifecycle.Manager
	store  *snapshot.Store
	facts  *snapshot.Queue
	known  map[int64]time.Time
	now    time.Time
	target int
	next   int64
	v      uint64

	open    []allocator.Create // posted, not answered
	looks   []allocator.Create // looked at, not answered
	denied  []int64            // asked, not answered
	made    map[int64]bool     // a create was asked for
	ended   map[int64]bool     // failed, or gone
	told    map[int64]bool
	verdict string
}

// letters are what can happen: see happen.
const (
	letters = "cwlrkfg+-dt"
	more    = letters + "qx" // of long programs: they would make the small ones too many
)

func newDesk() *desk {
	d := &desk{store: snapshot.NewStore(), known: map[int64]time.Time{}, now: time.Unix(1000, 0), next: 1, made: map[int64]bool{},
		ended: map[int64]bool{}, told: map[int64]bool{}}
	d.facts = d.store.Subscribe()
	d.a = allocator.New(allocator.Settings{BatchSize: 10, BatchDelay: time.Second, MaxPending: 3, MaxPendingPerRP: math.MaxInt32,
		Maximum: math.MaxInt32, Timeout: 10 * time.Minute, IdleTimeout: 5 * time.Second}, 1, nil)
	d.l = lifecycle.New(lifecycle.Settings{DeleteOnTermination: true, Interval: time.Second, MissingDelta: 30 * time.Second,
		MaxFailures: math.MaxInt32}, nil, nil)
	d.decide()
	return d
}

// play lets the letters happen. It returns the verdict, empty when all is well, and whether the last letter could happen.
func play(program string) (verdict string, moved bool) {
	d := newDesk()
	for _, c := range program {
		d.now = d.now.Add(10 * time.Millisecond)
		if moved = d.happen(c); moved {
			d.decide()
		}
		if d.verdict != "" {
			return d.verdict, moved
		}
	}
	return "", moved
}

func (d *desk) happen(c rune) bool {
	switch c {
	case '+', '-': // the target
		n := d.target + map[rune]int{'+': 2, '-': -1}[c]
		if n < 0 || n > 4 {
			return false
		}
		d.target = n
		d.a.SetTargets(map[int]int{0: n})
	case 't': // time goes by
		d.now = d.now.Add(11 * time.Second)
	case 'd': // Spark answers whether ids are denied
		return d.answerDeny()
	case 'c', 'l': // the oldest create is answered, or its answer is lost
		return d.answerCreate(c == 'l')
	case 'w': // the watch shows its pod before
		if len(d.open) == 0 || d.store.Get(d.open[0].ID) != nil {
			return false
		}
		d.show(d.open[0].ID, snapshot.Pending)
	case 'q': // the oldest create is refused
		if len(d.open) == 0 || d.store.Get(d.open[0].ID) != nil {
			return false
		}
		d.a.Answer(allocator.Outcome{ID: d.open[0].ID, Kind: allocator.Busy, Sent: d.now, Text: "quota"}, d.now)
		d.open = d.open[1:]
	default:
		return d.change(c)
	}
	return true
}

func (d *desk) answerCreate(lost bool) bool {
	o := allocator.Outcome{Kind: allocator.Created, Sent: d.now}
	if lost {
		o.Kind = allocator.Lost
	}
	switch {
	case len(d.open) > 0:
		o.ID, d.open = d.open[0].ID, d.open[1:]
		if !lost && d.store.Get(o.ID) == nil {
			d.show(o.ID, snapshot.Pending)
		}
	case len(d.looks) > 0:
		o.ID, d.looks = d.looks[0].ID, d.looks[1:]
		if !lost && d.store.Get(o.ID) == nil {
			o.Kind = allocator.Absent
		}
	default:
		return false
	}
	d.a.Answer(o, d.now)
	return true
}

func (d *desk) answerDeny() bool {
	if len(d.denied) == 0 {
		return false
	}
	var registered []int64
	for _, id := range d.denied {
		if _, ok := d.known[id]; ok {
			registered = append(registered, id)
		}
	}
	d.a.Denied(d.denied, registered, d.now)
	for _, id := range d.denied {
		d.a.Touch(id)
	}
	d.denied = nil
	return true
}

// change lets the oldest pod of a kind run (r), register (k), fail (f) or go (g).
func (d *desk) change(c rune) bool {
	for _, p := range d.store.Pods() {
		_, known := d.known[p.ID]
		switch {
		case c == 'r' && p.State == snapshot.Pending:
			d.show(p.ID, snapshot.Running)
		case c == 'k' && p.State == snapshot.Running && !known:
			d.known[p.ID] = d.now
			d.a.Touch(p.ID)
		case c == 'f' && p.State == snapshot.Running:
			d.ended[p.ID] = true
			d.show(p.ID, snapshot.Failed)
		case c == 'x' && known && !d.ended[p.ID]: // Spark kills the oldest executor and forgets it
			delete(d.known, p.ID)
			d.a.Touch(p.ID)
		case c == 'g':
			d.ended[p.ID] = true
			d.store.Remove(p.ID, nil, d.now)
		default:
			continue
		}
		return true
	}
	return false
}

func (d *desk) show(id int64, s snapshot.State) {
	d.v++
	p := &snapshot.Pod{ID: id, Name: fmt.Sprintf("exec-%d", id), UID: fmt.Sprint(id), Version: d.v, State: s, Created: d.now}
	if s.Final() {
		p.Exit = &snapshot.Exit{Code: 1}
	}
	if old := d.store.Get(id); old != nil {
		p.Created = old.Created
	}
	d.store.Update(p, d.now)
}

// decide lets both decisions act until they want nothing more, and judges what they want.
func (d *desk) decide() {
	d.endings()
	for range 5 {
		act := d.a.Round(d.store, allocator.View{Known: func(id int64) bool { _, ok := d.known[id]; return ok }}, d.now)
		d.judge(act)
		d.open = append(d.open, act.Creates...)
		d.looks = append(d.looks, act.Resolve...)
		d.denied = append(d.denied, act.Deny...)
		for _, p := range act.Deletes {
			if _, ok := d.known[p.ID]; ok {
				d.fail("%s: %d", knownDeleted, p.ID)
			}
			d.ended[p.ID] = true
			d.a.Deleted(p.ID, true, false, d.now)
			d.store.Remove(p.ID, nil, d.now)
		}
		if act.Reserve == 0 && len(act.Deletes) == 0 {
			return
		}
		if act.Reserve > 0 {
			d.a.Reserved(d.next, d.next+int64(act.Reserve)-1)
			d.next += int64(act.Reserve)
		}
	}
}

func (d *desk) endings() {
	view := lifecycle.View{Known: d.known, Registered: func(id int64) bool { _, ok := d.known[id]; return ok }, Ours: d.a.Ours,
		Active: func(int64) bool { return true }, Missing: func(int64) bool { return false }, DriverReady: true}
	for _, r := range d.l.Run(d.facts.Drain(), view, d.now).Removals {
		switch {
		case d.told[r.ID]:
			d.fail("%s: %d", exitTwice, r.ID)
		case !d.ended[r.ID]:
			d.fail("%s: %d", exitInvented, r.ID)
		}
		d.told[r.ID] = true
		delete(d.known, r.ID)
		d.a.Touch(r.ID)
	}
}

func (d *desk) judge(act allocator.Actions) {
	for _, c := range act.Creates {
		if d.made[c.ID] {
			d.fail("%s: %d", idTwice, c.ID)
		}
		d.made[c.ID] = true
	}
	if len(act.Creates) == 0 {
		return
	}
	pending := len(act.Creates) + d.unseen()
	all := pending
	for _, p := range d.store.Pods() {
		switch {
		case d.a.Ours(p.ID):
		case p.State == snapshot.Running:
			all++
		case p.State == snapshot.Pending:
			all, pending = all+1, pending+1
		}
	}
	if all > d.target {
		d.fail("%s: %d of %d", tooMany, all, d.target)
	}
	if pending > 3 {
		d.fail("%s: %d", tooManyPending, pending)
	}
}

// unseen counts the creates under way that no source has shown.
func (d *desk) unseen() (n int) {
	for _, c := range slices.Concat(d.open, d.looks) {
		if d.store.Get(c.ID) == nil && !d.ended[c.ID] {
			n++
		}
	}
	return n
}

func (d *desk) fail(format string, args ...any) {
	if d.verdict == "" {
		d.verdict = fmt.Sprintf(format, args...)
	}
}

// shrink takes away of a failing program what is not needed for its failure.
func shrink(program string, fails func(string) bool) string {
	for size := len(program) / 2; size > 0; {
		smaller := false
		for i := 0; i+size <= len(program); i++ {
			if less := program[:i] + program[i+size:]; fails(less) {
				program, smaller = less, true
				i--
			}
		}
		if !smaller {
			size /= 2
		}
	}
	return program
}

// TestSmallCases plays every order of at most six things that can happen to at most four executors.
func TestSmallCases(t *testing.T) {
	cases := 0
	var visit func(program string)
	visit = func(program string) {
		verdict, moved := play(program)
		if cases++; verdict != "" {
			t.Fatalf("%q: %s", program, verdict)
		}
		if len(program) == 7 || !moved {
			return
		}
		for _, c := range letters {
			visit(program + string(c))
		}
	}
	visit("+") // nothing can happen before a first target
	t.Logf("%d programs", cases)
}

// TestLongPrograms plays random ones; one that fails is made small first.
func TestLongPrograms(t *testing.T) {
	fails := func(p string) bool { verdict, _ := play(p); return verdict != "" }
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 5))
		var b strings.Builder
		for range 120 {
			b.WriteByte(more[r.IntN(len(more))])
		}
		if fails(b.String()) {
			small := shrink(b.String(), fails)
			verdict, _ := play(small)
			t.Fatalf("seed %d: %q: %s", seed, small, verdict)
		}
	}
}

// The shrinker leaves only what the failure needs.
func TestShrink(t *testing.T) {
	if got := shrink("t+cc-t+rrtkf+lcdtfg-tt", func(p string) bool { return strings.Count(p, "f") == 2 }); got != "ff" {
		t.Errorf("shrunk to %q", got)
	}
}
