package sets

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Round is one run of the decision. targets are the wanted executors by profile, known the executors that Spark has.
func (a *Allocator) Round(targets map[int]int, known map[int64]time.Time, now time.Time) Actions {
	var act Actions
	for _, pod := range slices.Sorted(maps.Keys(a.costs)) {
		if c := a.costs[pod]; !c.done && c.call.open(&act, now) {
			act.Costs = append(act.Costs, Cost{Pod: pod, Value: c.value})
		}
	}
	for _, rp := range slices.Sorted(maps.Keys(targets)) {
		s := a.sets[rp]
		if s == nil {
			s = &profileSet{name: a.Name(rp)}
			a.sets[rp] = s
		}
		if !s.made {
			if s.call.open(&act, now) {
				act.Creates = append(act.Creates, Change{Profile: rp, Name: s.name, Replicas: targets[rp]})
			}
			continue
		}
		if n := a.replicas(&act, s, targets[rp], known); n != s.replicas && s.call.open(&act, now) {
			act.Scales = append(act.Scales, Change{Profile: rp, Name: s.name, Replicas: n})
		}
	}
	return act
}

// replicas is the number that a set may have now (K4).
func (a *Allocator) replicas(act *Actions, s *profileSet, target int, known map[int64]time.Time) int {
	if target >= s.replicas || a.set.Stock {
		s.said = ""
		return target
	}
	live, ok := a.live(s, known)
	if !ok || (!a.set.Kind.ordinals && a.costsOpen(s)) {
		return s.replicas
	}
	n := max(target, len(live))
	if a.set.Kind.ordinals {
		n = max(n, a.above(act, s, live, n))
	}
	return min(n, s.replicas)
}

// live are the names of the set's pods whose executors Spark has. ok is false while Spark has an executor whose pod is not
// known: it may be one of this set.
func (a *Allocator) live(s *profileSet, known map[int64]time.Time) (pods map[string]bool, ok bool) {
	pods = map[string]bool{}
	for id := range known {
		pod := a.names[id]
		if pod == "" {
			return nil, false
		}
		if strings.HasPrefix(pod, s.name+"-") {
			pods[pod] = true
		}
	}
	return pods, true
}

// costsOpen says whether a released pod of the set does not carry its deletion cost yet: scaling now might take another.
func (a *Allocator) costsOpen(s *profileSet) bool {
	for pod, c := range a.costs {
		if !c.done && strings.HasPrefix(pod, s.name+"-") {
			return true
		}
	}
	return false
}

// above is one more than the highest ordinal that works. Free ordinals below it wait, which is said once.
func (a *Allocator) above(act *Actions, s *profileSet, live map[string]bool, wanted int) int {
	top := 0
	for pod := range live {
		if n, err := strconv.Atoi(strings.TrimPrefix(pod, s.name+"-")); err == nil {
			top = max(top, n+1)
		}
	}
	if top <= wanted {
		s.said = ""
		return top
	}
	var free []string
	for n := range min(top, s.replicas) {
		if !live[s.name+"-"+strconv.Itoa(n)] {
			free = append(free, strconv.Itoa(n))
		}
	}
	text := fmt.Sprintf("StatefulSet %s keeps %d replicas, %d would do: ordinals %s are released and wait, because only the "+
		"highest ordinals can be given back.", s.name, min(top, s.replicas), wanted, strings.Join(free, ","))
	if text != s.said {
		s.said = text
		act.Log = append(act.Log, Line{"INFO", text})
	}
	return top
}

// Outcome is how a call on a set ended.
type Outcome struct {
	Change
	Text       string        // of the error, empty: success
	Missing    bool          // the set does not exist
	Permanent  bool          // no repetition can succeed
	RetryAfter time.Duration // as the server wished
}

// Answer tells the outcome of a create or a scale. fatal is a text that ends the application: three identical permanent
// refusals before any set was made.
func (a *Allocator) Answer(o Outcome, now time.Time) (log []Line, fatal string) {
	s := a.sets[o.Profile]
	if s == nil {
		return nil, ""
	}
	s.call.ended(o.Text == "", o.RetryAfter, now)
	switch {
	case o.Text == "":
		s.made, s.replicas, a.anyMade, a.refusals = true, o.Replicas, true, 0
		return nil, ""
	case o.Missing && s.made: // deleted by somebody: made again
		s.made = false
		return []Line{{"WARN", fmt.Sprintf("%s %s does not exist any more; it is made again.", a.set.Kind.Object, s.name)}}, ""
	}
	if o.Text != a.refusal {
		a.refusals, a.refusal = 0, o.Text
		log = []Line{{"WARN", fmt.Sprintf("%s %s cannot have %d replicas; it is tried again: %s", a.set.Kind.Object, s.name,
			o.Replicas, o.Text)}}
	}
	if a.refusals++; o.Permanent && !a.anyMade && a.refusals >= 3 {
		fatal = o.Text
	}
	return log, fatal
}

// Annotated tells the outcome of writing a deletion cost.
func (a *Allocator) Annotated(c Cost, ok bool, now time.Time) {
	have := a.costs[c.Pod]
	if have == nil {
		return
	}
	have.call.ended(ok, 0, now)
	if !ok || have.value != c.Value {
		return
	}
	have.done = true
	if have.value == 0 && have.id == 0 {
		delete(a.costs, c.Pod)
	}
}
