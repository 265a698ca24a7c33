package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// probeKind is which of a container's three probes it is, in the words of events.
type probeKind string

const (
	startupProbe   probeKind = "Startup"
	readinessProbe probeKind = "Readiness"
	livenessProbe  probeKind = "Liveness"
)

// prober repeats one probe and tells when its result changes.
type prober struct {
	probe *corev1.Probe
	// try asks once.
	try func(context.Context) error
	// failed hears of each try that failed.
	failed func(error)
	// changed hears of the results after the thresholds.
	changed func(ok bool)
	// first is the result before any try: a live container, one that is not ready and one that has not started.
	first bool
}

// Defaults of the API server, for pods that it did not complete.
const (
	defaultPeriod  = 10 * time.Second
	defaultTimeout = time.Second
	defaultFailure = 3
)

func seconds(n int32, other time.Duration) time.Duration {
	if n <= 0 {
		return other
	}
	return time.Duration(n) * time.Second
}

// run probes until the context ends or changed says that it is enough.
func (p prober) run(ctx context.Context, enough func() bool) {
	t := probeTally{ok: p.first, success: max(1, int(p.probe.SuccessThreshold)), failure: int(p.probe.FailureThreshold)}
	if t.failure <= 0 {
		t.failure = defaultFailure
	}
	wait := seconds(p.probe.InitialDelaySeconds, 0)
	for !enough() {
		if !sleep(ctx, wait) {
			return
		}
		err := p.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			p.failed(err)
		}
		if t.count(err == nil) {
			p.changed(t.ok)
		}
		wait = seconds(p.probe.PeriodSeconds, defaultPeriod)
	}
}

func (p prober) once(ctx context.Context) error {
	limit := seconds(p.probe.TimeoutSeconds, defaultTimeout)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := p.try(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", limit)
	}
	return err
}

func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// probeTally counts results against a probe's thresholds.
type probeTally struct {
	ok               bool // the result so far
	success, failure int
	last             bool
	row              int // how many in a row were as the last
}

// count takes one more result and says whether a threshold was reached. A failure beyond the threshold counts again, because what hears
// of it may have to act again.
func (t *probeTally) count(ok bool) (reached bool) {
	if t.row == 0 || ok != t.last {
		t.last, t.row = ok, 0
	}
	t.row++
	if ok {
		reached = !t.ok && t.row >= t.success
		t.ok = t.ok || reached
		return reached
	}
	reached = t.row >= t.failure
	t.ok = t.ok && !reached
	return reached
}

// unhealthy says why a running container is to end though its pod goes on, with the grace period that a failed probe gives.
type unhealthy struct {
	text  string
	grace *int64
}

// probes runs the container's probes until the context ends. Two of them begin only when the container has started, which is what its
// startup probe says. kill gets the reason to kill the container.
func (l *loop) probes(ctx context.Context, r *run, kill chan<- unhealthy) {
	forever := func() bool { return false }
	newProber := func(kind probeKind, p *corev1.Probe) prober {
		return prober{
			probe: p, try: func(ctx context.Context) error { return l.act(ctx, r, probeAction(p)) },
			failed: func(err error) {
				l.w.p.events.container(l.w.current(), l.c.Name, corev1.EventTypeWarning, "Unhealthy", fmt.Sprintf("%s probe failed: %v", kind, err))
			},
		}
	}
	die := func(kind string, p *corev1.Probe) {
		select {
		case kill <- unhealthy{fmt.Sprintf("Container %s failed %s probe, will be restarted", l.c.Name, kind), p.TerminationGracePeriodSeconds}:
		default: // told already
		}
	}
	if p := l.c.StartupProbe; p != nil {
		up := false
		s := newProber(startupProbe, p)
		s.changed = func(ok bool) {
			if up = ok; !ok {
				die("startup", p)
			}
		}
		s.run(ctx, func() bool { return up })
		if !up {
			return
		}
		l.hasStarted()
	}
	var all sync.WaitGroup
	defer all.Wait()
	if p := l.c.LivenessProbe; p != nil {
		s := newProber(livenessProbe, p)
		s.first = true
		s.changed = func(ok bool) {
			if !ok {
				die("liveness", p)
			}
		}
		all.Go(func() { s.run(ctx, forever) })
	}
	if p := l.c.ReadinessProbe; p != nil {
		s := newProber(readinessProbe, p)
		s.changed = func(ok bool) { l.w.update(func() { l.status.Ready = ok }) }
		all.Go(func() { s.run(ctx, forever) })
	}
}

// hasStarted: the container is up, and ready unless a probe is to say so.
func (l *loop) hasStarted() {
	yes := true
	l.w.update(func() {
		l.status.Started = &yes
		l.status.Ready = l.c.ReadinessProbe == nil
	})
	if l.started != nil && !closed(l.started) {
		close(l.started)
	}
}
