package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/hack/bench/result"
	"github.com/kubespark/kubespark/hack/bench/rig"
	"github.com/kubespark/kubespark/submit"
)

// What is measured of many submissions.
const (
	floodPhase   = "one process"
	oneProcess   = "submissions a second, one process"
	processes    = "submissions a minute, processes in parallel"
	ownCPU       = "own CPU time of a submission, one process"
	withFew      = "a submission with few live drivers"
	withThousand = "a submission with thousands of live drivers"

	anotherClient = "another client"
	writeFew      = "a single write beside submissions, few live drivers"
	writeThousand = "a single write beside submissions, thousands of live drivers"
)

func manyMeasurement() measurement {
	return measurement{name: "many", title: "Many submissions", limit: 20 * time.Minute,
		how: "One process submits through the Go package for a minute with 24 submissions at a time, its CPU by wait4; then kubespark's " +
			"and stock's processes, as many at a time as bear fruit on this machine (8 and one for each core). A submission's time is " +
			"measured one after another, with few live drivers and with thousands, when the servers rest, and beside it another client's " +
			"single writes. For comparison, published for an operator on 36 cores: 130 to 155 a minute.",
		run: (*bench).many, bounds: manyBounds,
		goals: []goal{
			{"submissions a second in one process", "≥", 100, "/s", ours(oneProcess, 0.5)},
			{"own CPU time of each", "≤", 10, "ms", ours(ownCPU, 0.5)},
			{"p99 with thousands of live drivers over p99 with few", "≤", fewLimit, "×", overFew},
		}}
}

// fewLimit is the goal for overFew.
const fewLimit = 1.2

// overFew is how much longer submissions take at worst beside thousands of drivers.
func overFew(m *result.Measurement) (float64, bool) {
	few, many := m.Get(result.Kubespark, withFew), m.Get(result.Kubespark, withThousand)
	return result.Quantile(many, 0.99) / result.Quantile(few, 0.99), len(few) > 0 && len(many) > 0
}

// submitted is what the submitter process prints.
type submitted struct {
	Seconds float64   `json:"seconds"`
	TookMs  []float64 `json:"tookMs"`
}

