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

// What is measured while nothing happens.
const (
	perHour    = "requests an hour"
	lists      = "LISTs of pods"
	wireMinute = "bytes on the wire a minute"
	resident   = "manager's resident memory, 1,000 executors"
	heap       = "heap that 1,000 executors cost the driver's JVM"
)

func steadyMeasurement() measurement {
	return measurement{name: "steady", title: "Steady state at 1,000 executors", audit: true, limit: 18 * time.Minute,
		how: "Stock's driver (best batch) and kubespark's manager hold 1,000 executors each, side by side for five minutes in which nothing " +
			"happens to any pod. Requests by the audit log, bytes by a forwarder for each. Then memory: the manager's resident size, " +
			"and the heap of stock's driver after a collection, less what it was without executors.",
		run: (*bench).steady,
		goals: []goal{
			{"LISTs after the first", "≤", 0, "", ours(lists, 0.5)},
			{"requests an hour", "≤", 20, "/h", ours(perHour, 0.5)},
			{"kubespark's bytes over stock's", "≤", 0.02, "×", ratio(wireMinute, result.Kubespark, result.Stock)},
			{"manager's resident memory at 1,000 executors", "≤", 24, "MiB", ours(resident, 0.5)},
		}}
}

// watched is a contender at rest.
type watched struct {
	who, agent string
	forward    *rig.Forwarder
}

func (b *bench) steady(ctx context.Context) (err error) {
	n := b.sizes.mid
	var all []watched
	agents := map[string]string{result.Kubespark: rig.ManagerAgent, result.Stock: rig.StockAgent}
	for _, who := range b.contenders() {
		f, err := rig.Forward(strings.TrimPrefix(b.URL, "https://"))
		if err != nil {
			return err
		}
		defer f.Close()
		all = append(all, watched{who, agents[who], f})
		if err := b.Namespace(ctx, who); err != nil {
			return err
		}
	}
	m, running, err := b.ourExecutors(ctx, all[len(all)-1].forward.URL(), result.Kubespark, n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	defer running.Close()
	if !b.stock {
		return errors.Join(b.rest(ctx, all), b.ourMemory(m))
	}
	return b.steadyStock(ctx, all, n, m)
}

// steadyStock rests with stock beside ours.
func (b *bench) steadyStock(ctx context.Context, all []watched, n int, m *rig.Bridge) error {
	alone := func(err error) error { return errors.Join(err, b.rest(ctx, all[1:]), b.ourMemory(m)) }
	s, err := b.OpenStock(ctx, b.sparkHome, all[0].forward.URL(), result.Stock, result.Stock, batchOf(n))
	if err != nil {
		return alone(err)
	}
	defer s.Kill()
	before, err := s.HeapMiB(ctx)
	if err != nil {
		return alone(err)
	}
	if err := b.stockExecutors(ctx, s, result.Stock, n); err != nil {
		return alone(err)
	}
	return errors.Join(b.rest(ctx, all), b.ourMemory(m), b.stockMemory(ctx, s, before))
}

// batchOf are batch settings with which stock creates quickly.
func batchOf(n int) map[string]string {
	return map[string]string{"spark.kubernetes.allocation.batch.size": fmt.Sprint(n)}
}

// ourExecutors starts a manager and waits until its executors run and are registered. The application's id is the
// namespace's name.
func (b *bench) ourExecutors(ctx context.Context, url, ns string, n int) (*rig.Bridge, *rig.Watch, error) {
	m, err := b.OpenBridge(url, ns, ns, n)
	if err != nil {
		return nil, nil, err
	}
	running, err := b.RegisterRunning(ctx, m)
	if err == nil {
		if _, err = running.Reached(ctx, n); err == nil {
			err = m.Ping()
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, m.Close())
	}
	return m, running, nil
}

func (b *bench) stockExecutors(ctx context.Context, s *rig.Stock, ns string, n int) error {
	known, err := s.Request(ctx, n)
	if err != nil {
		return err
	}
	select {
	case <-known:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stock's %d executors in %s never ran: %w", n, ns, context.Cause(ctx))
	}
}

// rest counts what contenders ask for while nothing happens.
func (b *bench) rest(ctx context.Context, all []watched) error {
	length := time.Duration(b.sizes.steadySeconds) * time.Second
	select { // events that are still under way
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(min(5*time.Second, length)):
	}
	began := time.Now()
	bytes := map[string]int64{}
	for _, w := range all {
		bytes[w.who] = w.forward.Bytes()
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(length):
	}
	took := time.Since(began)
	for _, w := range all {
		b.m.Add(w.who, wireMinute, "KiB", float64(w.forward.Bytes()-bytes[w.who])/1024/took.Minutes())
		found, err := rig.Requests(b.AuditLog(), w.agent, began)
		if err != nil {
			return err
		}
		count := rig.Count(found)
		b.m.Add(w.who, perHour, "/h", float64(len(found))/took.Hours())
		b.m.Add(w.who, lists, "", float64(count["list pods"]))
		b.m.Notes = append(b.m.Notes, fmt.Sprintf("%s in %.0f s: %s.", w.who, took.Seconds(), list(count)))
	}
	return nil
}

func (b *bench) ourMemory(m *rig.Bridge) error {
	rss, err := rig.MemoryMiB(m.PID(), "VmRSS")
	if err != nil {
		return err
	}
	highest, err := rig.MemoryMiB(m.PID(), "VmHWM")
	b.m.Add(result.Kubespark, resident, "MiB", rss)
	b.m.Add(result.Kubespark, "its greatest so far", "MiB", highest)
	return err
}

func (b *bench) stockMemory(ctx context.Context, s *rig.Stock, before float64) error {
	after, err := s.HeapMiB(ctx)
	if err != nil {
		return err
	}
	b.m.Add(result.Stock, heap, "MiB", after-before)
	jvm, err := rig.MemoryMiB(s.PID(), "VmRSS")
	b.m.Add(result.Stock, "the driver's whole resident memory", "MiB", jvm)
	return err
}
