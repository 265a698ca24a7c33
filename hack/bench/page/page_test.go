package page

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubespark/kubespark/hack/bench/result"
)

func example() *result.File {
	m := result.Measurement{Name: "submit", Title: "One submission", How: "Both in turns.", Seconds: 12,
		Goals: []result.Goal{
			{What: "wall", Op: "≥", Limit: 80, Unit: "×", Figure: new(101.5)},
			{What: "memory", Op: "≥", Limit: 11, Unit: "×", Figure: new(9.0)},
			{What: "nothing", Op: "≤", Limit: 1, Unit: "s"},
		},
		Loads: []result.Load{{When: "burst", Seconds: 3, Busy: 0.98, Shares: map[string]float64{"etcd": 0.2, "kube-apiserver": 0.7, "idle": 0.001}}},
		Notes: []string{"a note"}}
	m.Add(result.Stock, "wall", "s", 5, 6, 7)
	m.Add(result.Kubespark, "wall", "s", 0.05, 0.06, 0.07)
	m.Add(result.Kubespark, "alone", "MiB", 20)
	m.Add(result.Stock, "heap & more", "MiB", 100)
	m.Add(result.Kubespark, "heap & more", "MiB", 10)
	return &result.File{Started: "2026-01-01T00:00:00Z", Machine: result.Machine{CPU: "A <cpu>", Cores: 2, MemoryMiB: 2048, Kernel: "6"},
		Versions: map[string]string{"Spark": "4.2.0", "Go": "1.26"}, Measurements: []result.Measurement{m, {Name: "x", Title: "Broken", Failed: "no server"}}}
}

func TestMarkdown(t *testing.T) {
	text := Markdown(example(), "benchmarks", "benchmarks.json")
	for _, want := range []string{
		"| [One submission](#one-submission) | wall | ≥ 80 × | 102 × | met |\n",
		"| memory | ≥ 11 × | 9 × | **missed** |\n",
		"| nothing | ≤ 1 s | – | **not measured** |\n",
		"| wall | stock | 6 s | 5 – 7 | 3 | 100 × |\n",
		"| wall | kubespark | 0.06 s | 0.05 – 0.07 | 3 |  |\n",
		"| burst | 3.0 s | 98 % | kube-apiserver 70 %, etcd 20 % |\n",
		"![One submission](benchmarks/submit-1.svg)", "![One submission](benchmarks/submit-2.svg)",
		"- Go 1.26\n- Spark 4.2.0\n", "- a note\n", "**It broke off: no server**", "2 cores, 2.0 GiB",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "quick run") {
		t.Error("a full run is called quick")
	}
}

func TestPlots(t *testing.T) {
	plots := Plots(example().Measurements[0])
	if len(plots) != 2 || len(plots[0].Bars) != 2 || plots[0].Unit != "s" || len(plots[1].Bars) != 2 || plots[1].Unit != "MiB" {
		t.Fatalf("plots: %+v", plots)
	}
	if low, high := plots[0].decades(); low != -2 || high != 1 {
		t.Errorf("seconds from 0.05 to 7: decades %d to %d", low, high)
	}
	if low, high := plots[1].decades(); low != 0 || high != 2 { // 10 is a power: its bar needs some length
		t.Errorf("MiB from 10 to 100: decades %d to %d", low, high)
	}
	for _, p := range plots {
		dec := xml.NewDecoder(strings.NewReader(string(p.SVG())))
		rects := 0
		for {
			token, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, p.SVG())
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
				rects++
			}
		}
		if rects != 1+len(p.Bars) {
			t.Errorf("%d rectangles for %d bars", rects, len(p.Bars))
		}
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "benchmarks.md")
	stale := filepath.Join(dir, "benchmarks", "gone-1.svg")
	if err := os.MkdirAll(filepath.Dir(stale), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(page, "benchmarks.json", example()); err != nil {
		t.Fatal(err)
	}
	for _, there := range []string{"benchmarks.md", "benchmarks/submit-1.svg", "benchmarks/submit-2.svg"} {
		if _, err := os.Stat(filepath.Join(dir, there)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("a plot of an earlier run is still there")
	}
}
