package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubespark/kubespark/internal/executor"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// life is one process of the manager, from its start to its death.
type life struct {
	w       *world
	number  int
	m       *executor.Manager
	cancel  context.CancelFunc
	ended   chan struct{} // closed when Run has returned
	killed  chan struct{} // closed at its death
	dead    bool          // under w.mu
	waiting bool          // the owner waits for its turn, under w.mu
	grant   chan struct{}
	toIt    time.Time // when the last message to it arrives: the pipe keeps their order
	fromIt  time.Time
	born    time.Time
	resume  *executor.Resume
	started bool // session.start was answered
	stopped bool // session.stop was delivered
	left    int  // answer to it, -1: none yet

	// What the manager was told so far, for the validators.
	adopted   uint64 // version of the server when its first list was served, 0: not yet
	targets   map[int]int
	known     map[int64]bool
	denying   map[int64]bool
	reported  map[int64]bool
	blocks    [][2]int64
	executing map[int]int // creates sent and not yet carried out, by profile
	creating  map[int64]bool
}

// begin starts a manager and opens its session.
func (w *world) begin() {
	w.lives++
	ctx, cancel := context.WithCancel(context.Background())
	l := &life{w: w, number: w.lives, cancel: cancel, ended: make(chan struct{}), killed: make(chan struct{}),
		grant: make(chan struct{}), born: time.Now(), left: -1, targets: map[int]int{}, known: map[int64]bool{},
		denying: map[int64]bool{}, reported: map[int64]bool{}, executing: map[int]int{}, creating: map[int64]bool{}}
	l.toIt, l.fromIt = time.Now(), time.Now()
	env := executor.Env{Getenv: func(string) (string, bool) { return "", false }, PID: 100 + l.number, Version: "simulated",
		Connect: l.connect, Log: l.log, Turn: l.turn, Rand: func() float64 { return 0.5 }}
	l.m = executor.New(env, driver{l: l})
	w.manager = l
	w.note("manager %d starts", l.number)
	go func() {
		defer close(l.ended)
		l.m.Run(ctx)
	}()
	w.spark.open(l)
}

// kill ends the manager at this instant.
func (w *world) kill() {
	l := w.manager
	if l == nil {
		return
	}
	w.note("manager %d dies", l.number)
	w.mu.Lock()
	l.dead = true
	w.mu.Unlock()
	close(l.killed)
	l.cancel()
	<-l.ended
	synctest.Wait()
	w.rounds += l.m.Rounds()
	w.manager = nil
	w.spark.detached()
	if !w.over {
		w.bringBack()
	}
}

// turn is executor.Env.Turn: it runs on the owner's goroutine.
func (l *life) turn() {
	l.w.mu.Lock()
	l.waiting = true
	l.w.mu.Unlock()
	l.w.nudge()
	select {
	case <-l.grant:
	case <-l.killed:
	}
}

func (l *life) takeTurn() bool {
	l.w.mu.Lock()
	waiting := l.waiting
	l.waiting = false
	l.w.mu.Unlock()
	if waiting {
		l.grant <- struct{}{}
	}
	return waiting
}

// log takes a line of the manager, on any goroutine.
func (l *life) log(level, _, text string) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	if !l.dead && level != "DEBUG" {
		l.w.logs = append(l.w.logs, level+" "+strings.ReplaceAll(text, "\n", "|"))
	}
}

func (l *life) connect(o kube.Options) (*rest.Config, error) {
	cfg := &rest.Config{Host: "http://simulated", Transport: transport{l}, QPS: -1, UserAgent: o.UserAgent}
	kube.Wrap(cfg, o.RequestTimeout)
	return cfg, nil
}

// deliver hands a message to the manager, in order, if it still lives then.
func (l *life) deliver(name string, f func()) {
	at := time.Now().Add(l.w.lag())
	if !at.After(l.toIt) {
		at = l.toIt.Add(time.Microsecond)
	}
	l.toIt = at.Add(time.Millisecond) // more than the event's own offset
	l.w.at(at, "", func() {
		if l.w.manager == l {
			l.w.note("spark to manager %d: %s", l.number, name)
			f()
		}
	})
}

// message is what the manager said to Spark.
type message struct {
	l    *life
	name string
	run  func()
}

// driver is executor.Driver. Its methods run on the manager's goroutines.
type driver struct {
	executor.Driver // what the simulation has no answer to
	l               *life
}

func (d driver) say(name string, run func()) {
	d.l.w.mu.Lock()
	defer d.l.w.mu.Unlock()
	if !d.l.dead {
		d.l.w.said = append(d.l.w.said, message{d.l, name, run})
		d.l.w.nudge()
	}
}

