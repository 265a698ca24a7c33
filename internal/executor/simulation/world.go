// Package simulation runs the whole executor package against a simulated API server, a simulated cluster and a simulated
// Spark, inside a testing/synctest bubble. One seed is one run: it draws the settings, the cluster, the faults, what Spark
// wants and when the manager dies. Validators judge every step and the end; a seed that fails is run again with its
// transcript.
//
// A run is the same to the bit however many processors there are. One goroutine, the world's, lets one thing happen at a
// time: it waits until every goroutine of the manager waits (synctest.Wait), lets the manager's owner take its turn
// (executor.Env.Turn), sorts the requests that came out of it, draws their fate, and goes to the next event. No two
// events share an instant, and no request outlives the manager's own time limits.
//
// It is part of no program.
package simulation

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// world is one run. Its methods run on its own goroutine, but for those that say otherwise.
type world struct {
	rng     *rand.Rand
	plan    plan
	began   time.Time
	queue   events
	seq     int
	history []string
	broken  []string  // what the validators found
	stormy  bool      // faults happen
	calmAt  time.Time // after the storm: when all must be well
	over    bool      // no manager starts any more
	rounds  int64

	server  *server
	cluster *cluster
	spark   *spark
	judge   *judge
	manager *life // the manager of now, nil while there is none
	lives   int

	mu       sync.Mutex // guards what the manager's goroutines touch
	arrivals []*request
	said     []message
	logs     []string
	wake     chan struct{}
}

// event is something that will happen.
type event struct {
	at   time.Time
	seq  int
	name string
	run  func()
}

type events []*event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	if !q[i].at.Equal(q[j].at) {
		return q[i].at.Before(q[j].at)
	}
	return q[i].seq < q[j].seq
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push and Pop are of heap.Interface.
func (q *events) Push(x any) { *q = append(*q, x.(*event)) }

// Pop takes the last one.
func (q *events) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

func newWorld(seed uint64, change func(*plan)) *world {
	w := &world{rng: rand.New(rand.NewPCG(seed, 0x6b756265)), began: time.Now(), wake: make(chan struct{}, 1), stormy: true}
	w.plan = draw(w.rng)
	if change != nil {
		change(&w.plan)
	}
	w.judge = newJudge(w)
	w.server = newServer(w)
	w.cluster = newCluster(w)
	w.spark = newSpark(w)
	return w
}

// after makes f happen after a while, at an instant of its own. An empty name leaves no line in the history.
func (w *world) after(d time.Duration, name string, f func()) {
	w.at(time.Now().Add(d), name, f)
}

func (w *world) at(at time.Time, name string, f func()) {
	w.seq++
	at = at.Add(time.Duration(1 + w.rng.IntN(999_983)))
	heap.Push(&w.queue, &event{at: at, seq: w.seq, name: name, run: f})
}

func (w *world) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.rng.Int64N(int64(most-least)+1))
}

func (w *world) chance(p float64) bool { return w.rng.Float64() < p }

// note adds a line to the history.
func (w *world) note(format string, args ...any) {
	w.history = append(w.history, fmt.Sprintf("%12.6f ", time.Since(w.began).Seconds())+fmt.Sprintf(format, args...))
}

// fail is a validator's verdict.
func (w *world) fail(validator, format string, args ...any) {
	text := validator + ": " + fmt.Sprintf(format, args...)
	w.note("!!! %s", text)
	w.broken = append(w.broken, text)
}

// nudge wakes the world, from any goroutine.
func (w *world) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// settle waits until the manager can do nothing more by itself at this instant, and takes what it asked for.
func (w *world) settle() {
	for {
		synctest.Wait()
		if w.manager == nil || !w.manager.takeTurn() {
			break
		}
	}
	w.mu.Lock()
	arrivals, said, logs := w.arrivals, w.said, w.logs
	w.arrivals, w.said, w.logs = nil, nil, nil
	w.mu.Unlock()
	slices.Sort(logs)
	for _, l := range logs {
		w.note("log %s", l)
	}
	for _, m := range said {
		w.spark.heard(m)
	}
	slices.SortStableFunc(arrivals, func(a, b *request) int { return strings.Compare(a.key, b.key) })
	for _, r := range arrivals {
		w.server.arrived(r)
	}
}

// runUntil lets everything happen that is due before t.
func (w *world) runUntil(t time.Time) {
	for len(w.broken) == 0 {
		w.settle()
		now, next := time.Now(), t
		if len(w.queue) > 0 && w.queue[0].at.Before(t) {
			next = w.queue[0].at
		}
		if now.Before(next) {
			w.sleep(next.Sub(now))
			continue
		}
		if !next.Before(t) {
			return
		}
		e := heap.Pop(&w.queue).(*event)
		if e.name != "" {
			w.note("%s", e.name)
		}
		e.run()
		if w.chance(0.5) {
			w.settle()
		}
		w.mayDie()
	}
}

func (w *world) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.wake:
	}
}
