package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubespark/kubespark/hack/bench/result"
	"github.com/kubespark/kubespark/hack/bench/rig"
)

// What is measured of a burst of executors.
const (
	allExist  = "until all pods exist"
	allKnown  = "until the manager knows that all run"
	others99  = "another client's single writes meanwhile, p99"
	othersOff = "another client's single writes, idle, p99"
)

func burstMeasurement(name, title string, n func(sizes) int, goals []goal) measurement {
	return measurement{name: name, title: title, limit: 45 * time.Minute,
		how: "From the request until all pods exist (this program's watch), and until the allocator says at DEBUG that all run; " +
			"stock with its defaults, stock with the best of some batch settings, kubespark, and a client with 32 workers that does " +
			"nothing but POST the same pods. Meanwhile another client writes one small object after another.",
		run: func(b *bench, ctx context.Context) error { return b.burst(ctx, n(b.sizes)) }, goals: goals, bounds: burstBounds}
}

func burstGoals() []goal {
	return []goal{
		{"kubespark's time until all exist over the bare client's", "≤", 1.15, "×", ratio(allExist, result.Kubespark, result.Bare)},
		{"stock's time until all exist over kubespark's", "≥", 30, "×", ratio(allExist, result.Stock, result.Kubespark)},
		{"stock's time with the best batch over kubespark's", "≥", 15, "×", ratio(allExist, result.StockBest, result.Kubespark)},
		{"p99 of another client's writes during kubespark's burst over its idle p99", "≤", 1.5, "×", func(m *result.Measurement) (float64, bool) {
			return overIdle(m, result.Kubespark)
		}},
		{"the same during the bare client's, for comparison", "≤", 1.5, "×", func(m *result.Measurement) (float64, bool) {
			return overIdle(m, result.Bare)
		}},
	}
}

func overIdle(m *result.Measurement, who string) (float64, bool) {
	during, idle := m.Get(who, others99), m.Get("nobody", othersOff)
	return result.Median(during) / result.Median(idle), len(during) > 0 && len(idle) > 0
}

// filler is one way to make n executors. open is not timed, begin is; known, if not nil, gives the time at which the
// manager knew all.
type filler struct {
	who   string
	open  func(ctx context.Context, ns, app string) (session, error)
	turns int
}

type session struct {
	begin func(ctx context.Context, n int) (known <-chan time.Time, err error)
	end   func(ctx context.Context) error // takes the executors away
	pids  map[string]int
}

func (b *bench) burst(ctx context.Context, n int) error {
	if err := b.idle(ctx); err != nil {
		return err
	}
	turns := b.sizes.burstTurns
	if n == b.sizes.big {
		turns = max(1, turns-1)
	}
	fillers := []filler{{result.Bare, b.openBare, turns}, {result.Kubespark, b.openOurs, turns}}
	var failed error // one contender's trouble does not end the others' turns
	if b.stock {
		best, err := b.bestBatch(ctx, n)
		if failed = err; err == nil {
			fillers = append(fillers, filler{result.StockBest, b.openStock(best), 1})
		}
		fillers = append(fillers, filler{result.Stock, b.openStock(nil), 1})
	}
	for turn := range turns {
		for i, f := range fillers {
			if turn >= f.turns {
				continue
			}
			if err := b.fill(ctx, f, n, turn); err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: %w", f.who, err))
				fillers[i].turns = 0
			}
		}
	}
	return failed
}

// idle is how long single writes take when nobody else does anything.
func (b *bench) idle(ctx context.Context) error {
	if err := b.Namespace(ctx, "other"); err != nil {
		return err
	}
	p, err := b.Probe(ctx, "other")
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
	}
	took, err := p.Stop()
	if err != nil {
		return err
	}
	b.m.Add("nobody", othersOff, "ms", result.Quantile(milliseconds(took), 0.99))
	return nil
}

// fill measures one contender once, in a namespace of its own.
func (b *bench) fill(ctx context.Context, f filler, n, turn int) (err error) {
	ns := fmt.Sprintf("%s-%d", slug(f.who), turn)
	app := "app-" + ns
	if err := b.Namespace(ctx, ns); err != nil {
		return err
	}
	w, err := b.WatchPods(ctx, ns, rig.Executors(app), "", nil)
	if err != nil {
		return err
	}
	defer w.Close()
	s, err := f.open(ctx, ns, app)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, s.end(ctx), b.gone(ctx, f.who, ns, app, w))
	}()
	p, err := b.Probe(ctx, "other")
	if err != nil {
		return err
	}
	var began, exist time.Time
	var known <-chan time.Time
	err = b.phase(untilAll(f.who), s.pids, func() (err error) {
		began = time.Now()
		if known, err = s.begin(ctx, n); err != nil {
			return err
		}
		exist, err = w.Reached(ctx, n)
		return err
	})
	took, perr := p.Stop()
	if err = errors.Join(err, perr); err != nil {
		return err
	}
	b.m.Add(f.who, allExist, "s", exist.Sub(began).Seconds())
	b.m.Add(f.who, others99, "ms", result.Quantile(milliseconds(took), 0.99))
	if known == nil {
		return nil
	}
	select {
	case at := <-known:
		b.m.Add(f.who, allKnown, "s", at.Sub(began).Seconds())
	case <-ctx.Done():
		return fmt.Errorf("the manager never said that all run: %w", context.Cause(ctx))
	}
	return nil
}

