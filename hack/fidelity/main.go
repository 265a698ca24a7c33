// Command fidelity records what stock Spark sends to an API server for the cases of internal/fidelity, and writes the page
// that shows how our objects compare.
//
//	go run ./hack/fidelity record [-run REGEXP] [-stale] VERSION=SPARK_HOME...
//	go run ./hack/fidelity page FILE
//
// It runs from the repository's root. Recording needs a JDK 17.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/kubespark/kubespark/internal/fidelity"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 2 && args[0] == "page" {
		report, err := fidelity.Run(fidelity.Recordings)
		if err != nil {
			return err
		}
		return os.WriteFile(args[1], report.Page(), 0o644)
	}
	if len(args) < 2 || args[0] != "record" {
		return fmt.Errorf("usage: fidelity record [-run REGEXP] [-stale] VERSION=SPARK_HOME... | fidelity page FILE")
	}
	flags := flag.NewFlagSet("record", flag.ContinueOnError)
	stale := flags.Bool("stale", false, "records only what is missing or was recorded from another input")
	pick := flags.String("run", "", "records only the cases whose names match")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	only, err := regexp.Compile(*pick)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	var g errgroup.Group
	g.SetLimit(2) // each a JVM or two
	for _, arg := range flags.Args() {
		version, home, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%s: want VERSION=SPARK_HOME", arg)
		}
		r := &recorder{version: version, home: home}
		for _, c := range fidelity.Cases() {
			if !only.MatchString(c.Role+"-"+c.Name) || !slices.Contains(c.Versions(), version) {
				continue
			}
			if _, err := fidelity.Load(fidelity.Recordings, c, version); err != nil || !*stale {
				r.cases = append(r.cases, c)
			}
		}
		g.Go(r.record)
	}
	return g.Wait()
}
