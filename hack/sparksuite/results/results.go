// Package results keeps what the suite's rows came to: a journal of this round, from which a broken-off run resumes, and the
// committed file that the page is made of.
package results

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// Verdicts.
const (
	Passed = "passed"
	Failed = "failed"
	// None: the column has nothing to show in this row.
	None = "none"
)

// Result is one cell of the table.
type Result struct {
	Row     int     `json:"row"`
	Column  string  `json:"column"`
	Spark   string  `json:"spark"`
	Verdict string  `json:"verdict"`
	Seconds float64 `json:"seconds"`
	// Error is the first line of what went wrong.
	Error string `json:"error,omitempty"`
	// Commit is the state of kubespark that was run.
	Commit string `json:"commit"`
}

// Key is a cell's place.
type Key struct {
	Row           int
	Column, Spark string
}

// Key returns the result's place.
func (r Result) Key() Key { return Key{r.Row, r.Column, r.Spark} }

// File is a file of results, one a line.
type File string

// Read returns the last result of each cell; a file that does not exist has none.
func (f File) Read() (map[Key]Result, error) {
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return map[Key]Result{}, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[Key]Result{}
	for lines, n := bufio.NewScanner(bytes.NewReader(text)), 1; lines.Scan(); n++ {
		var r Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", f, n, err)
		}
		out[r.Key()] = r
	}
	return out, nil
}

// Append adds one result.
func (f File) Append(r Result) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(string(f), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// Put replaces a cell's result. The file stays ordered, so that a diff shows what changed.
func (f File) Put(r Result) error {
	all, err := f.Read()
	if err != nil {
		return err
	}
	all[r.Key()] = r
	var text bytes.Buffer
	for _, r := range Sorted(all) {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	tmp := string(f) + ".new"
	if err := os.WriteFile(tmp, text.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, string(f))
}

// Sorted orders results by version, row and column.
func Sorted(all map[Key]Result) []Result {
	var out []Result
	for _, r := range all {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Result) int {
		return cmp.Or(cmp.Compare(a.Spark, b.Spark), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Column, b.Column))
	})
	return out
}
