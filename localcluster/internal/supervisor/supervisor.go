// Package supervisor keeps the parts of a local cluster running: it starts them in order, restarts one that dies,
// and stops them in the reverse order. It writes down each change, so that `status` and `down` know what runs, even
// after the supervisor was killed. One goroutine owns the state; each part has a runner that reports to it.
package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kubespark/kubespark/localcluster/internal/process"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
)

// Part is one thing to keep running.
type Part struct {
	Name    string
	After   []string                        // parts that have to be ready before its first start
	Prepare func(ctx context.Context) error // if set, repeated until it succeeds, before the first start
	Start   func() (Running, error)
	Ready   func(ctx context.Context) error // nil when ready, else why not
	Grace   time.Duration                   // from the request to end until it is killed
}

// Running is a started part.
type Running interface {
	ID() process.ID // zero if it is a task of the supervisor's own process
	Wait() string   // blocks until it ends and says how it did; called once
	Terminate()     // asks it to end
	Kill()
}

// Store keeps the state of the parts for other processes to read. An error means that the cluster's folder is gone
// or full; the supervisor then stops everything.
type Store interface {
	Save(parts []statedir.Component) error
	Present() error // nil while the folder is there
}

// PartError says that a part cannot be started.
type PartError struct {
	Part   string
	Reason string // how it ended the last time
}

func (e *PartError) Error() string {
	return fmt.Sprintf("%s failed %d times before it was ready, at last so: %s", e.Part, maxStarts, e.Reason)
}

const (
	presentEvery = 2 * time.Second // how often the supervisor looks whether its folder was deleted
	maxStarts    = 3               // failed starts of a part that was never ready, after which it gives up
)

// Run starts the parts and returns when the context has ended, or a part cannot be started, and all parts have
// stopped. The error says why it stopped, nil after the context's end.
func Run(ctx context.Context, parts []Part, store Store, log *slog.Logger) error {
	o := newOwner(parts, store, log)
	stop := o.start()
	err := o.loop(ctx)
	if err != nil {
		log.Error("the cluster stops", "reason", err)
	}
	go stop()
	o.drain()
	return err
}

// owner is the goroutine that owns the state.
type owner struct {
	runners []*runner
	state   []statedir.Component
	seen    []bool // parts that were ready once
	failed  []int  // starts of a part that was never ready
	store   Store
	log     *slog.Logger
	began   time.Time
	events  chan event
}

func newOwner(parts []Part, store Store, log *slog.Logger) *owner {
	o := &owner{store: store, log: log, began: time.Now(), events: make(chan event)}
	o.seen, o.failed = make([]bool, len(parts)), make([]int, len(parts))
	ready := make(map[string]chan struct{})
	for i, p := range parts {
		r := &runner{part: p, index: i, events: o.events, ready: make(chan struct{})}
		for _, name := range p.After {
			r.after = append(r.after, ready[name])
		}
		ready[p.Name] = r.ready
		o.runners = append(o.runners, r)
		o.state = append(o.state, statedir.Component{Name: p.Name, Phase: statedir.Waiting})
	}
	return o
}

// start starts the runners; the function that it returns stops them one by one, the last first, then closes the
// owner's events.
func (o *owner) start() (stop func()) {
	for _, r := range o.runners {
		r.begin()
	}
	return func() {
		for i := len(o.runners) - 1; i >= 0; i-- {
			o.runners[i].end()
		}
		close(o.events)
	}
}

// loop takes the runners' events until the context ends or the cluster cannot go on.
func (o *owner) loop(ctx context.Context) error {
	tick := time.NewTicker(presentEvery)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case e := <-o.events:
			err = o.take(e)
		case <-tick.C:
			err = o.store.Present()
		}
		if err != nil {
			return err
		}
	}
}

// drain takes the events of the runners that are stopping. Their state is written down as long as that works; the
// folder may be the very thing that is gone.
func (o *owner) drain() {
	for e := range o.events {
		o.apply(e)
		if err := o.store.Save(o.state); err != nil {
			o.log.Warn("the state was not written down", "error", err)
		}
	}
}

func (o *owner) take(e event) error {
	if !o.apply(e) {
		return nil
	}
	if err := o.store.Save(o.state); err != nil {
		return err
	}
	if o.failed[e.part] >= maxStarts {
		return &PartError{Part: o.state[e.part].Name, Reason: e.reason}
	}
	return nil
}

// apply changes the state and reports whether it did.
func (o *owner) apply(e event) bool {
	c := &o.state[e.part]
	before := *c
	switch e.kind {
	case started:
		c.Phase, c.Process = statedir.Starting, e.id
	case waits:
		c.Reason = e.reason
	case ready:
		c.Phase, c.Reason = statedir.Ready, ""
		if !o.seen[e.part] {
			o.seen[e.part] = true
			c.Took = time.Since(o.began)
			close(o.runners[e.part].ready)
		}
		o.log.Info("ready", "part", c.Name, "pid", c.Process.PID)
	case ended:
		c.Phase, c.Process, c.Reason = statedir.Restarting, process.ID{}, "its last run: "+e.reason
		c.Restarts++
		if !o.seen[e.part] {
			o.failed[e.part]++
		}
		o.log.Warn("ended, will be started again", "part", c.Name, "how", e.reason)
	case stopped:
		c.Phase, c.Process, c.Reason = statedir.Stopped, process.ID{}, ""
	}
	return *c != before
}
