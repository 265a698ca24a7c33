package simulation

import (
	"flag"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	seeds  = flag.Int("seeds", 150, "runs to make")
	first  = flag.Uint64("first", 1, "first seed")
	rounds = flag.Int64("rounds", 0, "go on until the allocator made that many rounds; 0: make the runs")
	show   = flag.Bool("show", false, "print every transcript")
)

// regressions are seeds that find a fault when a rule is taken out of the manager, with what they find. A seed that fails
// gets a line here.
var regressions = []struct {
	seed  uint64
	found string
}{
	{2, tooMany + ", when creates without an answer are not counted"},
	{3, knownDeleted + ", when pods are deleted before Spark denies them"},
	{6, claimTwice + ", when a claim is free before its pod is gone"},
	{15, targetMissed + ", when the refused delete of a killed executor is not repeated"},
	{21, exitTwice + ", when a restart forgets what was reported"},
	{23, tooMany + ", when a look that finds no pod posts again"},
	{46, exitInvented + ", when an old list drops newer pods"},
	{200019, denialLeft + ", when the list beside a watch without version is lost"},
	{200505, endedForNone + ", when all executors of before the restart are gone"},
	{102269, targetMissed + ", when an executor is killed before the outcome of its creation is known"},
	{700491, targetMissed + ", when an executor may take two minutes to boot just before the target is looked at"},
	{2762, denialLeft + ", when a pod comes and goes while the list under way is answered"},
	{8070, targetMissed + ", when executors wait for lists one after the other and the target is looked at too soon"},
	{75, endedForNone + ", when a restart forgets that pods were created"},
}

// campaign makes runs until there are enough of them, on as many goroutines as there are processors.
type campaign struct {
	mu     sync.Mutex
	next   uint64
	runs   int
	rounds int64
	pods   int
	lives  int
	broken int
}

func (c *campaign) take() (uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *rounds > 0 && c.rounds >= *rounds || *rounds == 0 && c.next >= *first+uint64(*seeds) || c.broken > 20 {
		return 0, false
	}
	c.next++
	return c.next - 1, true
}

func (c *campaign) add(r Result) (firstBroken bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs, c.rounds, c.pods, c.lives = c.runs+1, c.rounds+r.Rounds, c.pods+r.Pods, c.lives+r.Lives
	if len(r.Broken) > 0 {
		c.broken++
	}
	return len(r.Broken) > 0 && c.broken == 1
}

// TestSimulate makes the runs of a row of seeds.
func TestSimulate(t *testing.T) {
	c := &campaign{next: *first}
	t.Run("runs", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("row", func(t *testing.T) {
				t.Parallel()
				for seed, more := c.take(); more; seed, more = c.take() {
					r := Run(t, seed, nil)
					report(t, r, c.add(r) || *show)
				}
			})
		}
	})
	t.Logf("%d runs, %d rounds of the allocator, %d pods, %d lives of the manager, %d runs with a verdict", c.runs, c.rounds, c.pods, c.lives, c.broken)
}

func report(t *testing.T, r Result, transcript bool) {
	t.Helper()
	if transcript {
		t.Logf("transcript of seed %d:\n%s", r.Seed, strings.Join(r.History, "\n"))
	}
	if len(r.Broken) > 0 {
		t.Errorf("seed %d (go test ./internal/executor/simulation -run TestSimulate -seeds 1 -first %d -show): %s", r.Seed, r.Seed,
			strings.Join(r.Broken, "; "))
	}
}

// TestRegressions makes the runs that once found a fault.
func TestRegressions(t *testing.T) {
	for _, tc := range regressions {
		r := Run(t, tc.seed, nil)
		if len(r.Broken) > 0 {
			t.Logf("seed %d once found: %s", tc.seed, tc.found)
			report(t, r, true)
		}
	}
}

// TestSameSeedSameRun makes runs again, with one processor and with several: not a line may differ.
func TestSameSeedSameRun(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for seed := uint64(1); seed <= 12; seed++ {
		runtime.GOMAXPROCS(4)
		a := Run(t, seed, nil)
		runtime.GOMAXPROCS(1)
		b := Run(t, seed, nil)
		if a.Hash() == b.Hash() && a.Rounds == b.Rounds {
			continue
		}
		for i := range min(len(a.History), len(b.History)) {
			if a.History[i] != b.History[i] {
				t.Errorf("seed %d differs at line %d:\n%s\n%s", seed, i, a.History[i], b.History[i])
				break
			}
		}
		t.Errorf("seed %d: %d and %d lines, %d and %d rounds", seed, len(a.History), len(b.History), a.Rounds, b.Rounds)
	}
}

// TestSeedsDiffer holds that the seeds draw what they are meant to: restarts, several profiles, refusals, lost events.
func TestSeedsDiffer(t *testing.T) {
	var all []string
	for seed := uint64(1); seed <= 25; seed++ {
		all = append(all, Run(t, seed, nil).History...)
	}
	for _, want := range []string{"manager 3 starts", "(429)", "(500)", "(quota)", "(403)", "is lost", "(its answer will be lost)", "ERROR",
		"falls silent", "deny [", "Spark kills", "Spark decommissions", "dies", "Evicted", "by force", "Reuse PersistentVolumeClaim", "2:"} {
		if !slices.ContainsFunc(all, func(l string) bool { return strings.Contains(strings.ToLower(l), strings.ToLower(want)) }) {
			t.Errorf("no run of 25 has %q", want)
		}
	}
}
