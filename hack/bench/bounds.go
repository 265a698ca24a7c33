package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubespark/kubespark/hack/bench/result"
)

// judge fills in a measurement's goals and, if one was missed, what bounds it. Both are functions of the numbers alone, so an
// old result file is judged anew when its page is written.
func judge(f *result.File) {
	for _, m := range measurements() {
		found := f.Find(m.name)
		if found == nil {
			continue
		}
		found.Goals, found.Bounds = verdicts(m, found), nil
		missed := slices.ContainsFunc(found.Goals, func(g result.Goal) bool { met, known := g.Met(); return known && !met })
		if missed && m.bounds != nil {
			found.Bounds = m.bounds(found, f.Machine.Cores)
		}
	}
}

func verdicts(m measurement, found *result.Measurement) []result.Goal {
	var out []result.Goal
	for _, g := range m.goals {
		goal := result.Goal{What: g.what, Op: g.op, Limit: g.limit, Unit: g.unit}
		if v, ok := g.figure(found); ok {
			goal.Figure = &v
		}
		out = append(out, goal)
	}
	return out
}

// work is who used how much CPU time, in seconds, in the phases of one name: the mean of its turns.
type work struct {
	seconds, busy float64 // of wall time; share of all CPUs
	by            map[string]float64
}

func workOf(m *result.Measurement, when string, cores int) (w work, ok bool) {
	w.by = map[string]float64{}
	n := 0.0
	for _, l := range m.Loads {
		if l.When != when {
			continue
		}
		n++
		w.seconds += l.Seconds
		w.busy += l.Busy
		for who, share := range l.Shares {
			w.by[who] += share * l.Busy * l.Seconds * float64(cores)
		}
	}
	if n == 0 {
		return w, false
	}
	w.seconds, w.busy = w.seconds/n, w.busy/n
	for who := range w.by {
		w.by[who] /= n
	}
	return w, true
}

// String is like "kube-apiserver 5.2 s, etcd 0.5 s": from the greatest down, without what is too little to see.
func (w work) String() string {
	total := 0.0
	for _, s := range w.by {
		total += s
	}
	var out []string
	for _, who := range result.FromGreatest(w.by) {
		if w.by[who] >= 0.01*total {
			out = append(out, fmt.Sprintf("%s %s s", who, result.Format(w.by[who])))
		}
	}
	return strings.Join(out, ", ")
}

func submitBounds(m *result.Measurement, _ int) []string {
	if m.Get(result.Kubespark, peakBefore) == nil {
		return nil // a file from before it was measured
	}
	before, all := result.Median(m.Get(result.Kubespark, peakBefore)), result.Median(m.Get(result.Kubespark, peak))
	return []string{fmt.Sprintf("Memory: %s of the %s MiB are resident before the submission begins (`kubespark version`): pages of the "+
		"program that Go's runtime and its libraries' initialisation touch.", result.Format(before), result.Format(all))}
}

func manyBounds(m *result.Measurement, cores int) []string {
	var out []string
	if w, ok := workOf(m, floodPhase, cores); ok {
		rate, own := result.Median(m.Get(result.Kubespark, oneProcess)), result.Median(m.Get(result.Kubespark, ownCPU))/1000
		rest := w.busy*float64(cores) - rate*own
		out = append(out, fmt.Sprintf("Submissions a second: the CPUs were %.0f %% busy, and kubespark's process used %.0f %% of that. The control plane's share of "+
			"a submission is %s ms of CPU time; with it a client that costs nothing would reach %s a second. CPU time: %s (others: kubespark's process and the kernel).",
			100*w.busy, 100*rate*own/(w.busy*float64(cores)), result.Format(1000*rest/rate), result.Format(rate*w.busy*float64(cores)/rest), w))
	}
	few, thousands := m.Get(anotherClient, writeFew), m.Get(anotherClient, writeThousand)
	if over, ok := overFew(m); !ok || over <= fewLimit || len(few) == 0 || len(thousands) == 0 {
		return out
	}
	fewest, most := result.Median(m.Get(result.Kubespark, withFew)), result.Median(m.Get(result.Kubespark, withThousand))
	a, b := result.Quantile(few, 0.99), result.Quantile(thousands, 0.99)
	return append(out, fmt.Sprintf("Beside thousands of drivers: the median submission takes %s ms instead of %s (%s ×). Another client's single writes, timed in the same moments, "+
		"have a p99 of %s ms with few drivers and of %s ms with thousands (%s ×): that much of it is the API server's.",
		result.Format(most), result.Format(fewest), result.Format(most/fewest), result.Format(a), result.Format(b), result.Format(b/a)))
}

func costBounds(*result.Measurement, int) []string {
	return []string{"Requests: the API has one for each object, and both sides make the same four. The fifth opens the gate that holds the " +
		"driver until all of them are there ([differences](differences.md)), so fewer than stock's cannot be reached, and as many only without the gate."}
}

// startBounds says which part of a start the archives shorten.
func startBounds(m *result.Measurement, _ int) []string {
	parts := func(who string) (ready, rest float64) {
		ready = result.Median(m.Get(who, contextReady))
		return ready, result.Median(m.Get(who, firstTask)) - ready
	}
	ready, rest := parts(result.Kubespark)
	ready2, rest2 := parts(result.Archived)
	return []string{fmt.Sprintf("Class-data archives: they take %.0f %% from the time to the SparkContext (%s s instead of %s), and %.0f %% from the rest, an executor's "+
		"container, its JVM and the first task (%s s instead of %s), by the medians. What is left is Spark's own start in two JVMs, one after the other.",
		100*(1-ready2/ready), result.Format(ready2), result.Format(ready), 100*(1-rest2/rest), result.Format(rest2), result.Format(rest))}
}

func burstBounds(m *result.Measurement, cores int) []string {
	var out []string
	bare, ok1 := workOf(m, untilAll(result.Bare), cores)
	ours, ok2 := workOf(m, untilAll(result.Kubespark), cores)
	if ok1 && ok2 {
		out = append(out, fmt.Sprintf("Against the bare client: the CPUs bound both (%.0f %% and %.0f %% busy). CPU time until all exist with the bare client: %s. With kubespark: %s.",
			100*bare.busy, 100*ours.busy, bare, ours))
	}
	for _, who := range []string{result.Stock, result.StockBest} {
		if r, ok := result.Ratio(m.Get(who, allExist), m.Get(result.Bare, allExist)); ok {
			out = append(out, fmt.Sprintf("Against %s: the bare client itself is %s × faster; the API server has no more.", who, result.Format(r)))
		}
	}
	if r, ok := overIdle(m, result.Bare); ok {
		out = append(out, fmt.Sprintf("Another client's writes: beside the bare client their p99 is %s × the idle one; they wait for the CPUs.", result.Format(r)))
	}
	return out
}

func tenBounds(m *result.Measurement, cores int) []string {
	var out []string
	if bare := m.Get(result.Bare, allGone); len(bare) > 0 {
		out = append(out, fmt.Sprintf("Gone: the bare client's pods, deleted without grace, take %s s. Executors have their grace, so each is written twice: "+
			"marked by the server, removed when its node has ended it.", result.Format(result.Median(bare))))
	}
	told := map[string]bool{}
	for _, l := range m.Loads {
		if w, ok := workOf(m, l.When, cores); ok && !told[l.When] {
			told[l.When] = true
			out = append(out, fmt.Sprintf("%s: %s s, CPUs %.0f %% busy; CPU time: %s.", l.When, result.Format(w.seconds), 100*w.busy, w))
		}
	}
	return out
}
