package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubespark/kubespark/internal/executor/api"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/kubetest"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// diary is a sink that writes down what it is told.
type diary struct {
	mu    sync.Mutex
	lines []string
	lists []snapshot.List
}

func (d *diary) add(s string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, s)
}

func (d *diary) List(l snapshot.List) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lists = append(d.lists, l)
	d.lines = append(d.lines, fmt.Sprintf("list of %d", len(l.Pods)))
}
func (d *diary) Pod(p *snapshot.Pod)  { d.add(fmt.Sprintf("pod %d %s", p.ID, p.State)) }
func (d *diary) Gone(p *snapshot.Pod) { d.add(fmt.Sprintf("gone %d", p.ID)) }
func (d *diary) Confirm(time.Time)    { d.add("confirm") }
func (d *diary) Log(level, _, text string) {
	if level != "DEBUG" {
		d.add(level + " " + text)
	}
}

func (d *diary) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.lines, "\n")
}

func cluster(t *testing.T) (*kubetest.Server, *api.Client) {
	s := kubetest.New()
	cfg := s.Config()
	kube.Wrap(cfg, 10*time.Second)
	k, err := kube.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, api.New(k, "default", "app")
}

func put(s *kubetest.Server, app string, id int, phase string) {
	s.Put("pods", kubetest.Object{"kind": "Pod", "apiVersion": "v1", "metadata": kubetest.Object{"name": fmt.Sprintf("%s-exec-%d", app, id),
		"namespace": "default", "labels": kubetest.Object{sparkpod.LabelAppSelector: app, sparkpod.LabelRole: "executor",
			sparkpod.LabelExecutorID: fmt.Sprint(id)}}, "status": kubetest.Object{"phase": phase}})
}

// watching runs a watch source against a server that has the faults from the beginning.
func watching(t *testing.T, f func(s *kubetest.Server, d *diary, w *Watch), faults ...kubetest.Fault) {
	synctest.Test(t, func(t *testing.T) {
		s, c := cluster(t)
		for _, fault := range faults {
			s.Fail(fault)
		}
		d := &diary{}
		w := NewWatch(c, &snapshot.Reader{}, d, "")
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.Run(ctx)
		}()
		f(s, d, w)
		cancel()
		<-done
		s.DropWatches()
	})
}

