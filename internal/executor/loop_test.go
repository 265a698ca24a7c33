package executor

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func quiet(log func(level, text string)) Env {
	return Env{Getenv: func(string) (string, bool) { return "", false }, Version: "test",
		Log: func(level, _, text string) { log(level, text) }}
}

// E050: however many messages come while the owner is busy, one wake-up takes them all, in order, never two at once.
func TestMailboxE050(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(quiet(func(string, string) {}), nil)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); m.Run(ctx) }()
		var mu sync.Mutex
		var order []int
		busy := false
		for i := range 10 {
			m.post(func() {
				mu.Lock()
				defer mu.Unlock()
				if busy {
					t.Error("two messages at once")
				}
				busy = true
				if i == 0 {
					time.Sleep(3 * time.Second)
				}
				order = append(order, i)
				busy = false
			})
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for i, n := range order {
			if i != n || len(order) != 10 {
				t.Fatalf("order %v", order)
			}
		}
		cancel()
		<-done
	})
}

// E052: a mistake in one part is said and ends nothing.
func TestGuardE052(t *testing.T) {
	var lines []string
	m := New(quiet(func(level, text string) { lines = append(lines, level+" "+text) }), nil)
	ran := 0
	for range 2 {
		m.guard(func() {
			if ran++; ran == 1 {
				panic("a mistake")
			}
		})
	}
	if ran != 2 || len(lines) != 1 || !strings.HasPrefix(lines[0], "WARN Exception when notifying snapshot subscriber.") {
		t.Errorf("%d runs, log %q", ran, lines)
	}
}

// E059: after stop nothing that a source still says changes anything.
func TestLateNewsE059(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(quiet(func(string, string) {}), nil)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); m.Run(ctx) }()
		m.post(func() { time.Sleep(5 * time.Second) })
		left := -1
		m.Stop(time.Second, func(n int) { left = n })
		m.Pod(nil)
		m.Confirm(time.Now())
		m.SetTargets(1, map[int]int{0: 5}, nil)
		m.Registered(1, 0, "h", time.Now())
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if left != 0 || len(m.known) != 0 {
			t.Errorf("left %d, known %v", left, m.known)
		}
		cancel()
		<-done
	})
}
