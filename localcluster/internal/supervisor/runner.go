package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/kubespark/kubespark/localcluster/internal/process"
)

type eventKind int

const (
	started eventKind = iota // the part runs as id
	waits                    // it runs and is not ready, for a reason
	ready
	ended   // it ended unasked, and how
	stopped // it ended because it was asked to
)

// event is what a runner tells the owner.
type event struct {
	part   int
	kind   eventKind
	id     process.ID
	reason string
}

const (
	probeEvery = 50 * time.Millisecond // while a part is not ready
	firstDelay = 200 * time.Millisecond
	lastDelay  = 10 * time.Second
	steady     = time.Minute // a part that ran this long starts again without the delays of earlier failures
)

// delay is the pause before a start that follows so many ends in a row.
func delay(ends int) time.Duration {
	if ends > 10 {
		return lastDelay
	}
	return min(firstDelay<<(ends-1), lastDelay)
}

// runner keeps one part running.
type runner struct {
	part   Part
	index  int
	after  []chan struct{}
	events chan<- event
	ready  chan struct{} // closed by the owner when the part is ready for the first time
	cancel context.CancelFunc
	done   chan struct{}
}

func (r *runner) begin() {
	ctx, cancel := context.WithCancel(context.Background()) // ended by end alone: the parts stop in order
	r.cancel, r.done = cancel, make(chan struct{})
	go func() {
		defer close(r.done)
		r.run(ctx)
		r.tell(event{kind: stopped})
	}()
}

func (r *runner) end() {
	r.cancel()
	<-r.done
}

func (r *runner) tell(e event) {
	e.part = r.index
	r.events <- e
}

func (r *runner) run(ctx context.Context) {
	for _, needed := range r.after {
		select {
		case <-needed:
		case <-ctx.Done():
			return
		}
	}
	if r.part.Prepare != nil && !r.repeat(ctx, r.part.Prepare) {
		return
	}
	for ends := 1; ; ends++ {
		began := time.Now()
		how := r.once(ctx)
		if ctx.Err() != nil {
			return
		}
		r.tell(event{kind: ended, reason: how})
		if time.Since(began) >= steady {
			ends = 1
		}
		if !pause(ctx, delay(ends)) {
			return
		}
	}
}

// once runs the part until it ends or the context does, and says how it ended.
func (r *runner) once(ctx context.Context) string {
	p, err := r.part.Start()
	if err != nil {
		return fmt.Sprintf("it could not be started: %v", err)
	}
	r.tell(event{kind: started, id: p.ID()})
	end := make(chan string, 1)
	go func() { end <- p.Wait() }()

	probing, cancel := context.WithCancel(ctx)
	probed := make(chan struct{})
	go func() {
		defer close(probed)
		if r.repeat(probing, r.part.Ready) {
			r.tell(event{kind: ready})
		}
	}()
	defer func() { cancel(); <-probed }()

	select {
	case how := <-end:
		return how
	case <-ctx.Done():
		return r.stop(p, end)
	}
}

// repeat calls the function until it returns nil, telling the owner the reasons, and reports whether it did so
// before the context ended.
func (r *runner) repeat(ctx context.Context, try func(context.Context) error) bool {
	for last := ""; ; {
		err := try(ctx)
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			return true
		}
		if reason := err.Error(); reason != last {
			last = reason
			r.tell(event{kind: waits, reason: reason})
		}
		if !pause(ctx, probeEvery) {
			return false
		}
	}
}

func (r *runner) stop(p Running, end <-chan string) string {
	p.Terminate()
	grace := time.NewTimer(r.part.Grace)
	defer grace.Stop()
	select {
	case how := <-end:
		return how
	case <-grace.C:
		p.Kill()
		return <-end
	}
}

// pause reports whether the time passed before the context ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
