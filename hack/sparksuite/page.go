package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kubespark/kubespark/hack/sparksuite/results"
	"github.com/kubespark/kubespark/hack/sparksuite/rows"
	"github.com/kubespark/kubespark/hack/sparksuite/trial"
	"github.com/kubespark/kubespark/internal/fidelity"
)

//go:embed page-begin.md
var pageBegin string

//go:embed page-schedulers.md
var pageSchedulers string

//go:embed page-end.md
var pageEnd string

// writePage writes docs/spark-suite.md from the committed results and the comparisons of objects.
func writePage(root string, from results.File, to string) error {
	all, err := from.Read()
	if err != nil {
		return err
	}
	report, err := fidelity.Run(filepath.Join(root, fidelity.Recordings))
	if err != nil {
		return err
	}
	versions, err := schedulerVersions(root)
	if err != nil {
		return err
	}
	return os.WriteFile(to, page(all, report, versions), 0o644)
}

// page is the whole text; schedulers says which ones and of which versions.
func page(all map[results.Key]results.Result, report fidelity.Report, schedulers string) []byte {
	var b bytes.Buffer
	b.WriteString(pageBegin)
	for _, version := range rows.Versions {
		fmt.Fprintf(&b, "\n## Spark %s\n\n", version)
		table(&b, all, report, version)
	}
	underSchedulers(&b, all, schedulers)
	failures(&b, all)
	notes(&b)
	b.WriteString(pageEnd)
	return b.Bytes()
}

const tableHead = "| stock submit,<br>stock manager | stock submit,<br>kubespark manager | kubespark submit,<br>stock manager | kubespark submit,<br>kubespark manager | the same, its<br>manager killed |\n"

func table(b *bytes.Buffer, all map[results.Key]results.Result, report fidelity.Report, version string) {
	b.WriteString("| # | test " + tableHead + "|---|---" + strings.Repeat("|---", len(trial.Columns)) + "|\n")
	counts := make([]count, len(trial.Columns))
	suite := ""
	for _, row := range rows.All() {
		if !rows.On(row, version) && (version != rows.Newest || len(row.Compared) == 0) {
			continue
		}
		if row.Suite != suite {
			suite = row.Suite
			fmt.Fprintf(b, "| | **%s**%s |\n", suite, strings.Repeat(" |", len(trial.Columns)))
		}
		mark := ""
		if row.Note != "" {
			mark = " ([note](#notes))"
		}
		fmt.Fprintf(b, "| %d | %s%s |", row.Number, row.Name, mark)
		for i, column := range trial.Columns {
			r, ok := all[results.Key{Row: row.Number, Column: column.Name, Spark: version}]
			counts[i].add(r, ok)
			switch {
			case row.Number == rows.Whole && anyUnder(all, column):
				fmt.Fprintf(b, " %s |", whole(all, column))
			case !ok && len(row.Compared) > 0:
				fmt.Fprintf(b, " %s |", compared(report, row, column))
			default:
				fmt.Fprintf(b, " %s |", shown(r, ok))
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("| | **passed of run, time of all** |")
	for _, c := range counts {
		b.WriteString(c.String())
	}
	b.WriteString("\n")
}

type count struct {
	passed, run int
	seconds     float64
}

// String is a cell of the last line.
func (c count) String() string {
	return fmt.Sprintf(" %d of %d, %d:%02d |", c.passed, c.run, int(c.seconds)/60, int(c.seconds)%60)
}

func (c *count) add(r results.Result, ok bool) {
	if !ok || r.Verdict == results.None {
		return
	}
	c.run++
	c.seconds += r.Seconds
	if r.Verdict == results.Passed {
		c.passed++
	}
}

func shown(r results.Result, ok bool) string {
	switch {
	case !ok:
		return "not run"
	case r.Verdict == results.None:
		return "no manager"
	case r.Verdict == results.Passed:
		return fmt.Sprintf("%.0f s", r.Seconds)
	default:
		return fmt.Sprintf("**failed** %.0f s", r.Seconds)
	}
}

// compared is the cell of a row whose objects stand for it: the recordings are stock's, ours are compared with them.
func compared(report fidelity.Report, row trial.Row, column trial.Column) string {
	if column.Kill {
		return ""
	}
	if column.Submit == trial.Stock && column.Manager == trial.Stock {
		return "recorded"
	}
	fields, other := 0, 0
	for _, name := range row.Compared {
		found := false
		for _, r := range report.Results {
			if r.Case.Role+"-"+r.Case.Name != name || r.Version != rows.Newest {
				continue
			}
			found = true
			fields += r.Fields
			for _, d := range r.Differences {
				if d.Wanted == "" {
					other++
				}
			}
		}
		if !found {
			return "**no case " + name + "**"
		}
	}
	if other > 0 {
		return fmt.Sprintf("**%d of %d fields differ**", other, fields)
	}
	return fmt.Sprintf("objects equal (%d fields)", fields)
}

// failures lists every failed cell with the reason found, or with its error where none was found yet.
func failures(b *bytes.Buffer, all map[results.Key]results.Result) {
	b.WriteString("\n## Failures\n\n")
	none := true
	for _, r := range results.Sorted(all) {
		if r.Verdict != results.Failed {
			continue
		}
		if none {
			b.WriteString("| # | column | Spark | what was seen | reason |\n|---|---|---|---|---|\n")
			none = false
		}
		why, ok := reasonOf(r.Key())
		if !ok {
			why = "not found yet"
		}
		fmt.Fprintf(b, "| %d | %s | %s | %s | %s |\n", r.Row, r.Column, r.Spark, strings.ReplaceAll(r.Error, "|", `\|`), why)
	}
	if none {
		b.WriteString("None.\n")
	}
}

// notes lists what differs from Spark's own tests, one line for rows with the same note.
func notes(b *bytes.Buffer) {
	b.WriteString("\n## Notes\n\n")
	var texts []string
	of := map[string][]string{}
	for _, row := range rows.All() {
		if row.Note == "" {
			continue
		}
		if of[row.Note] == nil {
			texts = append(texts, row.Note)
		}
		of[row.Note] = append(of[row.Note], fmt.Sprint(row.Number))
	}
	for _, text := range texts {
		fmt.Fprintf(b, "- %s: %s\n", strings.Join(of[text], ", "), text)
	}
}