// submitter submits through the Go package, as a service would.
func submitter(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("submitter", flag.ContinueOnError)
	url := flags.String("url", "", "API server")
	ns := flags.String("namespace", "", "namespace")
	prefix := flags.String("prefix", "", "of the names")
	n := flags.Int("n", 1<<30, "at most so many")
	seconds := flags.Int("seconds", 3600, "at most so long")
	parallel := flags.Int("parallel", 1, "so many at a time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cfg, err := submit.RESTConfig(conf.New(nil), *url, os.LookupEnv)
	if err != nil {
		return err
	}
	client, err := submit.NewClient(cfg)
	if err != nil {
		return err
	}
	var (
		next  atomic.Int64
		mu    sync.Mutex
		found submitted
		began = time.Now()
	)
	g, ctx := errgroup.WithContext(ctx)
	for range *parallel {
		g.Go(func() error {
			for {
				i := int(next.Add(1))
				if i > *n || time.Since(began) > time.Duration(*seconds)*time.Second {
					return nil
				}
				start := time.Now()
				if err := submitOne(ctx, client, *url, *ns, fmt.Sprintf("%s-%d", *prefix, i)); err != nil {
					return err
				}
				mu.Lock()
				found.TookMs = append(found.TookMs, ms(time.Since(start)))
				mu.Unlock()
			}
		})
	}
	err = g.Wait()
	found.Seconds = time.Since(began).Seconds()
	return errors.Join(err, json.NewEncoder(out).Encode(found))
}

func submitOne(ctx context.Context, client *submit.Client, url, ns, name string) error {
	plan, err := submit.NewPlan(submit.Args{Master: "k8s://" + url, DeployMode: "cluster", Name: name, MainClass: "org.apache.spark.examples.SparkPi",
		PrimaryResource: "local:///opt/spark/examples/jars/spark-examples.jar", Conf: submission(ns, name)}, submit.Env{UserName: "bench"})
	if err != nil {
		return err
	}
	return client.Create(ctx, plan)
}

func (b *bench) submitter(ctx context.Context, args ...string) (submitted, rig.Ran, error) {
	var found submitted
	own, err := os.Executable()
	if err != nil {
		return found, rig.Ran{}, err
	}
	cmd := exec.CommandContext(ctx, own, append([]string{"submitter", "-url", b.URL, "-namespace", "many"}, args...)...)
	cmd.Env = b.Env()
	ran, err := rig.Run(cmd)
	if err != nil {
		return found, ran, err
	}
	if err := json.Unmarshal([]byte(ran.Output), &found); err != nil {
		return found, ran, fmt.Errorf("read what the submitter says: %w", err)
	}
	return found, ran, nil
}

func (b *bench) many(ctx context.Context) error {
	if err := b.Namespace(ctx, "many"); err != nil {
		return err
	}
	live, err := b.WatchPods(ctx, "many", "spark-role=driver", "status.phase=Running", nil)
	if err != nil {
		return err
	}
	defer live.Close()
	var failed error // one part's trouble does not end the others
	for _, step := range []func(context.Context, *rig.Watch) error{b.few, b.inProcesses, b.flood, b.thousands} {
		failed = errors.Join(failed, step(ctx, live))
	}
	return failed
}

// few times submissions with few live drivers; those it makes are deleted as it goes.
func (b *bench) few(ctx context.Context, live *rig.Watch) error {
	if _, _, err := b.submitter(ctx, "-prefix", "few", "-n", fmt.Sprint(b.sizes.few)); err != nil {
		return err
	}
	if _, err := live.Reached(ctx, b.sizes.few); err != nil {
		return err
	}
	for done := 0; done < b.sizes.timed; done += b.sizes.few {
		if err := b.timed(ctx, fmt.Sprintf("timed-%d", done), withFew, writeFew); err != nil {
			return err
		}
		if err := b.deleteDrivers(ctx, live); err != nil {
			return err
		}
		if _, _, err := b.submitter(ctx, "-prefix", fmt.Sprintf("few-%d", done), "-n", fmt.Sprint(b.sizes.few)); err != nil {
			return err
		}
	}
	return b.deleteDrivers(ctx, live)
}

// timed times some submissions, one after another, and beside them another client's single writes.
func (b *bench) timed(ctx context.Context, prefix, submission, write string) error {
	p, err := b.Probe(ctx, "many")
	if err != nil {
		return err
	}
	found, _, err := b.submitter(ctx, "-prefix", prefix, "-n", fmt.Sprint(b.sizes.few))
	writes, perr := p.Stop()
	if err := errors.Join(err, perr); err != nil {
		return err
	}
	b.m.Add(result.Kubespark, submission, "ms", found.TookMs[1:]...) // without the one that connects
	b.m.Add(anotherClient, write, "ms", milliseconds(writes[min(1, len(writes)):])...)
	return nil
}

func (b *bench) deleteDrivers(ctx context.Context, live *rig.Watch) error {
	if err := b.Delete(ctx, "many", "spark-role=driver"); err != nil {
		return err
	}
	_, err := live.Fell(ctx, 0)
	return err
}

// inProcesses submits with processes in parallel.
func (b *bench) inProcesses(ctx context.Context, _ *rig.Watch) error {
	for _, c := range []struct {
		who         string
		n, parallel int
	}{{result.Kubespark, b.sizes.ourProcesses, 8}, {result.Stock, b.sizes.stockProcesses, 2}} {
		if c.who == result.Stock && !b.stock {
			continue
		}
		began := time.Now()
		err := b.phase(c.who+" in processes", nil, func() error {
			var g errgroup.Group
			g.SetLimit(c.parallel)
			for i := range c.n {
				g.Go(func() error {
					_, err := rig.Run(b.submitCommand(ctx, c.who, b.URL, "many", fmt.Sprintf("process-%s-%d", slug(c.who), i)))
					return err
				})
			}
			return g.Wait()
		})
		if err != nil {
			return err
		}
		b.m.Add(c.who, processes, "/min", float64(c.n)/time.Since(began).Minutes())
	}
	return nil
}

// flood submits from one process for a while.
func (b *bench) flood(ctx context.Context, _ *rig.Watch) error {
	return b.phase(floodPhase, nil, func() error {
		found, ran, err := b.submitter(ctx, "-prefix", "flood", "-seconds", fmt.Sprint(b.sizes.floodSeconds), "-parallel", "24")
		if err != nil {
			return err
		}
		n := float64(len(found.TookMs))
		b.m.Add(result.Kubespark, oneProcess, "/s", n/found.Seconds)
		b.m.Add(result.Kubespark, ownCPU, "ms", 1000*ran.CPU.Seconds()/n)
		b.m.Notes = append(b.m.Notes, fmt.Sprintf("One process: %.0f submissions in %.1f s, median %s ms, p99 %s ms each, peak memory %s MiB.", n, found.Seconds,
			result.Format(result.Median(found.TookMs)), result.Format(result.Quantile(found.TookMs, 0.99)), result.Format(ran.PeakMiB)))
		return nil
	})
}

// The servers rest when they use less than this share of the CPUs for so long; they are given so much time to come to it.
const (
	restShare = 0.2
	restFor   = 5 * time.Second
	restLimit = 5 * time.Minute
)

// settle waits until enough drivers run and the servers rest: a flood leaves their controllers with work for minutes.
func (b *bench) settle(ctx context.Context, live *rig.Watch) error {
	if _, err := live.Reached(ctx, b.sizes.live); err != nil {
		return err
	}
	for began := time.Now(); ; {
		m, err := b.Measure(nil)
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(restFor):
		}
		l, err := m.Stop("")
		if err != nil || l.Busy < restShare {
			return err
		}
		if took := time.Since(began); took > restLimit {
			b.m.Notes = append(b.m.Notes, fmt.Sprintf("The servers still used %.0f %% of the CPUs %.0f s after the flood; the submissions after it were timed beside that.", 100*l.Busy, took.Seconds()))
			return nil
		}
	}
}

// thousands times submissions with thousands of live drivers.
func (b *bench) thousands(ctx context.Context, live *rig.Watch) error {
	if missing := b.sizes.live - live.Count(); missing > 0 {
		if _, _, err := b.submitter(ctx, "-prefix", "more", "-n", fmt.Sprint(missing), "-parallel", "24"); err != nil {
			return err
		}
	}
	if err := b.settle(ctx, live); err != nil {
		return err
	}
	for done := 0; done < b.sizes.timed; done += b.sizes.few {
		if err := b.timed(ctx, fmt.Sprintf("late-%d", done), withThousand, writeThousand); err != nil {
			return err
		}
	}
	b.m.Notes = append(b.m.Notes, fmt.Sprintf("Live drivers at the end: %d.", live.Count()))
	return nil
}
