// Package claims keeps the books of an application's PersistentVolumeClaims: which executor mounts which, which are free,
// and how many more may be made. Table is a state machine without I/O: lists and pods come in, Prepare gives an executor
// that is about to be created the claims it mounts. A claim is entered when a create is prepared, before the call is made,
// and stays while a pod that names it exists or may exist, so no claim is ever mounted twice (spec section 9).
//
// It answers to the claim half of Spark's ExecutorPodsAllocator.
package claims

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Settings are the configuration that the decisions depend on.
type Settings struct {
	Wait        bool          // no claim beyond Maximum is made: executors wait for a free one
	Maximum     int           // executors times claims of each, with Wait
	PerExecutor int           // claims that one executor needs, with Wait
	Larger      bool          // a claim larger than wanted will do (Spark 4.2)
	MinAge      time.Duration // stock's age of a claim that is free; 0: any
}

// Claim is one claim, as it is in the cluster or as an executor wants it.
type Claim struct {
	Name       string
	Class      string
	Size       int64 // bytes
	Modes      []string
	VolumeMode string
	Deleting   bool
	Created    time.Time
}

// Table holds the books. It belongs to one goroutine.
type Table struct {
	set    Settings
	listed map[string]Claim
	idle   map[string]bool    // listed, not being deleted, and no executor names it
	stay   int                // listed and not being deleted
	users  map[string]int     // executors that name the claim
	held   map[int64][]string // the claims of an executor
	made   map[string]int64   // claims on their way, by the executor they are made for
	ending map[int64]bool     // executors whose pods are on their way out
	driver map[string]bool
	from   time.Time
	stale  bool
}

// New makes a table. driver are the claims that the driver pod mounts. No claim counts as free before from.
func New(set Settings, driver []string, from time.Time) *Table {
	t := &Table{set: set, listed: map[string]Claim{}, idle: map[string]bool{}, users: map[string]int{}, held: map[int64][]string{},
		made: map[string]int64{}, ending: map[int64]bool{}, driver: map[string]bool{}, from: from, stale: true}
	for _, name := range driver {
		t.driver[name] = true
	}
	return t
}

// Replace takes a complete list of the application's claims.
func (t *Table) Replace(list []Claim) {
	clear(t.listed)
	clear(t.idle)
	t.stay = 0
	for _, c := range list {
		if t.driver[c.Name] {
			continue
		}
		t.listed[c.Name] = c
		delete(t.made, c.Name)
		if !c.Deleting {
			t.stay++
			if t.users[c.Name] == 0 {
				t.idle[c.Name] = true
			}
		}
	}
	t.stale = false
}

// Stale says whether a list is needed before Room can be told.
func (t *Table) Stale() bool { return t.stale }

// Outdate asks for a new list: something happened that may have freed a claim.
func (t *Table) Outdate() { t.stale = true }

// From is the time before which no claim counts as free.
func (t *Table) From() time.Time { return t.from }

// Mounts takes a pod that is there and the claims it names. ending says that it will be gone soon.
func (t *Table) Mounts(id int64, names []string, ending bool) {
	if ending {
		t.ending[id] = true
	}
	if slices.Equal(t.held[id], names) {
		return
	}
	t.enter(id, names)
}

func (t *Table) enter(id int64, names []string) {
	for _, name := range t.held[id] {
		t.leave(name)
	}
	t.held[id] = slices.Clone(names)
	for _, name := range names {
		t.users[name]++
		delete(t.idle, name)
	}
}

func (t *Table) leave(name string) {
	if t.users[name]--; t.users[name] > 0 {
		return
	}
	delete(t.users, name)
	if c, ok := t.listed[name]; ok && !c.Deleting {
		t.idle[name] = true
	}
}

// Release takes the end of an executor's pod: it is gone, or was never made.
func (t *Table) Release(id int64) {
	names, ok := t.held[id]
	if !ok {
		return
	}
	for _, name := range names {
		t.leave(name)
		if t.made[name] == id {
			delete(t.made, name)
		}
	}
	delete(t.held, id)
	delete(t.ending, id)
	t.stale = true
}

