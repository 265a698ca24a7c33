// Package lifecycle decides what the end of an executor pod means: what Spark is told and why, whose fault it was, whether
// it counts toward the failure limit, and what is left to clean up in the cluster. It is a state machine without I/O: facts
// and a view of Spark's books come in, a Decision with every effect goes out, and its caller carries the effects out.
//
// It answers to Spark's ExecutorPodsLifecycleManager.
package lifecycle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// Settings are the configuration that the decisions depend on.
type Settings struct {
	DeleteOnTermination bool
	Interval            time.Duration // eventProcessingInterval: the upper bound of batching
	MissingDelta        time.Duration // missingPodDetectDelta
	MaxFailures         int           // L11's limit
	Validity            time.Duration // failuresValidityInterval, 0: failures never expire
	StockFaults         bool          // every failure is the application's, as in stock
	ReportAgain         time.Duration // a pod that stays is reported again after that long, as in stock; 0: never
}

// View is what Spark and the allocator know, asked while a decision is made.
type View struct {
	Known       map[int64]time.Time // registered executors and when they registered
	Registered  func(id int64) bool // registered at any time
	Ours        func(id int64) bool // deleted by the allocator or killed by Spark
	Active      func(id int64) bool // known, and nobody asked for its end
	Missing     func(id int64) bool // neither in the store nor on its way into it
	FullAt      time.Time           // time of the newest complete view, fullSnapshotTs
	DriverReady bool                // the driver pod is Ready, so its name resolves
}

// Removal is one executor that Spark must forget.
type Removal struct {
	ID          int64
	Code        int
	CausedByApp bool
	Counts      bool // toward the failure limit
	Text        string
	At          time.Time
}

// Line is one line for the driver's log. Level is a level name of log4j.
type Line struct{ Level, Text string }

// Ended is a pod that ended, for the allocator's start-failure delay.
type Ended struct {
	Pod        *snapshot.Pod
	State      snapshot.State
	Registered bool
	Failed     bool // its own fault
}

// Decision lists the effects wanted, in the order in which they must be begun: the log, the removals, then the clean-up
// (L8).
type Decision struct {
	Log      []Line
	Removals []Removal
	Deletes  []*snapshot.Pod // one DELETE with UID precondition each
	Labels   []*snapshot.Pod // one PATCH spark-exec-inactive=true each
	Missing  []int64         // to be read once by name: only 404 removes (ConfirmMissing)
	Ended    []Ended
	Exit     bool // the failure limit is passed: exit code 11
}

// Manager is the state of the lifecycle manager. It belongs to one goroutine.
type Manager struct {
	set      Settings
	reported snapshot.IDSet // told to Spark, once per application (L4)
	counted  snapshot.IDSet
	failures []time.Time
	cleanups map[int64]*cleanup
	due      []int64 // cleanups that want a call
	labelled map[int64]bool
	times    map[int64]time.Time // of the last report, with ReportAgain
	lastFull time.Time
	lastRun  time.Time
	exited   bool
}

type cleanup struct {
	pod     *snapshot.Pod
	state   snapshot.State
	due     bool
	running bool
}

// New makes a lifecycle manager. reported and failures come from an earlier life of the process.
func New(set Settings, reported []int64, failures []time.Time) *Manager {
	m := &Manager{set: set, cleanups: map[int64]*cleanup{}, labelled: map[int64]bool{}, failures: slices.Clone(failures),
		times: map[int64]time.Time{}}
	for _, id := range reported {
		m.reported.Add(id)
		m.counted.Add(id)
	}
	return m
}

// Due returns the time of the next run: soon after a final fact (L1), else at the end of the interval while there is
// something to do. ok is false when nothing waits.
func (m *Manager) Due(urgent, waiting bool) (at time.Time, ok bool) {
	if urgent {
		return m.lastRun.Add(100 * time.Millisecond), true
	}
	return m.lastRun.Add(m.set.Interval), waiting || len(m.due) > 0
}

