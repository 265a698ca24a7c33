package result

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Compare writes what changed from one run to another: each series' medians with their ratio, and the goals whose verdict
// is another one. lost is the number of goals that were met and are no longer.
func Compare(w io.Writer, before, after *File) (lost int, err error) {
	if before.Machine.CPU != after.Machine.CPU || before.Machine.Cores != after.Machine.Cores {
		fmt.Fprintf(w, "Different machines: %s (%d cores), then %s (%d cores).\n", before.Machine.CPU, before.Machine.Cores,
			after.Machine.CPU, after.Machine.Cores)
	}
	if before.Quick != after.Quick {
		fmt.Fprintln(w, "One of the two is a quick run: the sizes differ.")
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "MEASUREMENT\tWHAT\tWHO\tBEFORE\tAFTER\tRATIO")
	for _, m := range after.Measurements {
		old := before.Find(m.Name)
		if old == nil {
			fmt.Fprintf(t, "%s\tonly in the second\t\t\t\t\n", m.Name)
			continue
		}
		for _, s := range m.Series {
			compareSeries(t, m.Name, s, old.Get(s.Who, s.What))
		}
	}
	for _, m := range before.Measurements {
		if after.Find(m.Name) == nil {
			fmt.Fprintf(t, "%s\tonly in the first\t\t\t\t\n", m.Name)
		}
	}
	if err := t.Flush(); err != nil {
		return 0, fmt.Errorf("write the comparison: %w", err)
	}
	return compareGoals(w, before, after), nil
}

func compareSeries(t io.Writer, name string, s Series, old []float64) {
	ratio := "-"
	if r, ok := Ratio(s.Values, old); ok {
		ratio = fmt.Sprintf("%.2f", r)
	}
	show := func(values []float64) string {
		if len(values) == 0 {
			return "-"
		}
		return strings.TrimSpace(Format(Median(values)) + " " + s.Unit)
	}
	fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", name, s.What, s.Who, show(old), show(s.Values), ratio)
}

func compareGoals(w io.Writer, before, after *File) (lost int) {
	verdicts := map[string]Goal{}
	for _, m := range before.Measurements {
		for _, g := range m.Goals {
			verdicts[m.Name+"/"+g.What] = g
		}
	}
	for _, m := range after.Measurements {
		for _, g := range m.Goals {
			old, there := verdicts[m.Name+"/"+g.What]
			if !there || old.Verdict() == g.Verdict() {
				continue
			}
			fmt.Fprintf(w, "%s: %s: %s, now %s\n", m.Name, g.What, old.Verdict(), g.Verdict())
			if met, known := old.Met(); known && met {
				lost++
			}
		}
	}
	return lost
}

// Verdict is met, missed or not measured.
func (g Goal) Verdict() string {
	switch met, known := g.Met(); {
	case !known:
		return "not measured"
	case met:
		return "met"
	}
	return "missed"
}

// Format writes a number with three digits that count.
func Format(v float64) string {
	switch a := max(v, -v); {
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return trimZeros(fmt.Sprintf("%.1f", v))
	case a >= 1 || a == 0:
		return trimZeros(fmt.Sprintf("%.2f", v))
	}
	return trimZeros(fmt.Sprintf("%.3g", v))
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") || strings.Contains(s, "e") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}
