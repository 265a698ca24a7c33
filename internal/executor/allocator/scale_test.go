package allocator

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// crowd is an allocator with n running pods that Spark knows.
func crowd(n int) (*Allocator, *snapshot.Store, View) {
	a := New(Settings{MaxPending: math.MaxInt32, MaxPendingPerRP: math.MaxInt32, Maximum: math.MaxInt32, Timeout: 600 * time.Second,
		IdleTimeout: time.Minute}, int64(n)+1, nil)
	a.SetTargets(map[int]int{0: n})
	store := snapshot.NewStore()
	for id := range int64(n) {
		store.Update(&snapshot.Pod{ID: id + 1, Name: fmt.Sprintf("spark-pi-0123456789abcdef-exec-%d", id+1), Version: 1,
			UID: fmt.Sprintf("00000000-0000-4000-8000-%012d", id), State: snapshot.Running, IP: "10.1.2.3", Node: "node-1"}, time.Unix(0, 0))
	}
	view := View{Known: func(int64) bool { return true }}
	a.Round(store, view, time.Unix(0, 0))
	return a, store, view
}

// change makes one pod pend and run in turn.
func change(store *snapshot.Store, id int64, v uint64) {
	p := *store.Get(id)
	p.Version, p.State = v, snapshot.State(1+v%2)
	store.Update(&p, time.Unix(int64(v), 0))
}

// BenchmarkRound shows what a round costs after one pod changed, and what a pod takes in all books, for different numbers
// of pods.
func BenchmarkRound(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			a, store, view := crowd(n)
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportAllocs()
			v := uint64(2)
			for b.Loop() {
				change(store, int64(v)%int64(n)+1, v)
				a.Round(store, view, time.Unix(0, 0))
				v++
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(n), "B/pod")
		})
	}
}

// A round costs what changed, not what is there: with a hundred times the pods it may not take much more time.
func TestRoundCostsWhatChanged(t *testing.T) {
	cost := func(n int) time.Duration {
		a, store, view := crowd(n)
		best := time.Hour
		v := uint64(2)
		for range 20 {
			began := time.Now()
			for range 200 {
				change(store, int64(v)%int64(n)+1, v)
				a.Round(store, view, time.Unix(0, 0))
				v++
			}
			best = min(best, time.Since(began))
		}
		return best
	}
	small, large := cost(100), cost(10_000)
	if large > 20*small {
		t.Errorf("200 rounds take %s with 100 pods and %s with 10,000", small, large)
	}
}

// E154: the books stay small over a hundred thousand ids that were denied and went.
func TestBooksStaySmallE154(t *testing.T) {
	h := newHouse(t, func(s *Settings) { s.Paced = false })
	for range 1000 {
		h.a.SetTargets(map[int]int{0: 100})
		h.created(h.round())
		h.a.SetTargets(map[int]int{0: 0})
		h.now = h.now.Add(20 * time.Second)
		act := h.round()
		h.a.Denied(act.Deny, nil, h.now)
		for _, p := range h.round().Deletes {
			h.a.Deleted(p.ID, true, false, h.now)
			h.store.Remove(p.ID, nil, h.now)
		}
		h.round()
	}
	h.now = h.now.Add(10 * time.Minute)
	h.round()
	sizes := []int{len(h.a.denials), len(h.a.creates), len(h.a.count.places), len(h.a.slow.waits), len(h.a.count.badProfile)}
	if slices.Max(sizes) > 0 {
		t.Errorf("entries are left: %v", sizes)
	}
}

// E119: slots over one profile and over three.
func TestSharesE119(t *testing.T) {
	for slots := range 30 {
		h := newHouse(t, func(s *Settings) { s.MaxPending, s.BatchSize = slots+1, 1000 })
		h.a.SetTargets(map[int]int{0: 50, 1: 50, 2: 50})
		byProfile := map[int]int{}
		for _, c := range h.round().Creates {
			byProfile[c.Profile]++
		}
		for i, n := range Split(slots+1, 3) {
			if byProfile[i] != n {
				t.Errorf("%d slots: profile %d got %d, want %d", slots+1, i, byProfile[i], n)
			}
		}
	}
}
