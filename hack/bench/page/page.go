// Package page writes docs/benchmarks.md and its plots from a result file. Every number on the page comes from the file.
package page

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubespark/kubespark/hack/bench/result"
)

// Write writes the page, and its plots into the folder of the page's name beside it; raw is the link to the numbers.
func Write(path, raw string, f *result.File) error {
	plots := strings.TrimSuffix(path, filepath.Ext(path))
	if err := os.MkdirAll(plots, 0o755); err != nil {
		return fmt.Errorf("make the folder of the plots: %w", err)
	}
	old, err := filepath.Glob(filepath.Join(plots, "*.svg"))
	if err != nil {
		return fmt.Errorf("look for old plots: %w", err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("remove an old plot: %w", err)
		}
	}
	for _, m := range f.Measurements {
		for i, p := range Plots(m) {
			if err := os.WriteFile(filepath.Join(plots, plotName(m, i)), p.SVG(), 0o644); err != nil {
				return fmt.Errorf("write a plot: %w", err)
			}
		}
	}
	if err := os.WriteFile(path, []byte(Markdown(f, filepath.Base(plots), raw)), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

func plotName(m result.Measurement, i int) string { return fmt.Sprintf("%s-%d.svg", m.Name, i+1) }

// Markdown is the page's text; plots is the folder of the plots as seen from the page.
func Markdown(f *result.File, plots, raw string) string {
	var b strings.Builder
	b.WriteString("# Benchmarks\n\nWritten by `make bench`; change nothing here by hand. Stock Spark and kubespark ran side by side on the same\n" +
		"local API server, in turns. The raw numbers are in [" + filepath.Base(raw) + "](" + raw + "); `make bench-compare OLD=… NEW=…`\n" +
		"sets two such files beside each other.\n\n")
	m := f.Machine
	fmt.Fprintf(&b, "%s, %d cores, %.1f GiB, Linux %s, load average before the run %s. Started %s.", m.CPU, m.Cores,
		float64(m.MemoryMiB)/1024, m.Kernel, result.Format(m.LoadAvg), f.Started)
	if f.Quick {
		b.WriteString(" **A quick run with small sizes: no measure of anything.**")
	}
	b.WriteString("\n\n")
	for _, name := range slices.Sorted(maps.Keys(f.Versions)) {
		fmt.Fprintf(&b, "- %s %s\n", name, f.Versions[name])
	}
	b.WriteString("\n## Goals\n\n| measurement | goal | limit | figure | verdict |\n|---|---|---|---|---|\n")
	for _, m := range f.Measurements {
		for _, g := range m.Goals {
			fmt.Fprintf(&b, "| [%s](#%s) | %s | %s %s | %s | %s |\n", m.Title, anchor(m.Title), g.What, g.Op,
				withUnit(g.Limit, g.Unit), figure(g), strong(g.Verdict()))
		}
	}
	bounds(&b, f)
	for _, m := range f.Measurements {
		section(&b, m, plots)
	}
	return b.String()
}

// bounds lists what keeps the missed goals from being reached.
func bounds(b *strings.Builder, f *result.File) {
	heading := "\n## What bounds the goals that were missed\n\n"
	for _, m := range f.Measurements {
		for _, text := range m.Bounds {
			fmt.Fprintf(b, "%s- [%s](#%s). %s\n", heading, m.Title, anchor(m.Title), text)
			heading = ""
		}
	}
}

func strong(verdict string) string {
	if verdict == "met" {
		return verdict
	}
	return "**" + verdict + "**"
}

func figure(g result.Goal) string {
	if g.Figure == nil {
		return "–"
	}
	return withUnit(*g.Figure, g.Unit)
}

func withUnit(v float64, unit string) string {
	if unit == "×" || unit == "%" {
		return result.Format(v) + " " + unit
	}
	return strings.TrimSpace(result.Format(v) + " " + unit)
}

// anchor is how Markdown renderers name a heading.
func anchor(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			b.WriteRune(r)
		}
	}
	return b.String()
}

func section(b *strings.Builder, m result.Measurement, plots string) {
	fmt.Fprintf(b, "\n## %s\n\n%s Measured at %s, commit %s; it took %.0f s.\n", m.Title, m.How, m.At, m.Commit, m.Seconds)
	if m.Failed != "" {
		fmt.Fprintf(b, "\n**It broke off: %s**\n", m.Failed)
	}
	if len(m.Series) > 0 {
		b.WriteString("\n| what | who | median | lowest – highest | n | against kubespark |\n|---|---|---|---|---|---|\n")
	}
	for _, s := range m.Series {
		v := result.Summarize(s.Values)
		ratio := ""
		if r, ok := result.Ratio(s.Values, m.Get(result.Kubespark, s.What)); ok && s.Who != result.Kubespark {
			ratio = result.Format(r) + " ×"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s – %s | %d | %s |\n", s.What, s.Who, withUnit(v.Median, s.Unit), result.Format(v.Low),
			result.Format(v.High), v.N, ratio)
	}
	for i, p := range Plots(m) {
		fmt.Fprintf(b, "\n![%s](%s/%s)\n", p.Title, plots, plotName(m, i))
	}
	loads(b, m.Loads)
	if len(m.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range m.Notes {
		fmt.Fprintf(b, "- %s\n", n)
	}
}

// loads is the table that says what bounded a phase: how busy the CPUs were, and with what.
func loads(b *strings.Builder, all []result.Load) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\nWho used the CPUs meanwhile (share of the busy time):\n\n| phase | took | CPUs busy | by |\n|---|---|---|---|\n")
	for _, l := range all {
		var by []string
		for _, n := range result.FromGreatest(l.Shares) {
			if l.Shares[n] >= 0.005 {
				by = append(by, fmt.Sprintf("%s %.0f %%", n, 100*l.Shares[n]))
			}
		}
		fmt.Fprintf(b, "| %s | %.1f s | %.0f %% | %s |\n", l.When, l.Seconds, 100*l.Busy, strings.Join(by, ", "))
	}
}