// Prepare gives an executor its claims: for each wanted one the name to mount, that of a free claim or the wanted one's
// own, which is then to be made. hold says that a claim that fits is about to become free: nothing is entered, and the
// caller may ask again. A repeated call gives the same names.
func (t *Table) Prepare(id int64, wants []Claim, mayHold bool, now time.Time) (names []string, hold bool) {
	if names, ok := t.held[id]; ok && len(names) >= len(wants) {
		return names[:len(wants)], false
	}
	taken := map[string]bool{}
	for _, w := range wants {
		name, ok := t.match(w, taken, now)
		if !ok {
			if mayHold && t.soonFree(w, now) {
				return nil, true
			}
			name = w.Name
		}
		taken[name] = true
		names = append(names, name)
	}
	t.enter(id, names)
	for i, name := range names {
		if name == wants[i].Name {
			t.made[name] = id
		}
	}
	return names, false
}

// match finds the smallest free claim that fits.
func (t *Table) match(w Claim, taken map[string]bool, now time.Time) (string, bool) {
	var best *Claim
	for name := range t.idle {
		c := t.listed[name]
		if taken[name] || !t.fits(c, w) || !t.free(c, now) {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(c.Size, best.Size), cmp.Compare(c.Name, best.Name)) < 0 {
			best = &c
		}
	}
	if best == nil {
		return "", false
	}
	return best.Name, true
}

// fits is V5: the same class, a size that is enough, and the wanted way to mount it.
func (t *Table) fits(c, w Claim) bool {
	if c.Class != w.Class || cmp.Or(c.VolumeMode, "Filesystem") != cmp.Or(w.VolumeMode, "Filesystem") {
		return false
	}
	if c.Size < w.Size || (c.Size > w.Size && !t.set.Larger) {
		return false
	}
	for _, mode := range w.Modes {
		if !slices.Contains(c.Modes, mode) {
			return false
		}
	}
	return true
}

// Mismatch names a free claim that only its access modes keep from being given out, for the log.
func (t *Table) Mismatch(w Claim, now time.Time) (Claim, bool) {
	for _, name := range slices.Sorted(maps.Keys(t.idle)) {
		c := t.listed[name]
		like := w
		like.Modes = c.Modes
		if t.free(c, now) && t.fits(c, like) && !t.fits(c, w) {
			return c, true
		}
	}
	return Claim{}, false
}

func (t *Table) free(c Claim, now time.Time) bool {
	return t.idle[c.Name] && !now.Before(t.from) && (t.set.MinAge == 0 || now.Sub(c.Created) > t.set.MinAge)
}

// soonFree says that a claim fits whose only executor is on its way out.
func (t *Table) soonFree(w Claim, now time.Time) bool {
	if t.set.MinAge > 0 || now.Before(t.from) {
		return false
	}
	for id := range t.ending {
		for _, name := range t.held[id] {
			if c, ok := t.listed[name]; ok && !c.Deleting && t.users[name] == 1 && t.fits(c, w) {
				return true
			}
		}
	}
	return false
}

// Free counts the claims that can be given out, and all that there are.
func (t *Table) Free(now time.Time) (free, all int) {
	if now.Before(t.from) {
		return 0, len(t.listed)
	}
	for name := range t.idle {
		if t.free(t.listed[name], now) {
			free++
		}
	}
	return free, len(t.listed)
}

// Existing counts the claims that are there and stay, those on their way included.
func (t *Table) Existing() int { return t.stay + len(t.made) }

// Room is how many executors can have their claims now, without passing the maximum (V4).
func (t *Table) Room(now time.Time) int {
	if t.stale || t.set.PerExecutor == 0 {
		return 0
	}
	free, _ := t.Free(now)
	return (free + max(0, t.set.Maximum-t.Existing())) / t.set.PerExecutor
}
