package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubespark/kubespark/hack/bench/result"
	"github.com/kubespark/kubespark/hack/bench/rig"
)

// What is measured at the greatest size.
const (
	allRun      = "until all run and are known"
	allGone     = "until all are gone after the stop"
	share       = "the manager's share of the CPU time used"
	lost        = "executors lost or never known"
	residentTen = "manager's resident memory, all executors there"
	heapTen     = "heap that the executors cost the driver's JVM"
)

func tenMeasurement() measurement {
	return measurement{name: "ten", title: "10,000 executors", limit: 45 * time.Minute,
		how: "The bare client makes 10,000 pods, until all run; stock's driver then starts beside them (their labels are its own), so " +
			"that its heap holds them, and is killed; the pods are deleted with one request. Then kubespark's manager is asked for as " +
			"many: until all run and are registered and its allocator says that all run, and after the stop until all are gone. The " +
			"bare client has a second turn after that, so that neither side has the younger cluster.",
		run: (*bench).ten, bounds: tenBounds,
		goals: []goal{
			{"kubespark's time until all run and are known over the bare client's", "≤", 1.2, "×", ratio(allRun, result.Kubespark, result.Bare)},
			{"gone after the stop", "≤", 60, "s", ours(allGone, 0.5)},
			{"the manager's share of the CPU time", "≤", 10, "%", ours(share, 0.5)},
			{"executors lost or never known", "≤", 0, "", ours(lost, 0.5)},
			{"manager's resident memory", "≤", 40, "MiB", ours(residentTen, 0.5)},
		}}
}

func (b *bench) ten(ctx context.Context) error {
	for _, ns := range []string{"bare", "ours", "bare-again"} {
		if err := b.Namespace(ctx, ns); err != nil {
			return err
		}
	}
	return errors.Join(b.tenBare(ctx, "bare", b.stockBeside), b.tenOurs(ctx), b.tenBare(ctx, "bare-again", nil))
}

// tenBare is a turn of the bare client. beside, if not nil, runs while all pods are there.
func (b *bench) tenBare(ctx context.Context, ns string, beside func(ctx context.Context, ns string) error) error {
	n := b.sizes.ten
	running, err := b.WatchPods(ctx, ns, rig.Executors(ns), "status.phase=Running", nil)
	if err != nil {
		return err
	}
	defer running.Close()
	all, err := b.WatchPods(ctx, ns, rig.Executors(ns), "", nil)
	if err != nil {
		return err
	}
	defer all.Close()
	c, err := b.NewBare(ctx, ns, ns)
	if err != nil {
		return err
	}
	var began time.Time
	err = b.phase("bare client, until all run", nil, func() error {
		began = time.Now()
		if err := c.Create(ctx, 1, n); err != nil {
			return err
		}
		at, err := running.Reached(ctx, n)
		if err == nil {
			b.m.Add(result.Bare, allRun, "s", at.Sub(began).Seconds())
		}
		return err
	})
	if err != nil {
		return err
	}
	var failed error // which does not keep the pods from being deleted
	if beside != nil {
		failed = beside(ctx, ns)
	}
	return errors.Join(failed, b.phase("bare client, until all are gone", nil, func() error {
		began := time.Now()
		if err := b.Delete(ctx, ns, rig.Executors(ns)); err != nil {
			return err
		}
		at, err := all.Fell(ctx, 0)
		if err == nil {
			b.m.Add(result.Bare, allGone, "s", at.Sub(began).Seconds())
		}
		return err
	}))
}

// stockBeside starts stock's driver with pods that are there already and measures the heap they cost it.
func (b *bench) stockBeside(ctx context.Context, ns string) error {
	if !b.stock {
		return nil
	}
	heaps := map[string]float64{}
	for _, app := range []string{"nobody", ns} {
		s, err := b.OpenStock(ctx, b.sparkHome, b.URL, ns, app, map[string]string{"spark.driver.memory": "2g"})
		if err != nil {
			return err
		}
		select { // its first list, and one more look
		case <-ctx.Done():
		case <-time.After(15 * time.Second):
		}
		heaps[app], err = s.HeapMiB(ctx)
		s.Kill()
		if err != nil {
			return err
		}
	}
	b.m.Add(result.Stock, heapTen, "MiB", heaps[ns]-heaps["nobody"])
	b.m.Notes = append(b.m.Notes, fmt.Sprintf("Stock's heap beside %d pods of its own: %.1f MiB, without: %.1f MiB.", b.sizes.ten, heaps[ns], heaps["nobody"]))
	return nil
}

func (b *bench) tenOurs(ctx context.Context) (err error) {
	n := b.sizes.ten
	all, err := b.WatchPods(ctx, "ours", rig.Executors("ours"), "", nil)
	if err != nil {
		return err
	}
	defer all.Close()
	m, err := b.OpenBridge(b.URL, "ours", "ours", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	running, err := b.RegisterRunning(ctx, m)
	if err != nil {
		return err
	}
	defer running.Close()
	meter, err := b.Measure(map[string]int{"kubespark-manager": m.PID()})
	if err != nil {
		return err
	}
	began := time.Now()
	known, err := m.Target(1, n)
	if err != nil {
		return err
	}
	if _, err := running.Reached(ctx, n); err != nil {
		return err
	}
	if err := m.Ping(); err != nil {
		return err
	}
	select {
	case <-known:
	case <-ctx.Done():
		return fmt.Errorf("the manager never said that all run: %w", context.Cause(ctx))
	}
	b.m.Add(result.Kubespark, allRun, "s", time.Since(began).Seconds())
	l, err := meter.Stop("kubespark, until all run")
	if err != nil {
		return err
	}
	b.m.Loads = append(b.m.Loads, l)
	b.m.Add(result.Kubespark, share, "%", 100*l.Shares["kubespark-manager"])
	b.m.Add(result.Kubespark, lost, "", float64(n-m.Known()+len(m.Removed())))
	if err := b.tenMemory(m); err != nil {
		return err
	}
	return b.tenStop(ctx, m, all)
}

func (b *bench) tenMemory(m *rig.Bridge) error {
	for what, field := range map[string]string{residentTen: "VmRSS", "its greatest so far": "VmHWM"} {
		v, err := rig.MemoryMiB(m.PID(), field)
		if err != nil {
			return err
		}
		b.m.Add(result.Kubespark, what, "MiB", v)
	}
	return nil
}

func (b *bench) tenStop(ctx context.Context, m *rig.Bridge, all *rig.Watch) error {
	return b.phase("kubespark, until all are gone", map[string]int{"kubespark-manager": m.PID()}, func() error {
		began := time.Now()
		left, err := m.Stop(2 * time.Minute)
		if err != nil {
			return err
		}
		at, err := all.Fell(ctx, 0)
		if err == nil {
			b.m.Add(result.Kubespark, allGone, "s", at.Sub(began).Seconds())
		}
		b.m.Notes = append(b.m.Notes, fmt.Sprintf("Of the stop the manager says: %d pods left.", left))
		for _, line := range m.Trouble() {
			b.m.Notes = append(b.m.Notes, "The manager said: "+line)
		}
		return err
	})
}
