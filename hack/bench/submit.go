package main

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubespark/kubespark/hack/bench/result"
	"github.com/kubespark/kubespark/hack/bench/rig"
)

// What is measured of one submission.
const (
	untilPod  = "until the driver pod exists"
	untilExit = "until exit"
	cpuTime   = "CPU time"
	peak      = "peak resident memory"
	// Of a command that does nothing: what the program is before it begins.
	peakBefore = "peak resident memory of kubespark version"
)

func submitMeasurement() measurement {
	return measurement{name: "submit", title: "One submission", limit: 8 * time.Minute,
		how: "`spark-submit` and `kubespark submit` with the same arguments, cluster mode, waitAppCompletion=false, in turns after one " +
			"of each to warm the files; wall time, and CPU and peak memory of the process and its children by wait4 in a small parent.",
		run: (*bench).submit, bounds: submitBounds,
		goals: []goal{
			{"stock's wall time until exit over kubespark's", "≥", 80, "×", ratio(untilExit, result.Stock, result.Kubespark)},
			{"stock's wall time until the pod exists over kubespark's", "≥", 80, "×", ratio(untilPod, result.Stock, result.Kubespark)},
			{"stock's CPU time over kubespark's", "≥", 200, "×", ratio(cpuTime, result.Stock, result.Kubespark)},
			{"stock's peak memory over kubespark's", "≥", 11, "×", ratio(peak, result.Stock, result.Kubespark)},
		}}
}

// arguments of a submission in cluster mode; the driver lands on the fake node.
func arguments(url, ns, name string) []string {
	args := []string{"--master", "k8s://" + url, "--deploy-mode", "cluster", "--name", name, "--class", "org.apache.spark.examples.SparkPi"}
	for k, v := range submission(ns, name) {
		args = append(args, "--conf", k+"="+v)
	}
	return append(args, "local:///opt/spark/examples/jars/spark-examples.jar", "10")
}

func submission(ns, name string) map[string]string {
	return map[string]string{"spark.kubernetes.namespace": ns, "spark.kubernetes.container.image": "kubespark/spark:4.2.0",
		"spark.kubernetes.driver.pod.name": name, "spark.kubernetes.submission.waitAppCompletion": "false",
		"spark.kubernetes.driver.node.selector." + rig.SelectorKey: rig.SelectorValue, "spark.executor.instances": "2"}
}

func (b *bench) submitCommand(ctx context.Context, who, url, ns, name string) *exec.Cmd {
	var cmd *exec.Cmd
	if who == result.Stock {
		cmd = exec.CommandContext(ctx, filepath.Join(b.sparkHome, "bin", "spark-submit"), arguments(url, ns, name)...)
		cmd.Env = b.Env("SPARK_HOME=" + b.sparkHome)
		return cmd
	}
	cmd = exec.CommandContext(ctx, filepath.Join(b.Bin, "kubespark"), append([]string{"submit"}, arguments(url, ns, name)...)...)
	cmd.Env = b.Env()
	return cmd
}

func (b *bench) submit(ctx context.Context) error {
	const ns = "submit"
	if err := b.Namespace(ctx, ns); err != nil {
		return err
	}
	w, err := b.WatchPods(ctx, ns, "spark-role=driver", "", nil)
	if err != nil {
		return err
	}
	defer w.Close()
	times := map[string]int{result.Stock: 1, result.Kubespark: b.sizes.oursPerTurn}
	for turn := range b.sizes.turns + 1 {
		for _, who := range b.contenders() {
			for i := range times[who] {
				name := fmt.Sprintf("%s-%d-%d", who, turn, i)
				ran, err := rig.RunApart(b.submitCommand(ctx, who, b.URL, ns, name))
				if err != nil {
					return err
				}
				at, err := b.appeared(ctx, w, name)
				if err != nil {
					return err
				}
				if turn == 0 {
					continue // the warm-up
				}
				b.m.Add(who, untilPod, "s", at.Sub(ran.Began).Seconds())
				b.m.Add(who, untilExit, "s", ran.Wall.Seconds())
				b.m.Add(who, cpuTime, "s", ran.CPU.Seconds())
				b.m.Add(who, peak, "MiB", ran.PeakMiB)
			}
		}
		ran, err := rig.RunApart(exec.CommandContext(ctx, filepath.Join(b.Bin, "kubespark"), "version"))
		if err != nil {
			return err
		}
		b.m.Add(result.Kubespark, peakBefore, "MiB", ran.PeakMiB)
	}
	return nil
}

// appeared is when a pod came into the watch; the event may be a moment behind the process's end.
func (b *bench) appeared(ctx context.Context, w *rig.Watch, name string) (time.Time, error) {
	limit := time.After(10 * time.Second)
	for {
		if at, ok := w.Seen(name); ok {
			return at, nil
		}
		select {
		case <-ctx.Done():
			return time.Time{}, context.Cause(ctx)
		case <-limit:
			return time.Time{}, fmt.Errorf("the pod %s was submitted and is not there", name)
		case <-time.After(time.Millisecond):
		}
	}
}

// What is measured of a submission's cost.
const (
	requests = "requests"
	wire     = "bytes on the wire"
)

func costMeasurement() measurement {
	return measurement{name: "cost", title: "API cost of a submission", audit: true, limit: 10 * time.Minute,
		how: "Requests of one submission by the API server's audit log, and bytes in both directions, TLS included, by a forwarder " +
			"in front of it.",
		run: (*bench).cost, bounds: costBounds,
		goals: []goal{{"kubespark's requests over stock's", "≤", 0.99, "×", ratio(requests, result.Kubespark, result.Stock)}}}
}

func (b *bench) cost(ctx context.Context) error {
	const ns = "cost"
	if err := b.Namespace(ctx, ns); err != nil {
		return err
	}
	agents := map[string]string{result.Stock: rig.StockAgent, result.Kubespark: rig.SubmitAgent}
	for turn := range max(1, b.sizes.turns/2) {
		for _, who := range b.contenders() {
			f, err := rig.Forward(strings.TrimPrefix(b.URL, "https://"))
			if err != nil {
				return err
			}
			began := time.Now()
			_, err = rig.Run(b.submitCommand(ctx, who, f.URL(), ns, fmt.Sprintf("%s-%d", who, turn)))
			f.Close()
			if err != nil {
				return err
			}
			found, err := rig.Requests(b.AuditLog(), agents[who], began)
			if err != nil {
				return err
			}
			b.m.Add(who, requests, "", float64(len(found)))
			b.m.Add(who, wire, "KiB", float64(f.Bytes())/1024)
			if turn == 0 {
				b.m.Notes = append(b.m.Notes, who+": "+list(rig.Count(found)))
			}
		}
	}
	return nil
}

func list(n map[string]int) string {
	if len(n) == 0 {
		return "nothing"
	}
	var out []string
	for _, what := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf("%d × %s", n[what], what))
	}
	return strings.Join(out, ", ")
}