func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func expect(t *testing.T, d *diary, want ...string) {
	t.Helper()
	if got := d.text(); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// A watch that comes to its ordinary end is resumed, and healthy all the while: no list is due between. One that breaks is not.
func TestHealthyBetweenWatches(t *testing.T) {
	watching(t, func(s *kubetest.Server, _ *diary, w *Watch) {
		sleep(time.Second)
		for range 20 * 60 * 25 { // 25 minutes: a watch lives five to ten, and is resumed after 100 ms
			if sleep(50 * time.Millisecond); !w.Healthy() {
				t.Error("not healthy")
				break
			}
		}
		if n := len(s.Calls("watch", "pods")); n < 3 {
			t.Errorf("%d watches", n)
		}
		s.DropWatches()
		if sleep(time.Millisecond); w.Healthy() {
			t.Error("healthy without a watch")
		}
	})
}

// E060, E067, E082: one list, then events in order, of our pods only.
func TestWatchE060(t *testing.T) {
	watching(t, func(s *kubetest.Server, d *diary, w *Watch) {
		sleep(time.Second)
		put(s, "app", 1, "Pending")
		put(s, "other", 5, "Pending")
		put(s, "app", 1, "Running")
		s.Remove("pods", "default", "app-exec-1")
		sleep(time.Second)
		expect(t, d, "list of 0", "pod 1 Pending", "pod 1 Running", "gone 1")
		if !w.Healthy() {
			t.Error("not healthy")
		}
		for _, c := range s.Calls("", "pods") {
			if c.Namespace != "default" || !strings.Contains(c.Query, "spark-exec-inactive%21%3Dtrue") {
				t.Errorf("%s %s %s", c.Verb, c.Namespace, c.Query)
			}
		}
	})
}

// A bookmark proves completeness, and the watch resumes from it: no list, however long.
func TestBookmarksE075(t *testing.T) {
	watching(t, func(s *kubetest.Server, d *diary, _ *Watch) {
		sleep(time.Hour)
		if n := len(s.Calls("list", "pods")); n != 1 {
			t.Errorf("%d lists in an hour", n)
		}
		if n := strings.Count(d.text(), "confirm"); n < 45 {
			t.Errorf("%d confirmations in an hour", n)
		}
	})
}

// E069: 410 on every attempt: few tries, and from the third on a watch without version.
func TestExpiredE069(t *testing.T) {
	watching(t, func(s *kubetest.Server, _ *diary, _ *Watch) {
		sleep(time.Second)
		s.Fail(kubetest.Fault{Verb: "watch", Status: 410, Reason: "Expired", Message: "too old"})
		s.ExpireWatches()
		before := len(s.Calls("watch", "pods"))
		sleep(2 * time.Minute)
		calls := s.Calls("watch", "pods")[before:]
		if len(calls) > 10 || len(calls) < 4 {
			t.Errorf("%d attempts in two minutes", len(calls))
		}
		if last := calls[len(calls)-1]; strings.Contains(last.Query, "resourceVersion") {
			t.Errorf("the last attempt was %s", last.Query)
		}
	})
}

// W2: a watch without a byte for 150 s is given up.
func TestSilenceE071(t *testing.T) {
	watching(t, func(s *kubetest.Server, d *diary, _ *Watch) {
		s.SetBookmarks(time.Hour)
		s.DropWatches() // the next one is silent
		sleep(time.Second)
		before := len(s.Calls("watch", "pods"))
		sleep(200 * time.Second)
		if n := len(s.Calls("watch", "pods")) - before; n != 1 {
			t.Errorf("%d more watches", n)
		}
		put(s, "app", 1, "Running")
		sleep(time.Second)
		if !strings.Contains(d.text(), "pod 1 Running") {
			t.Error(d.text())
		}
	})
}

// E072: Retry-After is kept.
func TestRetryAfterE072(t *testing.T) {
	watching(t, func(s *kubetest.Server, _ *diary, _ *Watch) {
		sleep(time.Minute)
		calls := s.Calls("watch", "pods")
		if len(calls) != 2 || calls[1].At.Sub(calls[0].At) < 7*time.Second {
			t.Errorf("%d watches: %v", len(calls), calls)
		}
	}, kubetest.Fault{Verb: "watch", Status: 429, Reason: "TooManyRequests", RetryAfter: 7, Times: 1})
}

// E080: without the right to watch, one warning and a try a minute.
func TestForbiddenE080(t *testing.T) {
	watching(t, func(s *kubetest.Server, d *diary, w *Watch) {
		sleep(5*time.Minute + time.Second)
		if n := len(s.Calls("watch", "pods")); n != 6 {
			t.Errorf("%d watches in five minutes", n)
		}
		if n := strings.Count(d.text(), "WARN"); n != 1 || w.Healthy() {
			t.Errorf("%d warnings, healthy %v:\n%s", n, w.Healthy(), d.text())
		}
	}, kubetest.Fault{Verb: "watch", Status: 403, Reason: "Forbidden", Message: "no watch"})
}

// E062, E064, E073, E074: the first list comes after an interval, errors do not stop it.
func TestPollE062(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := cluster(t)
		put(s, "app", 1, "Running")
		d := &diary{}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			NewPoll(c, &snapshot.Reader{}, d, 30*time.Second, true, func() bool { return true }).Run(ctx)
		}()
		sleep(29 * time.Second)
		expect(t, d)
		sleep(2 * time.Second)
		expect(t, d, "list of 1")
		s.Fail(kubetest.Fault{Verb: "list", Status: 500, Times: 1})
		sleep(65 * time.Second)
		if n := len(d.lists); n != 2 {
			t.Errorf("%d lists", n)
		}
		for _, call := range s.Calls("list", "pods") {
			if !strings.Contains(call.Query, "resourceVersion=0") {
				t.Errorf("list %s", call.Query)
			}
		}
		cancel()
		<-done
	})
}

// E076: a long list comes in pages.
func TestPagesE076(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := cluster(t)
		for id := range 1200 {
			put(s, "app", id+1, "Running")
		}
		l, version, err := Read(context.Background(), c, &snapshot.Reader{}, "")
		if err != nil || len(l.Pods) != 1200 || version == "" {
			t.Errorf("%d pods at %q: %v", len(l.Pods), version, err)
		}
		if n := len(s.Calls("list", "pods")); n != 3 {
			t.Errorf("%d pages", n)
		}
	})
}

// scripted is a cluster whose watches end as told.
type scripted struct {
	ends  []error
	lists int
}

func (s *scripted) ListPods(context.Context, string, func(*snapshot.Wire)) (string, error) {
	s.lists++
	return "7", nil
}

func (s *scripted) WatchPods(ctx context.Context, _ string, _, _ time.Duration, _ func(api.Event)) error {
	if len(s.ends) == 0 {
		<-ctx.Done()
		return ctx.Err()
	}
	err := s.ends[0]
	s.ends = s.ends[1:]
	return err
}

// E081: an event that cannot be read means one list.
func TestUndecodableE081(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &scripted{ends: []error{fmt.Errorf("%w: bad", api.ErrDecode), errors.New("reset"),
			apierrors.NewUnauthorized("token"), apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))}}
		d := &diary{}
		w := NewWatch(c, &snapshot.Reader{}, d, "5")
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); w.Run(ctx) }()
		sleep(5 * time.Minute)
		if c.lists != 1 || len(c.ends) != 0 || strings.Count(d.text(), "WARN") != 2 {
			t.Errorf("%d lists, %d ends left:\n%s", c.lists, len(c.ends), d.text())
		}
		cancel()
		<-done
	})
}
