// Command bench measures kubespark beside stock Spark and writes docs/benchmarks.md.
//
//	make bench                        everything, about 40 minutes on two cores, as root
//	make bench QUICK=1                small sizes, to see that all works; ONLY=submit,loss picks measurements
//	make bench RESUME=1               goes on where an interrupted run stopped
//	make bench-compare OLD=a.json NEW=b.json
//
// # Design
//
// A measurement is a value (measurements.go): a name, what is done, what cluster it needs, a function, and goals that are
// functions of the numbers found. The runner gives each a fresh local cluster, so that none inherits another's objects or
// caches, and writes the result file after each. The page, its plots and its verdicts are made from that file alone
// (package page), two files are compared by package result.
//
// The contenders meet the same API server in turns. Pods that must not be processes live on a fake node kept by kwok
// (hack/kwok, a module of its own: its libraries reach no program of ours). kubespark is the real kubespark-manager with
// this program as its driver's JVM (internal/bridgetest); stock is Spark's own driver in client mode, told what to do by
// rig/driver.py. Submissions are the real spark-submit and the real kubespark, measured by wait4. Only the start of an
// application runs real containers.
//
// Requests are counted by the API server's audit log, bytes by a forwarder in front of it, CPU time by /proc. The last
// says for every burst who used the machine, which is what bounds a goal that was missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubespark/kubespark/hack/bench/page"
	"github.com/kubespark/kubespark/hack/bench/result"
	"github.com/kubespark/kubespark/hack/interrupt"
)

func main() {
	ctx, stop := interrupt.Context()
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
}

const usage = "usage: bench run [flags] | bench list | bench compare OLD.json NEW.json | bench page RESULT.json PAGE.md"

func command(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	switch args[0] {
	case "run":
		return run(ctx, args[1:])
	case "list":
		for _, m := range measurements() {
			fmt.Printf("%-12s %s\n", m.name, m.title)
		}
		return nil
	case "compare":
		return compare(args[1:])
	case "page":
		if len(args) != 3 {
			return errors.New(usage)
		}
		f, err := result.Read(args[1])
		if err != nil {
			return err
		}
		judge(f)
		return page.Write(args[2], filepath.Base(args[1]), f)
	case "submitter": // the process of "many submissions": it is measured from outside
		return submitter(ctx, args[1:], os.Stdout)
	}
	return errors.New(usage)
}

func compare(args []string) error {
	if len(args) != 2 {
		return errors.New(usage)
	}
	before, err := result.Read(args[0])
	if err != nil {
		return err
	}
	after, err := result.Read(args[1])
	if err != nil {
		return err
	}
	lost, err := result.Compare(os.Stdout, before, after)
	if err == nil && lost > 0 {
		err = fmt.Errorf("%d goals were met before and are missed now", lost)
	}
	return err
}

func run(ctx context.Context, args []string) error {
	r := runner{}
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	only := flags.String("only", "", "measurements to make, by name, with commas between; the others are kept as they are in the result file")
	flags.BoolVar(&r.quick, "quick", false, "small sizes: shows that all works and measures nothing")
	flags.BoolVar(&r.resume, "resume", false, "keep what an interrupted run has measured")
	flags.BoolVar(&r.stock, "stock", true, "measure stock Spark too; without it there are no ratios")
	flags.StringVar(&r.out, "out", "docs/benchmarks.json", "result file")
	flags.StringVar(&r.page, "page", "docs/benchmarks.md", "page to write; empty: none")
	flags.StringVar(&r.bin, "bin", "bin", "folder of the programs")
	flags.StringVar(&r.sparkHome, "spark-home", os.Getenv("SPARK_HOME"), "Spark 4.2.0")
	flags.StringVar(&r.dir, "dir", "/var/tmp/kubespark-bench", "folder for the cluster")
	flags.IntVar(&r.port, "port", 19943, "port of the API server")
	flags.StringVar(&r.network, "network", "127.145.0.0/16", "loopback network of the cluster")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if r.stock && r.sparkHome == "" {
		return errors.New("-spark-home is missing: a folder with Spark 4.2.0 (hack/fetch-spark.sh 4.2.0 prints one)")
	}
	if *only != "" {
		r.only = strings.Split(*only, ",")
	}
	var err error
	if r.bin, err = filepath.Abs(r.bin); err != nil {
		return err
	}
	return r.run(ctx)
}
