package main

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubespark/kubespark/hack/bench/result"
)

// Every measurement can be named, says what it does and ends; every goal has a figure once its series are there, and none
// before.
func TestPlan(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range measurements() {
		if seen[m.name] || m.title == "" || !strings.HasSuffix(m.how, ".") || m.limit <= 0 || m.run == nil {
			t.Errorf("measurement %q: %+v", m.name, m)
		}
		seen[m.name] = true
		for _, g := range m.goals {
			if g.op != "≤" && g.op != "≥" {
				t.Errorf("%s: %s: op %q", m.name, g.what, g.op)
			}
			if v, ok := g.figure(&result.Measurement{}); ok {
				t.Errorf("%s: %s: %v without a measurement", m.name, g.what, v)
			}
		}
	}
	if d := full.small; d != 100 || full.mid != 1000 || full.big != 3000 || full.ten != 10000 {
		t.Error("the sizes are not those of the page's titles")
	}
}

func TestFigures(t *testing.T) {
	m := &result.Measurement{}
	m.Add(result.Stock, untilExit, "s", 6, 7, 8)
	m.Add(result.Kubespark, untilExit, "s", 0.07)
	m.Add("nobody", othersOff, "ms", 4)
	m.Add(result.Kubespark, others99, "ms", 6, 10)
	m.Add(result.Kubespark, withFew, "ms", 10, 20)
	m.Add(result.Kubespark, withThousand, "ms", 20, 40)
	for what, want := range map[string]float64{
		"stock's wall time until exit over kubespark's":                             100,
		"p99 of another client's writes during kubespark's burst over its idle p99": 2,
		"p99 with thousands of live drivers over p99 with few":                      2,
	} {
		found := false
		for _, p := range measurements() {
			i := slices.IndexFunc(p.goals, func(g goal) bool { return g.what == what })
			if i < 0 {
				continue
			}
			found = true
			if v, ok := p.goals[i].figure(m); !ok || math.Abs(v-want) > 1e-9 {
				t.Errorf("%s: %v, %v, want %v", what, v, ok, want)
			}
		}
		if !found {
			t.Errorf("no goal %q", what)
		}
	}
}

func TestPick(t *testing.T) {
	r := &runner{only: []string{"loss", "submit"}}
	picked, err := r.plan()
	if err != nil || len(picked) != 2 || picked[0].name != "loss" {
		t.Errorf("%v, %v", picked, err)
	}
	r.only = []string{"nothing"}
	if _, err := r.plan(); err == nil {
		t.Error("a measurement that does not exist was picked")
	}
	f := &result.File{}
	for _, name := range []string{"ten", "submit", "loss"} {
		f.Set(result.Measurement{Name: name})
	}
	order(f)
	if f.Measurements[0].Name != "submit" || f.Measurements[2].Name != "ten" {
		t.Errorf("order: %+v", f.Measurements)
	}
}

func TestSuccessors(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	ends := []ended{{sent: at(0), seen: at(5)}, {sent: at(100), seen: at(104)}, {sent: at(200), seen: at(203)}}
	got, err := successors(ends, []time.Time{at(8), at(105), at(106), at(223)})
	if err != nil || !slices.Equal(got, []float64{3, 1, 20}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := successors(ends, []time.Time{at(8), at(223)}); err == nil {
		t.Errorf("a loss without a successor: %v", got)
	}
}

// A missed goal says what bounds it, in numbers of the measurement; without a missed one there is nothing to say.
func TestBounds(t *testing.T) {
	burst := result.Measurement{Name: "executors-m", Loads: []result.Load{
		{When: untilAll(result.Bare), Seconds: 4, Busy: 1, Shares: map[string]float64{"kube-apiserver": 0.5, "etcd": 0.1}},
		{When: untilAll(result.Bare), Seconds: 6, Busy: 1, Shares: map[string]float64{"kube-apiserver": 0.5, "etcd": 0.1}},
		{When: untilAll(result.Kubespark), Seconds: 10, Busy: 0.9, Shares: map[string]float64{"kube-apiserver": 0.5}},
	}}
	burst.Add(result.Bare, allExist, "s", 5)
	burst.Add(result.Kubespark, allExist, "s", 10)
	burst.Add(result.Stock, allExist, "s", 60)
	met := result.Measurement{Name: "cost"}
	met.Add(result.Kubespark, requests, "", 3)
	met.Add(result.Stock, requests, "", 4)
	many := result.Measurement{Name: "many"}
	many.Add(result.Kubespark, withFew, "ms", 10)
	many.Add(result.Kubespark, withThousand, "ms", 15)
	many.Add(anotherClient, writeFew, "ms", 4)
	many.Add(anotherClient, writeThousand, "ms", 5)
	f := &result.File{Machine: result.Machine{Cores: 2}, Measurements: []result.Measurement{burst, met, many, {Name: "of another version"}}}
	judge(f)
	if got := f.Measurements[2].Bounds; len(got) != 1 || !strings.Contains(got[0], "15 ms instead of 10 (1.5 ×)") || !strings.Contains(got[0], "(1.25 ×)") {
		t.Errorf("many submissions: %q", got)
	}
	text := strings.Join(f.Measurements[0].Bounds, "\n")
	for _, want := range []string{"bare client: kube-apiserver 5 s, etcd 1 s", "kubespark: kube-apiserver 9 s", "bare client itself is 12 × faster"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in %s", want, text)
		}
	}
	if f.Measurements[1].Bounds != nil || len(f.Measurements[1].Goals) != 1 {
		t.Errorf("%+v", f.Measurements[1])
	}
}
