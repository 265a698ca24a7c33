package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kubespark/kubespark/hack/sparksuite/results"
	"github.com/kubespark/kubespark/hack/sparksuite/rows"
	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

// Names and modules of the schedulers; the module of that folder in hack/ holds the version.
var schedulerModules = []struct{ scheduler, title, folder, module string }{
	{trial.Volcano, "Volcano", "volcano", "volcano.sh/volcano"},
	{trial.YuniKorn, "YuniKorn", "yunikorn", "github.com/apache/yunikorn-k8shim"},
}

// schedulerVersions is a sentence's list: which schedulers the suite builds.
func schedulerVersions(root string) (string, error) {
	var out []string
	for _, m := range schedulerModules {
		text, err := os.ReadFile(filepath.Join(root, "hack", m.folder, "go.mod"))
		if err != nil {
			return "", err
		}
		found := regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(m.module) + ` v(\S+)`).FindSubmatch(text)
		if found == nil {
			return "", fmt.Errorf("hack/%s/go.mod does not require %s", m.folder, m.module)
		}
		out = append(out, m.title+" "+string(found[1]))
	}
	return strings.Join(out, " and "), nil
}

// under is the result of a row of the whole suite under a scheduler.
func under(all map[results.Key]results.Result, row trial.Row, column trial.Column, scheduler string) (results.Result, bool) {
	r, ok := all[results.Key{Row: row.Number, Column: column.Name + "@" + scheduler, Spark: rows.Newest}]
	return r, ok && rows.Under(row)
}

func countUnder(all map[results.Key]results.Result, column trial.Column, scheduler string) count {
	var c count
	for _, row := range rows.All() {
		c.add(under(all, row, column, scheduler))
	}
	return c
}

func anyUnder(all map[results.Key]results.Result, column trial.Column) bool {
	for _, s := range trial.Schedulers {
		if countUnder(all, column, s).run > 0 {
			return true
		}
	}
	return false
}

// whole is the cell of the row that stands for the whole suite.
func whole(all map[results.Key]results.Result, column trial.Column) string {
	var out []string
	for _, m := range schedulerModules {
		if c := countUnder(all, column, m.scheduler); c.run > 0 {
			out = append(out, fmt.Sprintf("%s: %d of %d", m.title, c.passed, c.run))
		}
	}
	return strings.Join(out, "<br>")
}

// underSchedulers tells which schedulers there are and shows the rows of the whole suite that ran under them.
func underSchedulers(b *bytes.Buffer, all map[results.Key]results.Result, versions string) {
	fmt.Fprintf(b, "\n## Schedulers\n\n%s", strings.ReplaceAll(pageSchedulers, "{{versions}}", versions))
	for _, m := range schedulerModules {
		fmt.Fprintf(b, "\n### Row %d under %s\n\n", rows.Whole, m.title)
		lines := ""
		for _, row := range rows.All() {
			if line, ran := underLine(all, row, m.scheduler); ran {
				lines += line
			}
		}
		if lines == "" {
			b.WriteString("No row has run.\n")
			continue
		}
		b.WriteString("| # | test " + tableHead + "|---|---" + strings.Repeat("|---", len(trial.Columns)) + "|\n" + lines)
		b.WriteString("| | **passed of run, time of all** |")
		for _, column := range trial.Columns {
			b.WriteString(countUnder(all, column, m.scheduler).String())
		}
		b.WriteString("\n")
	}
}

// underLine is the line of a row, and whether any of its cells ran.
func underLine(all map[results.Key]results.Result, row trial.Row, scheduler string) (string, bool) {
	line, ran := fmt.Sprintf("| %d | %s |", row.Number, row.Name), false
	for _, column := range trial.Columns {
		r, ok := under(all, row, column, scheduler)
		ran = ran || ok
		line += fmt.Sprintf(" %s |", shown(r, ok))
	}
	return line + "\n", ran
}