// Run handles the facts since the last run.
func (m *Manager) Run(facts []snapshot.Fact, v View, now time.Time) Decision {
	var d Decision
	facts = slices.Clone(facts)
	slices.SortStableFunc(facts, func(a, b snapshot.Fact) int { return cmp.Compare(a.Pod.ID, b.Pod.ID) })
	failed := 0
	for _, f := range facts {
		if m.handle(&d, f, v, now) {
			failed++
		}
	}
	if failed > 0 {
		d.Log = append(d.Log, Line{"WARN", fmt.Sprintf("%d new failed executors.", failed)})
	}
	m.findMissing(&d, v)
	m.sweep(&d, v, now)
	m.checkLimit(&d, now)
	m.lastRun = now
	return d
}

// handle treats one fact and says whether it is a new failure that counts.
func (m *Manager) handle(d *Decision, f snapshot.Fact, v View, now time.Time) bool {
	p := f.Pod
	if f.Gone || f.State == snapshot.Deleted {
		inactive := m.labelled[p.ID] || p.Inactive
		if f.Gone {
			delete(m.cleanups, p.ID)
			delete(m.labelled, p.ID)
			delete(m.times, p.ID)
		}
		if _, known := v.Known[p.ID]; known && f.List {
			return false // findMissing asks for proof
		}
		if !inactive { // a labelled pod leaves the watch without being deleted
			m.removeDeleted(d, p, v, now)
		}
		return false
	}
	if p.Inactive {
		delete(m.labelled, p.ID)
		delete(m.cleanups, p.ID)
		m.reported.Add(p.ID)
		return false
	}
	if !f.State.Final() {
		return false
	}
	counts := m.removeEnded(d, p, f.State, v, now)
	c := m.cleanups[p.ID]
	if c == nil {
		c = &cleanup{}
		m.cleanups[p.ID] = c
	}
	c.pod, c.state = p, f.State
	m.want(p.ID, c)
	return counts
}

func (m *Manager) removeDeleted(d *Decision, p *snapshot.Pod, v View, now time.Time) {
	if !m.reported.Add(p.ID) {
		return
	}
	code := snapshot.NoCode
	if p.Exit != nil {
		code = p.Exit.Code
	}
	d.Removals = append(d.Removals, Removal{ID: p.ID, Code: code, Text: deletedText(p), At: now})
	d.Ended = append(d.Ended, Ended{Pod: p, State: snapshot.Deleted, Registered: v.Registered(p.ID)})
	level := "WARN"
	if v.Ours(p.ID) {
		level = "DEBUG"
	}
	d.Log = append(d.Log, Line{"DEBUG", fmt.Sprintf("Snapshot reported deleted executor with id %d, pod name %s", p.ID, p.Name)},
		Line{level, Summary(p, snapshot.Deleted)})
}

// reportAgain is stock's second report of a pod whose clean-up keeps failing (L4).
func (m *Manager) reportAgain(d *Decision, c *cleanup, v View, now time.Time) {
	at, told := m.times[c.pod.ID]
	if m.set.ReportAgain <= 0 || !told || now.Sub(at) < m.set.ReportAgain {
		return
	}
	m.reported.Remove(c.pod.ID)
	m.removeEnded(d, c.pod, c.state, v, now)
}

func (m *Manager) removeEnded(d *Decision, p *snapshot.Pod, state snapshot.State, v View, now time.Time) bool {
	if !m.reported.Add(p.ID) {
		return false
	}
	if m.set.ReportAgain > 0 {
		m.times[p.ID] = now
	}
	app := m.causedByApp(p, v)
	counts := state == snapshot.Failed && app && m.counted.Add(p.ID)
	if counts {
		m.failures = append(m.failures, now)
	}
	d.Removals = append(d.Removals, Removal{ID: p.ID, Code: p.Exit.Code, CausedByApp: app, Counts: counts,
		Text: exitText(p), At: now})
	d.Ended = append(d.Ended, Ended{Pod: p, State: state, Registered: v.Registered(p.ID), Failed: state == snapshot.Failed && app})
	if state == snapshot.Succeeded {
		d.Log = append(d.Log, succeededLine(p, v.Active(p.ID)))
		return counts
	}
	level := "WARN"
	if v.Ours(p.ID) {
		level = "DEBUG"
	}
	d.Log = append(d.Log, Line{"DEBUG", fmt.Sprintf("Snapshot reported failed executor with id %d, pod name %s", p.ID, p.Name)},
		Line{level, Summary(p, state)})
	return counts
}

