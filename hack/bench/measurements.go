package main

import (
	"context"
	"time"

	"github.com/kubespark/kubespark/hack/bench/result"
)

// measurement is one row of the plan.
type measurement struct {
	name, title string
	how         string // whole sentences for the page
	node, audit bool   // the cluster has the process node, an audit log
	limit       time.Duration
	run         func(*bench, context.Context) error
	goals       []goal
	bounds      func(m *result.Measurement, cores int) []string // of a missed goal, whole sentences of measured numbers
}

// goal is what a measurement should reach.
type goal struct {
	what, op string
	limit    float64
	unit     string
	figure   func(*result.Measurement) (float64, bool)
}

// sizes are the numbers of one kind of run.
type sizes struct {
	turns           int // of stock, for one submission and the start of an application
	oursPerTurn     int // submissions of kubespark for each one of stock
	floodSeconds    int // of many submissions in one process
	few, live       int // drivers there are when submissions are timed
	timed           int // submissions that are timed then
	stockProcesses  int
	ourProcesses    int
	small, mid, big int // executors of the three bursts
	batchTrial      int // executors for the search of stock's best batch
	burstTurns      int // of the bare client and kubespark; the greatest burst has one less
	steadySeconds   int
	losses          int // executors lost one after another, ours
	stockLosses     int
	shareTurns      int // starts of the manager
	ten             int // "10,000"
}

var (
	full = sizes{turns: 5, oursPerTurn: 4, floodSeconds: 60, few: 10, live: 5000, timed: 600, stockProcesses: 8, ourProcesses: 200,
		small: 100, mid: 1000, big: 3000, batchTrial: 200, burstTurns: 3, steadySeconds: 300, losses: 100, stockLosses: 20,
		shareTurns: 10, ten: 10000}
	quick = sizes{turns: 1, oursPerTurn: 2, floodSeconds: 3, few: 5, live: 50, timed: 10, stockProcesses: 2, ourProcesses: 4,
		small: 20, mid: 40, big: 60, batchTrial: 20, burstTurns: 1, steadySeconds: 5, losses: 5, stockLosses: 2,
		shareTurns: 2, ten: 200}
)

// measurements is the plan, in the order of the page.
func measurements() []measurement {
	return []measurement{
		submitMeasurement(), manyMeasurement(), costMeasurement(), startMeasurement(),
		burstMeasurement("executors-s", "100 executors", func(s sizes) int { return s.small }, nil),
		burstMeasurement("executors-m", "1,000 executors", func(s sizes) int { return s.mid }, burstGoals()),
		burstMeasurement("executors-l", "3,000 executors", func(s sizes) int { return s.big }, burstGoals()),
		steadyMeasurement(), lossMeasurement(), tenMeasurement(),
	}
}

// ratio is the goal "median of a over median of b" in one respect.
func ratio(what string, a, b string) func(*result.Measurement) (float64, bool) {
	return func(m *result.Measurement) (float64, bool) { return result.Ratio(m.Get(a, what), m.Get(b, what)) }
}

// ours is a goal on one series of kubespark's.
func ours(what string, q float64) func(*result.Measurement) (float64, bool) {
	return func(m *result.Measurement) (float64, bool) {
		v := m.Get(result.Kubespark, what)
		return result.Quantile(v, q), len(v) > 0
	}
}

// contenders of a measurement in which each does the same in turns.
func (b *bench) contenders() []string {
	if !b.stock {
		return []string{result.Kubespark}
	}
	return []string{result.Stock, result.Kubespark}
}

func milliseconds(all []time.Duration) []float64 {
	out := make([]float64, len(all))
	for i, d := range all {
		out[i] = float64(d.Microseconds()) / 1000
	}
	return out
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// phase measures who uses the CPUs while f runs.
func (b *bench) phase(when string, extra map[string]int, f func() error) error {
	m, err := b.Measure(extra)
	if err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	l, err := m.Stop(when)
	b.m.Loads = append(b.m.Loads, l)
	return err
}
