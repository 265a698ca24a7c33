package main

import (
	"strings"
	"testing"

	"github.com/kubespark/kubespark/hack/sparksuite/results"
	"github.com/kubespark/kubespark/hack/sparksuite/rows"
	"github.com/kubespark/kubespark/hack/sparksuite/trial"
	"github.com/kubespark/kubespark/internal/fidelity"
)

func TestRowsAreComplete(t *testing.T) {
	for i, r := range rows.All() {
		if r.Number != i+1 {
			t.Fatalf("row %d stands at place %d", r.Number, i+1)
		}
		if r.Suite == "" || r.Name == "" {
			t.Errorf("row %d has no name", r.Number)
		}
		if r.Runs() && r.Play == nil && len(r.DriverLog) == 0 || !r.Runs() && len(r.Compared) == 0 {
			t.Errorf("row %d awaits nothing", r.Number)
		}
	}
	if n := len(rows.All()); n != 54 {
		t.Errorf("%d rows, the suite has 54", n)
	}
}

func TestPick(t *testing.T) {
	for _, tt := range []struct {
		pick picked
		want int
		err  string
	}{
		// 46 rows run on the newest version, 34 on the others, in five columns.
		{picked{}, 5 * (46 + 34 + 34), ""},
		{picked{rows: "1-12,14", versions: "4.1.1"}, 5 * 13, ""},
		{picked{rows: "47", columns: "killed,stock-stock"}, 2, ""},
		{picked{rows: "46,48-54"}, 0, ""},
		// Volcano's own six rows, and 29 of the first 34 under the scheduler.
		{picked{schedulers: "volcano"}, 5 * (6 + 29), ""},
		{picked{schedulers: "volcano", rows: "48-53", columns: "killed"}, 6, ""},
		{picked{schedulers: "volcano,yunikorn", rows: "54", columns: "stock-stock"}, 2 * 29, ""},
		{picked{schedulers: "yunikorn", rows: "2,22,48"}, 5, ""},
		{picked{schedulers: "x"}, 0, "scheduler x is not one of"},
		{picked{rows: "12-1"}, 0, `"12-1" is no row`},
		{picked{rows: "x"}, 0, `"x" is no row`},
		{picked{columns: "x"}, 0, "no column x"},
		{picked{versions: "3.5"}, 0, "version 3.5 of Spark is not"},
	} {
		cells, err := tt.pick.cells()
		if len(cells) != tt.want || tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%+v: %d cells, %v", tt.pick, len(cells), err)
		}
	}
}

func TestResume(t *testing.T) {
	cells, err := picked{rows: "1-3", columns: "killed", versions: rows.Newest}.cells()
	if err != nil {
		t.Fatal(err)
	}
	done := map[results.Key]results.Result{
		cells[0].key(): {Verdict: results.Passed},
		cells[1].key(): {Verdict: results.Failed},
	}
	if todo := open(cells, done, false); len(todo) != 1 || todo[0].row.Number != 3 {
		t.Errorf("left to run: %v", todo)
	}
	if todo := open(cells, done, true); len(todo) != 2 || todo[0].row.Number != 2 {
		t.Errorf("left to run again: %v", todo)
	}
}

func TestPage(t *testing.T) {
	all := map[results.Key]results.Result{}
	for _, r := range []results.Result{
		{Row: 2, Column: "stock-stock", Spark: rows.Newest, Verdict: results.Passed, Seconds: 12.3},
		{Row: 4, Column: "stock-stock", Spark: rows.Newest, Verdict: results.Failed, Seconds: 80, Error: "a | b"},
		{Row: 1, Column: "killed", Spark: rows.Newest, Verdict: results.None},
		{Row: 48, Column: "stock-stock", Spark: rows.Newest, Verdict: results.Passed, Seconds: 20},
		{Row: 2, Column: "killed@yunikorn", Spark: rows.Newest, Verdict: results.Passed, Seconds: 31},
	} {
		all[r.Key()] = r
	}
	report := fidelity.Report{Results: []fidelity.Result{{Case: fidelity.Case{Role: "driver", Name: "r"}, Version: rows.Newest, Fields: 7}}}
	text := string(page(all, report, "Volcano 1"))
	for _, want := range []string{
		"| 2 | Run SparkPi with no resources | 12 s | not run | not run | not run | not run |",
		"| 1 | SPARK-42190: Run SparkPi with local[*] | not run | not run | not run | not run | no manager |",
		"| **failed** 80 s |",
		`| 4 | stock-stock | 4.2.0 | a \| b | not found yet |`,
		"| recorded | objects equal (7 fields) |",
		"| 48 | Run SparkPi with volcano scheduler | 20 s | **no case driver-volcano** |",
		"| 2 of 3, 1:52 | 0 of 0, 0:00 |",
		"| YuniKorn: 1 of 1 |",
		"### Row 54 under Volcano\n\nNo row has run.\n",
		"| 2 | Run SparkPi with no resources | not run | not run | not run | not run | 31 s |",
		"builds Volcano 1 from",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Every comparison that stands for a row exists.
func TestComparedCasesExist(t *testing.T) {
	exists := map[string]bool{}
	for _, c := range fidelity.Cases() {
		exists[c.Role+"-"+c.Name] = true
	}
	for _, r := range rows.All() {
		for _, name := range r.Compared {
			if !exists[name] {
				t.Errorf("row %d: there is no case %s", r.Number, name)
			}
		}
	}
}

func TestColumnsHaveOneKill(t *testing.T) {
	if last := trial.Columns[len(trial.Columns)-1]; !last.Kill || last.Manager != trial.Kubespark {
		t.Errorf("the last column is %+v", last)
	}
}