// Remove is executor.remove.
func (d driver) Remove(r executor.Removal, done func(error)) {
	d.say(fmt.Sprintf("remove %d code %d app %t counts %t %.40q", r.ID, r.Code, r.CausedByApp, r.Counts, r.Text), func() {
		d.l.w.judge.reported(d.l, r)
		d.l.pass("remove", func() {
			d.l.w.spark.remove(r)
			d.l.deliver(fmt.Sprintf("removed %d is told", r.ID), func() { done(nil) })
		})
	})
}

// Deny is executors.deny.
func (d driver) Deny(ids []int64, done func([]int64, error)) {
	d.say(fmt.Sprintf("deny %v", ids), func() {
		for _, id := range ids {
			d.l.denying[id] = true
		}
		d.l.pass("deny", func() {
			registered := d.l.w.spark.deny(ids)
			d.l.deliver(fmt.Sprintf("of %v registered before: %v", ids, registered), func() {
				for _, id := range registered {
					delete(d.l.denying, id)
				}
				done(registered, nil)
			})
		})
	})
}

// Allow is executors.allow.
func (d driver) Allow(ids []int64) {
	d.say(fmt.Sprintf("allow %v", ids), func() {
		for _, id := range ids {
			delete(d.l.denying, id)
		}
		d.l.pass("allow", func() { d.l.w.spark.allow(ids) })
	})
}

// Reserve is ids.reserve.
func (d driver) Reserve(n int, done func(from, to int64, err error)) {
	d.say(fmt.Sprintf("reserve %d ids", n), func() {
		d.l.pass("reserve", func() {
			from, to := d.l.w.spark.reserve(n)
			d.l.blocks = append(d.l.blocks, [2]int64{from, to})
			d.l.deliver(fmt.Sprintf("ids %d to %d", from, to), func() { done(from, to, nil) })
		})
	})
}

// PodsCreated is pods.created.
func (d driver) PodsCreated() {
	d.say("pods created", func() { d.l.pass("created", func() { d.l.w.spark.created = true }) })
}

// List is executors.list.
func (d driver) List(done func(map[int64]time.Time, error)) {
	d.say("list executors", func() {
		d.l.pass("list", func() {
			known := d.l.w.spark.times()
			d.l.deliver(fmt.Sprintf("executors: %v", sortedKeys(known)), func() {
				d.l.known = map[int64]bool{}
				for id := range known {
					d.l.known[id] = true
				}
				done(known, nil)
			})
		})
	})
}

// Exit is app.exit.
func (d driver) Exit(code int, text string) {
	d.say(fmt.Sprintf("exit %d: %s", code, text), func() {
		d.l.w.judge.exit(d.l, code, text)
		d.l.pass("exit", func() { d.l.w.spark.exited = true })
	})
}

// CommandDone is command.done.
func (d driver) CommandDone(seq int64) {
	d.say(fmt.Sprintf("command %d done", seq), func() {
		d.l.pass("done", func() { d.l.w.spark.done(seq) })
	})
}

// Metrics are of no use here.
func (d driver) Metrics(map[string]float64) {}

// pass carries a message of the manager to Spark, in order, unless the manager dies with it in the pipe.
func (l *life) pass(_ string, f func()) {
	at := time.Now().Add(l.w.lag())
	if !at.After(l.fromIt) {
		at = l.fromIt.Add(time.Microsecond)
	}
	l.fromIt = at.Add(time.Millisecond)
	l.w.at(at, "", func() {
		if l.w.manager == l {
			f()
		}
	})
}

// transport is the manager's way to the API server.
type transport struct{ l *life }

// RoundTrip hands the request to the world and waits for its answer.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	req := newRequest(t.l, r, body)
	t.l.w.mu.Lock()
	dead := t.l.dead
	if !dead {
		t.l.w.arrivals = append(t.l.w.arrivals, req)
	}
	t.l.w.mu.Unlock()
	if dead {
		return nil, errors.New("the manager is dead")
	}
	t.l.w.nudge()
	select {
	case a := <-req.answer:
		return a.response, a.err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func profileOf(id int) sparkpod.Profile {
	return sparkpod.Profile{ID: id, ExecutorResources: map[string]sparkpod.ExecResource{
		"cores": {Amount: 1}, "memory": {Amount: int64(1024 * (id + 1))}}, TaskResources: map[string]sparkpod.TaskResource{"cpus": {Amount: 1}}}
}
