// Package result holds what a run of the benchmark found: raw numbers by measurement, the goals with their figures, and
// the loads of the machine that say what bounded them. A run is one JSON file; Compare sets two beside each other.
package result

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// File is one run.
type File struct {
	Started      string            `json:"started"` // RFC 3339
	Machine      Machine           `json:"machine"`
	Versions     map[string]string `json:"versions"` // by program
	Quick        bool              `json:"quick,omitempty"`
	Measurements []Measurement     `json:"measurements"`
}

// Machine is where it ran.
type Machine struct {
	CPU       string  `json:"cpu"`
	Cores     int     `json:"cores"`
	MemoryMiB int     `json:"memoryMiB"`
	Kernel    string  `json:"kernel"`
	LoadAvg   float64 `json:"loadAvg"` // of the last minute, before the first measurement
}

// Measurement is one row of the plan and what came out.
type Measurement struct {
	Name    string   `json:"name"`  // a word, for -only
	Title   string   `json:"title"` // for people
	How     string   `json:"how"`
	At      string   `json:"at"`               // it began, RFC 3339
	Commit  string   `json:"commit"`           // of kubespark
	Seconds float64  `json:"seconds"`          // the measurement took
	Failed  string   `json:"failed,omitempty"` // why it broke off; what came before is kept
	Series  []Series `json:"series"`
	Goals   []Goal   `json:"goals"`
	Bounds  []string `json:"bounds,omitempty"` // sentences: what keeps a missed goal from being reached
	Loads   []Load   `json:"loads,omitempty"`
	Notes   []string `json:"notes,omitempty"` // settings and counts of this run
}

// Series are the values of one contender in one respect, in the order measured.
type Series struct {
	What   string    `json:"what"` // the respect, with its size where several are measured
	Who    string    `json:"who"`  // the contender
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"`
}

// Goal is what was to be reached. Figure is nil when it was not measured.
type Goal struct {
	What   string   `json:"what"`
	Op     string   `json:"op"` // "≤" or "≥"
	Limit  float64  `json:"limit"`
	Unit   string   `json:"unit"`
	Figure *float64 `json:"figure"`
}

// Load is who used the machine's CPUs during one phase.
type Load struct {
	When    string             `json:"when"`
	Seconds float64            `json:"seconds"`
	Busy    float64            `json:"busy"`   // share of all CPUs that was not idle, 0 to 1
	Shares  map[string]float64 `json:"shares"` // of the busy time, by program, 0 to 1
}

// Contenders.
const (
	Stock     = "stock"
	Kubespark = "kubespark"
	Bare      = "bare client"
	StockBest = "stock, best batch"
	Archived  = "kubespark, class-data archive" // of JVM classes, in the image
)

// Get returns the values of a series, nil if it was not measured.
func (m *Measurement) Get(who, what string) []float64 {
	for _, s := range m.Series {
		if s.Who == who && s.What == what {
			return s.Values
		}
	}
	return nil
}

// Add appends values to a series, which is made when it is not there.
func (m *Measurement) Add(who, what, unit string, values ...float64) {
	i := slices.IndexFunc(m.Series, func(s Series) bool { return s.Who == who && s.What == what })
	if i < 0 {
		m.Series = append(m.Series, Series{What: what, Who: who, Unit: unit})
		i = len(m.Series) - 1
	}
	m.Series[i].Values = append(m.Series[i].Values, values...)
}

// Met says whether the goal was reached; known is false when it was not measured.
func (g Goal) Met() (met, known bool) {
	if g.Figure == nil {
		return false, false
	}
	if g.Op == "≥" {
		return *g.Figure >= g.Limit, true
	}
	return *g.Figure <= g.Limit, true
}

// Set replaces the measurement of the same name, or appends it.
func (f *File) Set(m Measurement) {
	i := slices.IndexFunc(f.Measurements, func(o Measurement) bool { return o.Name == m.Name })
	if i < 0 {
		f.Measurements = append(f.Measurements, m)
		return
	}
	f.Measurements[i] = m
}

// Find returns a measurement by name, nil if there is none.
func (f *File) Find(name string) *Measurement {
	for i := range f.Measurements {
		if f.Measurements[i].Name == name {
			return &f.Measurements[i]
		}
	}
	return nil
}

// Read reads a run.
func Read(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &File{}
	if err := json.Unmarshal(text, f); err != nil {
		return nil, fmt.Errorf("%s is no result of the benchmark: %w", path, err)
	}
	return f, nil
}

// Write writes the run, so that a reader never sees half of it.
func (f *File) Write(path string) error {
	text, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return fmt.Errorf("code the result: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
