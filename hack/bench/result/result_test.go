package result

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQuantile(t *testing.T) {
	for _, tc := range []struct {
		values []float64
		q      float64
		want   float64
	}{
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{4, 1, 2, 3}, 0.5, 2.5},
		{[]float64{10, 20, 30, 40, 50}, 0.25, 20},
		{[]float64{1, 2, 3, 4}, 0.99, 3.97},
		{[]float64{7}, 0.99, 7},
		{[]float64{7, 8}, 1, 8},
		{[]float64{7, 8}, 0, 7},
	} {
		if got := Quantile(tc.values, tc.q); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("quantile %v of %v: %v, want %v", tc.q, tc.values, got, tc.want)
		}
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("the median of nothing is a number")
	}
	values := []float64{3, 1, 2}
	Median(values)
	if d := cmp.Diff([]float64{3, 1, 2}, values); d != "" {
		t.Errorf("the values were sorted in place: %s", d)
	}
}

func TestSummarizeAndRatio(t *testing.T) {
	want := Summary{N: 4, Median: 2.5, Low: 1, High: 4, Quartile1: 1.75, Quartile3: 3.25}
	if d := cmp.Diff(want, Summarize([]float64{4, 3, 2, 1})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Summary{}, Summarize(nil)); d != "" {
		t.Error(d)
	}
	if r, ok := Ratio([]float64{8, 10, 9}, []float64{3}); !ok || r != 3 {
		t.Errorf("ratio %v, %v", r, ok)
	}
	for _, pair := range [][2][]float64{{nil, {1}}, {{1}, nil}, {{1}, {0}}} {
		if r, ok := Ratio(pair[0], pair[1]); ok {
			t.Errorf("ratio of %v is %v", pair, r)
		}
	}
}

// Equal values have an order too, so that a page is the same each time.
func TestFromGreatest(t *testing.T) {
	got := FromGreatest(map[string]float64{"b": 1, "a": 1, "least": 0.1, "most": 2})
	if d := cmp.Diff([]string{"most", "a", "b", "least"}, got); d != "" {
		t.Error(d)
	}
}

func TestGoals(t *testing.T) {
	for _, tc := range []struct {
		op     string
		figure *float64
		want   string
	}{
		{"≤", new(1.15), "met"}, {"≤", new(1.16), "missed"}, {"≥", new(1.15), "met"}, {"≥", new(1.14), "missed"}, {"≥", nil, "not measured"},
	} {
		if got := (Goal{Op: tc.op, Limit: 1.15, Figure: tc.figure}).Verdict(); got != tc.want {
			t.Errorf("%s %v: %s, want %s", tc.op, tc.figure, got, tc.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", 0.01234: "0.0123", 1.234: "1.23", 12.34: "12.3", 1234.5: "1234", -2.5: "-2.5", 0.5: "0.5"} {
		if got := Format(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

func TestFileKeepsWhatItHas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "r.json")
	f := &File{Started: "2026-01-01T00:00:00Z", Machine: Machine{CPU: "x", Cores: 2}}
	m := Measurement{Name: "a"}
	m.Add(Stock, "wall", "s", 1)
	m.Add(Stock, "wall", "s", 2, 3)
	m.Add(Kubespark, "wall", "s", 4)
	f.Set(m)
	f.Set(Measurement{Name: "b"})
	f.Set(Measurement{Name: "b", Title: "second"})
	if err := f.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]float64{1, 2, 3}, got.Find("a").Get(Stock, "wall")); d != "" {
		t.Error(d)
	}
	if len(got.Measurements) != 2 || got.Find("b").Title != "second" || got.Find("c") != nil {
		t.Errorf("measurements: %+v", got.Measurements)
	}
}

func TestCompare(t *testing.T) {
	run := func(wall, ratio float64) *File {
		m := Measurement{Name: "one", Goals: []Goal{{What: "ratio", Op: "≥", Limit: 80, Figure: &ratio}}}
		m.Add(Kubespark, "wall", "ms", wall)
		return &File{Machine: Machine{CPU: "x", Cores: 2}, Measurements: []Measurement{m}}
	}
	before, after := run(10, 90), run(15, 60)
	after.Set(Measurement{Name: "two"})
	before.Set(Measurement{Name: "three"})
	var out strings.Builder
	lost, err := Compare(&out, before, after)
	if err != nil || lost != 1 {
		t.Errorf("%d goals lost, %v", lost, err)
	}
	for _, want := range []string{"10 ms", "15 ms", "1.50", "one: ratio: met, now missed", "only in the second", "only in the first"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if lost, err := Compare(&out, after, before); err != nil || lost != 0 {
		t.Errorf("backwards: %d goals lost, %v", lost, err)
	}
	after.Machine.Cores = 4
	out.Reset()
	if _, err := Compare(&out, before, after); err != nil || !strings.Contains(out.String(), "Different machines") {
		t.Errorf("%v\n%s", err, out.String())
	}
}
