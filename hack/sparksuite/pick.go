package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kubespark/kubespark/hack/sparksuite/results"
	"github.com/kubespark/kubespark/hack/sparksuite/rows"
	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

// cell is one row in one column on one version.
type cell struct {
	row    trial.Row
	column trial.Column
	spark  string
}

func (c cell) key() results.Key {
	return results.Key{Row: c.row.Number, Column: c.column.Name, Spark: c.spark}
}

func (c cell) String() string {
	return fmt.Sprintf("row %d, %s, Spark %s", c.row.Number, c.column.Name, c.spark)
}

// picked are the filters of the command line; an empty one takes all.
type picked struct{ rows, columns, versions, schedulers string }

// schedulerNames may stand apart by spaces or commas.
func (p picked) schedulerNames() []string {
	return strings.Fields(strings.ReplaceAll(p.schedulers, ",", " "))
}

// cells are the picked cells, by version, column and row. With schedulers these are the rows that need one of them, and the
// rows of the whole suite in columns under each.
func (p picked) cells() ([]cell, error) {
	numbers, err := numbersIn(p.rows)
	if err != nil {
		return nil, err
	}
	columns, err := p.columnsInOrder()
	if err != nil {
		return nil, err
	}
	versions := rows.Versions
	if p.versions != "" {
		versions = strings.Split(p.versions, ",")
	}
	var out []cell
	for _, version := range versions {
		if !slices.Contains(rows.Versions, version) {
			return nil, fmt.Errorf("version %s of Spark is not one of %s", version, strings.Join(rows.Versions, ", "))
		}
		for _, column := range columns {
			for _, row := range rows.All() {
				if p.has(row, column, version) && chosen(numbers, row, column) {
					out = append(out, cell{row, column, version})
				}
			}
		}
	}
	return out, nil
}

// has says whether the row belongs to what is run in the column with these schedulers.
func (p picked) has(row trial.Row, column trial.Column, version string) bool {
	switch {
	case !rows.On(row, version):
		return false
	case column.Scheduler != "":
		return version == rows.Newest && rows.Under(row)
	case row.Scheduler != "":
		return slices.Contains(p.schedulerNames(), row.Scheduler)
	default:
		return p.schedulers == ""
	}
}

// chosen says whether the numbers take a row; the number of the whole suite takes all rows under a scheduler.
func chosen(numbers map[int]bool, row trial.Row, column trial.Column) bool {
	return numbers == nil || numbers[row.Number] || numbers[rows.Whole] && column.Scheduler != ""
}

func (p picked) columnsInOrder() ([]trial.Column, error) {
	sets := [][]trial.Column{trial.Columns}
	for _, s := range p.schedulerNames() {
		if !slices.Contains(trial.Schedulers, s) {
			return nil, fmt.Errorf("scheduler %s is not one of %s", s, strings.Join(trial.Schedulers, ", "))
		}
		sets = append(sets, trial.Under(s))
	}
	if p.columns == "" {
		return slices.Concat(sets...), nil
	}
	var out []trial.Column
	for _, set := range sets {
		for name := range strings.SplitSeq(p.columns, ",") {
			i := slices.IndexFunc(trial.Columns, func(c trial.Column) bool { return c.Name == name })
			if i < 0 {
				return nil, fmt.Errorf("there is no column %s", name)
			}
			out = append(out, set[i])
		}
	}
	return out, nil
}

// numbersIn reads a list such as 1-12,18; nil for an empty one.
func numbersIn(list string) (map[int]bool, error) {
	if list == "" {
		return nil, nil
	}
	out := map[int]bool{}
	for part := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || first > last {
			return nil, fmt.Errorf("%q is no row and no range of rows such as 1-12", part)
		}
		for n := first; n <= last; n++ {
			out[n] = true
		}
	}
	return out, nil
}

// open are the cells without a verdict in this round; again takes failed ones too.
func open(all []cell, done map[results.Key]results.Result, again bool) []cell {
	var out []cell
	for _, c := range all {
		if r, ok := done[c.key()]; !ok || again && r.Verdict == results.Failed {
			out = append(out, c)
		}
	}
	return out
}

func versionsOf(cells []cell) []string {
	var out []string
	for _, c := range cells {
		if !slices.Contains(out, c.spark) {
			out = append(out, c.spark)
		}
	}
	return out
}