// gone waits until a contender that has ended has no pods any more. It deletes those that it left: when their number is the
// same for a minute, nobody else will.
func (b *bench) gone(ctx context.Context, who, ns, app string, w *rig.Watch) error {
	for left := -1; left != w.Count(); {
		left = w.Count()
		quiet, cancel := context.WithTimeout(ctx, time.Minute)
		_, err := w.Fell(quiet, 0)
		cancel()
		if err == nil || ctx.Err() != nil || quiet.Err() == nil {
			return err
		}
	}
	b.m.Notes = append(b.m.Notes, fmt.Sprintf("%s left %d pods at its end; they were deleted for it.", who, w.Count()))
	if err := b.Delete(ctx, ns, rig.Executors(app)); err != nil {
		return err
	}
	_, err := w.Fell(ctx, 0)
	return err
}

// untilAll names the phase of a contender's burst.
func untilAll(who string) string { return who + ", until all exist" }

// slug makes a name of Kubernetes of a contender's.
func slug(who string) string { return strings.NewReplacer(", ", "-", " ", "-").Replace(who) }

func (b *bench) openBare(ctx context.Context, ns, app string) (session, error) {
	c, err := b.NewBare(ctx, ns, app)
	return session{
		begin: func(ctx context.Context, n int) (<-chan time.Time, error) { return nil, c.Create(ctx, 1, n) },
		end:   func(ctx context.Context) error { return b.Delete(ctx, ns, rig.Executors(app)) },
	}, err
}

func (b *bench) openOurs(ctx context.Context, ns, app string) (session, error) {
	m, err := b.OpenBridge(b.URL, ns, app, 0)
	if err != nil {
		return session{}, err
	}
	running, err := b.RegisterRunning(ctx, m)
	if err != nil {
		return session{}, errors.Join(err, m.Close())
	}
	return session{
		pids:  map[string]int{"kubespark-manager": m.PID()},
		begin: func(_ context.Context, n int) (<-chan time.Time, error) { return m.Target(1, n) },
		end: func(context.Context) error {
			_, err := m.Stop(time.Minute)
			running.Close()
			for _, line := range m.Trouble() {
				b.m.Notes = append(b.m.Notes, "The manager said: "+line)
			}
			return errors.Join(err, m.Close())
		},
	}, nil
}

func (b *bench) openStock(conf map[string]string) func(ctx context.Context, ns, app string) (session, error) {
	return func(ctx context.Context, ns, app string) (session, error) {
		s, err := b.OpenStock(ctx, b.sparkHome, b.URL, ns, app, conf)
		if err != nil {
			return session{}, err
		}
		return session{
			pids:  map[string]int{"stock's driver": s.PID()},
			begin: s.Request,
			end:   s.Stop,
		}, nil
	}
}

// bestBatch tries some settings on fewer executors and returns the fastest. Stock refuses delays up to 100 ms.
func (b *bench) bestBatch(ctx context.Context, n int) (map[string]string, error) {
	var best map[string]string
	var least time.Duration
	trial := min(n, b.sizes.batchTrial)
	for i, s := range []struct{ size, delay string }{{"100", "1s"}, {fmt.Sprint(n), "1s"}, {fmt.Sprint(n), "200ms"}} {
		conf := map[string]string{"spark.kubernetes.allocation.batch.size": s.size, "spark.kubernetes.allocation.batch.delay": s.delay}
		took, err := b.trial(ctx, conf, fmt.Sprintf("trial-%d", i), trial)
		if err != nil {
			return nil, fmt.Errorf("stock with batches of %s: %w", s.size, err)
		}
		b.m.Notes = append(b.m.Notes, fmt.Sprintf("Stock, %d executors with batch.size=%s and batch.delay=%s: %.1f s.", trial, s.size, s.delay, took.Seconds()))
		if best == nil || took < least {
			best, least = conf, took
		}
	}
	return best, nil
}

func (b *bench) trial(ctx context.Context, conf map[string]string, ns string, n int) (took time.Duration, err error) {
	if err := b.Namespace(ctx, ns); err != nil {
		return 0, err
	}
	w, err := b.WatchPods(ctx, ns, rig.Executors(ns), "", nil)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	s, err := b.OpenStock(ctx, b.sparkHome, b.URL, ns, ns, conf)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Stop(ctx)) }()
	began := time.Now()
	if _, err := s.Request(ctx, n); err != nil {
		return 0, err
	}
	at, err := w.Reached(ctx, n)
	return at.Sub(began), err
}
