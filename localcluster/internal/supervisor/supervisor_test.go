package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/localcluster/internal/process"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
)

// world is a set of fake programs and the store that the supervisor writes to.
type world struct {
	mu      sync.Mutex
	journal []string
	running map[string]*fake
	saved   []statedir.Component
	gone    error
	pids    int
}

func (w *world) note(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.journal = append(w.journal, text)
}

func (w *world) Save(parts []statedir.Component) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saved = slices.Clone(parts)
	return w.gone
}

func (w *world) Present() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone
}

// part is a fake program that is ready as soon as it runs, and ends when asked unless it is deaf.
func (w *world) part(name string, after ...string) Part {
	return Part{
		Name: name, After: after, Grace: 5 * time.Second,
		Ready: func(context.Context) error { return nil },
		Start: func() (Running, error) {
			w.note("start " + name)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.pids++
			f := &fake{id: process.ID{PID: w.pids, Start: 1}, end: make(chan string, 2), name: name, world: w}
			if w.running == nil {
				w.running = make(map[string]*fake)
			}
			w.running[name] = f
			return f, nil
		},
	}
}

func (w *world) crash(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[name].end <- "it ended with exit code 7"
}

func (w *world) deafen(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[name].deaf = true
}

func (w *world) phases() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, c := range w.saved {
		all = append(all, c.Name+"="+string(c.Phase))
	}
	return strings.Join(all, " ")
}

// state returns what was saved last about the first part.
func (w *world) state() statedir.Component {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.saved[0]
}

type fake struct {
	world *world
	name  string
	id    process.ID
	end   chan string
	deaf  bool
}

func (f *fake) ID() process.ID { return f.id }
func (f *fake) Wait() string   { return <-f.end }
func (f *fake) Kill()          { f.world.note("kill " + f.name); f.end <- "it was killed" }
func (f *fake) Terminate() {
	f.world.note("stop " + f.name)
	if !f.deaf {
		f.end <- "it was told to stop"
	}
}

// supervise runs the parts while the script does its work, then stops them and returns Run's error.
func supervise(t *testing.T, w *world, parts []Part, script func()) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, parts, w, slog.New(slog.DiscardHandler)) }()
	synctest.Wait()
	script()
	cancel()
	return <-done
}

func TestStartsInOrderAndStopsInReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		slow := w.part("slow")
		began := time.Now()
		slow.Ready = func(context.Context) error {
			if time.Since(began) < 3*time.Second {
				return errors.New("it warms up")
			}
			return nil
		}
		second := w.part("second", "slow")
		second.Prepare = func(context.Context) error { w.note("prepare second"); return nil }
		err := supervise(t, w, []Part{slow, second}, func() {
			if got, want := w.phases(), "slow=starting second=waiting"; got != want {
				t.Errorf("at first: %s, want %s", got, want)
			}
			if w.state().Reason != "it warms up" {
				t.Errorf("reason %q", w.state().Reason)
			}
			time.Sleep(4 * time.Second)
			synctest.Wait()
			if got, want := w.phases(), "slow=ready second=ready"; got != want {
				t.Errorf("later: %s, want %s", got, want)
			}
			if took := w.state().Took; took != 3*time.Second {
				t.Errorf("slow took %s", took)
			}
		})
		if err != nil {
			t.Error(err)
		}
		want := []string{"start slow", "prepare second", "start second", "stop second", "stop slow"}
		if diff := cmp.Diff(want, w.journal); diff != "" {
			t.Error(diff)
		}
		if got, want := w.phases(), "slow=stopped second=stopped"; got != want {
			t.Errorf("at last: %s, want %s", got, want)
		}
	})
}

func TestRestartsWhatDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		err := supervise(t, w, []Part{w.part("a"), w.part("b", "a")}, func() {
			for range 5 { // more often than a part that was never ready may fail
				w.crash("a")
				synctest.Wait()
				if got, want := w.phases(), "a=restarting b=ready"; got != want {
					t.Errorf("after the crash: %s, want %s", got, want)
				}
				if got, want := w.state().Reason, "its last run: it ended with exit code 7"; got != want {
					t.Errorf("reason %q, want %q", got, want)
				}
				time.Sleep(lastDelay)
				synctest.Wait()
			}
			if got, want := w.phases(), "a=ready b=ready"; got != want {
				t.Errorf("at last: %s, want %s", got, want)
			}
			if w.state().Restarts != 5 || w.state().Process.PID != 7 {
				t.Errorf("state %+v", w.state())
			}
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestGivesUpOnAPartThatNeverBecomesReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		bad := w.part("bad", "good")
		bad.Start = func() (Running, error) { return nil, errors.New("no such file") }
		err := supervise(t, w, []Part{w.part("good"), bad}, func() { time.Sleep(time.Minute) })
		const want = "bad failed 3 times before it was ready, at last so: it could not be started: no such file"
		if err == nil || err.Error() != want {
			t.Errorf("Run: %v, want %s", err, want)
		}
		if diff := cmp.Diff([]string{"start good", "stop good"}, w.journal); diff != "" {
			t.Error(diff)
		}
	})
}

func TestKillsADeafPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		began := time.Now()
		if err := supervise(t, w, []Part{w.part("deaf")}, func() { w.deafen("deaf") }); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("stopping took %s, want the grace time", took)
		}
		if diff := cmp.Diff([]string{"start deaf", "stop deaf", "kill deaf"}, w.journal); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStopsWhenItsFolderIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		gone := errors.New("the folder is gone")
		err := supervise(t, w, []Part{w.part("a")}, func() {
			w.mu.Lock()
			w.gone = gone
			w.mu.Unlock()
			time.Sleep(2 * presentEvery)
		})
		if !errors.Is(err, gone) {
			t.Errorf("Run: %v, want %v", err, gone)
		}
		if diff := cmp.Diff([]string{"start a", "stop a"}, w.journal); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDelay(t *testing.T) {
	for ends, want := range map[int]time.Duration{1: 200 * time.Millisecond, 2: 400 * time.Millisecond, 6: 6400 * time.Millisecond, 7: lastDelay, 1000: lastDelay} {
		if got := delay(ends); got != want {
			t.Errorf("delay(%d) = %s, want %s", ends, got, want)
		}
	}
}
