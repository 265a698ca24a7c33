package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kubespark/kubespark/hack/sparksuite/results"
	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

type runFlags struct {
	options         trial.Options
	journal         string
	committed, logs string
	commit          string
	pick            picked
	parallel        int
	limit           time.Duration
	again           bool
}

func parse(args []string) (*runFlags, error) {
	f := &runFlags{options: trial.Options{Homes: map[string]string{}}}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.StringVar(&f.options.Root, "root", "", "the repository")
	flags.StringVar(&f.options.Bin, "bin", "", "the built programs")
	flags.StringVar(&f.options.Cache, "cache", "", "folder of downloads")
	flags.StringVar(&f.options.Port, "port", "20443", "port of the cluster's API server")
	flags.StringVar(&f.pick.schedulers, "schedulers", "", "schedulers to run beside the cluster's own; the rows that need them, and the whole suite under each, are then the rows to run")
	flags.StringVar(&f.options.Network, "network", "127.150.0.0/16", "network of the cluster")
	flags.BoolVar(&f.options.ClassData, "class-data", false, "make class-data archives in the image with kubespark: a minute that pays over many rows")
	flags.DurationVar(&f.options.Patience, "patience", trial.Patience, "how long pods and texts in logs are awaited")
	flags.StringVar(&f.journal, "journal", "", "file of this round's results, to resume from")
	flags.StringVar(&f.committed, "results", "", "file of results that the page is made of")
	flags.StringVar(&f.logs, "logs", "", "folder for what failed rows leave to look at")
	flags.StringVar(&f.commit, "commit", "", "the commit that is run")
	flags.StringVar(&f.pick.rows, "rows", "", "numbers of rows, such as 1-12,18; empty for all")
	flags.StringVar(&f.pick.columns, "columns", "", "names of columns; empty for all")
	flags.StringVar(&f.pick.versions, "spark", "", "versions of Spark; empty for all")
	flags.IntVar(&f.parallel, "parallel", 1, "rows at a time")
	flags.DurationVar(&f.limit, "for", 0, "start no row after this time; 0 for no limit")
	flags.BoolVar(&f.again, "again", false, "run rows again that failed in this round")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	f.options.Logs, f.options.Schedulers = f.logs, f.pick.schedulerNames()
	for _, pair := range flags.Args() {
		version, home, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("%s: want VERSION=SPARK_HOME", pair)
		}
		f.options.Homes[version] = home
	}
	return f, nil
}

func runRows(ctx context.Context, args []string) error {
	f, err := parse(args)
	if err != nil {
		return err
	}
	done, err := results.File(f.journal).Read()
	if err != nil {
		return err
	}
	all, err := f.pick.cells()
	if err != nil {
		return err
	}
	todo := open(all, done, f.again)
	fmt.Printf("%d cells, %d to run\n", len(all), len(todo))
	if len(todo) == 0 {
		return nil
	}
	if err := os.MkdirAll(f.logs, 0o755); err != nil {
		return err
	}
	cluster, err := trial.Up(ctx, f.options, versionsOf(todo))
	if err != nil {
		return err
	}
	r := &runner{runFlags: f, cluster: cluster}
	err = r.all(ctx, todo)
	return errors.Join(err, cluster.Down())
}

// runner runs cells, some at a time.
type runner struct {
	*runFlags
	cluster *trial.Cluster

	mu     sync.Mutex // the files and the counts
	failed []string
	broken error
}

func (r *runner) all(ctx context.Context, todo []cell) error {
	began := time.Now()
	queue := make(chan cell)
	var workers sync.WaitGroup
	for range max(1, r.parallel) {
		workers.Go(func() {
			for c := range queue {
				r.one(ctx, c)
			}
		})
	}
	for _, c := range todo {
		if ctx.Err() != nil || r.limit > 0 && time.Since(began) > r.limit {
			fmt.Println("stopped; the next run goes on from here")
			break
		}
		queue <- c
	}
	close(queue)
	workers.Wait()
	if len(r.failed) > 0 {
		return errors.Join(r.broken, fmt.Errorf("%d rows failed: %s", len(r.failed), strings.Join(r.failed, ", ")))
	}
	return errors.Join(r.broken, ctx.Err())
}

func (r *runner) one(ctx context.Context, c cell) {
	began := time.Now()
	verdict, details, err := results.Passed, "", error(nil)
	if c.column.Kill && c.row.DriverOnly {
		verdict = results.None
	} else {
		details, err = trial.Run(ctx, r.cluster, c.row, c.column, c.spark)
	}
	if ctx.Err() != nil {
		return // interrupted: no verdict
	}
	result := results.Result{Row: c.row.Number, Column: c.column.Name, Spark: c.spark, Verdict: verdict,
		Seconds: float64(time.Since(began).Milliseconds()/100) / 10, Commit: r.commit}
	if err != nil {
		result.Verdict = results.Failed
		result.Error, _, _ = strings.Cut(err.Error(), "\n")
	}
	r.record(c, result, fmt.Sprintf("%v\n%s", err, details))
}

func (r *runner) record(c cell, result results.Result, details string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Printf("%-6s %5.1f s  %s  %s\n", result.Verdict, result.Seconds, c, result.Error)
	log := filepath.Join(r.logs, fmt.Sprintf("%s-%s-%02d.txt", c.spark, c.column.Name, c.row.Number))
	if result.Verdict == results.Failed {
		if !explained(result.Key()) {
			r.failed = append(r.failed, c.String())
		}
		r.broken = errors.Join(r.broken, os.WriteFile(log, []byte(details), 0o644))
	}
	r.broken = errors.Join(r.broken, results.File(r.journal).Append(result))
	if r.committed != "" {
		r.broken = errors.Join(r.broken, results.File(r.committed).Put(result))
	}
}
