// Command scenarios prints the scenarios of docs/scenarios.tsv with the tests that name each, and fails when one has neither
// a test nor a row, with the reason, in the table "Not tested" of docs/differences.md.
//
//	go run ./hack/scenarios [-letters PSC] [-quiet] [folder]
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	letters := flag.String("letters", "PSEC", "the kinds of scenario to look at: P pods, S submission, E executors, C known faults")
	quiet := flag.Bool("quiet", false, "print the gaps and the totals only")
	flag.Parse()
	root := "."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	gaps, err := run(os.Stdout, root, *letters, *quiet)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	case gaps > 0:
		fmt.Fprintf(os.Stderr, "error: %d scenarios have neither a test that names them nor a reason in docs/differences.md\n", gaps)
		os.Exit(1)
	}
}

// run prints the table of the project in folder root and returns how many scenarios are gaps.
func run(out io.Writer, root, letters string, quiet bool) (gaps int, err error) {
	list, err := readList(filepath.Join(root, "docs", "scenarios.tsv"))
	if err != nil {
		return 0, err
	}
	tests, err := findTests(root)
	if err != nil {
		return 0, err
	}
	reasons, err := readReasons(filepath.Join(root, "docs", "differences.md"), list)
	if err != nil {
		return 0, err
	}
	totals := map[byte]*total{}
	for _, s := range list {
		if !strings.Contains(letters, s.id[:1]) {
			continue
		}
		t := totals[s.id[0]]
		if t == nil {
			t = &total{}
			totals[s.id[0]] = t
		}
		line := t.add(tests[s.id], reasons[s.id])
		if line == missing {
			gaps++
		}
		if !quiet || line == missing {
			fmt.Fprintf(out, "%s  %-55s %s\n", s.id, s.title, line)
		}
	}
	fmt.Fprintln(out)
	for _, l := range slices.Sorted(keys(totals)) {
		t := totals[l]
		fmt.Fprintf(out, "%c: %d scenarios, %d with tests, %d not tested for a reason, %d gaps\n", l, t.all, t.tested, t.excused, t.all-t.tested-t.excused)
	}
	return gaps, nil
}

const missing = "GAP"

type total struct{ all, tested, excused int }

// add counts a scenario and returns what is shown for it.
func (t *total) add(tests []string, reason string) string {
	t.all++
	switch {
	case len(tests) > 0:
		t.tested++
		return strings.Join(tests, ", ")
	case reason != "":
		t.excused++
		return "not tested: " + reason
	}
	return missing
}

func keys(m map[byte]*total) func(func(byte) bool) {
	return func(yield func(byte) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