func succeededLine(p *snapshot.Pod, active bool) Line {
	text := "Snapshot reported succeeded executor with id " + strconv.FormatInt(p.ID, 10)
	if active {
		return Line{"INFO", text + ", even though the application has not requested for it to be removed."}
	}
	return Line{"DEBUG", text + ", pod name " + p.Name + "."}
}

// findMissing looks for registered executors that a newly complete view does not show (L9).
func (m *Manager) findMissing(d *Decision, v View) {
	if !v.FullAt.After(m.lastFull) {
		return
	}
	m.lastFull = v.FullAt
	for _, id := range slices.Sorted(maps.Keys(v.Known)) {
		if v.FullAt.Sub(v.Known[id]) > m.set.MissingDelta && !m.reported.Has(id) && v.Missing(id) {
			d.Missing = append(d.Missing, id)
		}
	}
}

// SeesNew says whether a complete view of that time is newer than the last one looked at.
func (m *Manager) SeesNew(fullAt time.Time) bool { return fullAt.After(m.lastFull) }

// ConfirmMissing removes an executor whose pod the cluster does not know: the read by name answered 404.
func (m *Manager) ConfirmMissing(id int64, registered, fullAt, now time.Time) Decision {
	var d Decision
	if !m.reported.Add(id) {
		return d
	}
	text := missingText(id, registered.UnixMilli(), fullAt.UnixMilli(), m.set.MissingDelta.Milliseconds())
	d.Removals = []Removal{{ID: id, Code: snapshot.NoCode, Text: text, At: now}}
	d.Log = []Line{{"DEBUG", text}, {"WARN", fmt.Sprintf("Executor %d lost: its pod does not exist any more.", id)}}
	return d
}

// want makes a clean-up call due.
func (m *Manager) want(id int64, c *cleanup) {
	if !c.due {
		c.due = true
		m.due = append(m.due, id)
	}
}

// sweep asks for the clean-up of ended pods (L5): never more than one call per pod and run.
func (m *Manager) sweep(d *Decision, v View, now time.Time) {
	due := m.due
	m.due = nil
	slices.Sort(due)
	for _, id := range slices.Compact(due) {
		c := m.cleanups[id]
		if c == nil || !c.due {
			continue
		}
		if c.running {
			m.due = append(m.due, id)
			continue
		}
		c.due = false
		m.reportAgain(d, c, v, now)
		switch {
		case !m.set.DeleteOnTermination:
			if !m.labelled[id] {
				m.labelled[id], c.running = true, true
				d.Labels = append(d.Labels, c.pod)
				d.Log = append(d.Log, Line{"DEBUG", "Marking executor " + c.pod.Name + " as inactive since deletion is disabled."})
			}
		case !c.pod.Deleting:
			c.running = true
			d.Deletes = append(d.Deletes, c.pod)
		}
	}
}

// Cleaned tells the outcome of a clean-up call. An error that leaves the pod there repeats it in the next interval.
func (m *Manager) Cleaned(id int64, ok bool) {
	c := m.cleanups[id]
	if c == nil {
		return
	}
	c.running = false
	if !ok {
		m.want(id, c)
		delete(m.labelled, id)
	}
}

// Reported says whether Spark was told of the executor's end.
func (m *Manager) Reported(id int64) bool { return m.reported.Has(id) }

// CountFailure adds a failure that is not a pod's end: a refused create, on Spark 4.2 and later in stock's way.
func (m *Manager) CountFailure(now time.Time) int {
	m.failures = append(m.failures, now)
	return len(m.failures)
}

// checkLimit is L11: a failure is dropped once strictly older than the interval.
func (m *Manager) checkLimit(d *Decision, now time.Time) {
	if m.set.Validity > 0 {
		m.failures = slices.DeleteFunc(m.failures, func(t time.Time) bool { return now.Sub(t) > m.set.Validity })
	}
	if len(m.failures) > m.set.MaxFailures && !m.exited {
		m.exited, d.Exit = true, true
	}
}

// Failures is the number of failures that count now.
func (m *Manager) Failures() int { return len(m.failures) }
