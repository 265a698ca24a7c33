package submit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubespark/kubespark/internal/kubetest"
)

// logServer is a container's log as a kubelet serves it: lines with stamps, from a second on, to the end or as they come.
type logServer struct {
	mu      sync.Mutex
	lines   []string // "stamp text"
	grown   chan struct{}
	ended   bool
	cut     chan struct{} // closed: open streams break
	opens   int
	refuse  []error // answers to the next opens
	inHalf  bool    // a stream that is cut ends in the middle of the next line
	noStamp bool
}

func newLogServer() *logServer {
	return &logServer{grown: make(chan struct{}), cut: make(chan struct{})}
}

func (l *logServer) add(lines ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range lines {
		l.lines = append(l.lines, time.Now().UTC().Format(time.RFC3339Nano)+" "+text+"\n")
	}
	close(l.grown)
	l.grown = make(chan struct{})
}

func (l *logServer) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	close(l.grown)
	l.grown = make(chan struct{})
}

func (l *logServer) breakStreams() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.cut)
	l.cut = make(chan struct{})
}

func (l *logServer) open(ctx context.Context, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opens++
	if len(l.refuse) > 0 {
		err := l.refuse[0]
		l.refuse = l.refuse[1:]
		return nil, err
	}
	r, w := io.Pipe()
	go l.serve(ctx, w, o, l.cut)
	return r, nil
}

func (l *logServer) serve(ctx context.Context, w *io.PipeWriter, o *corev1.PodLogOptions, cut chan struct{}) {
	for sent := 0; ; {
		l.mu.Lock()
		lines, grown, ended := l.lines[sent:], l.grown, l.ended
		sent = len(l.lines)
		l.mu.Unlock()
		for _, text := range lines {
			stamp, plain, _ := strings.Cut(text, " ")
			at, _ := time.Parse(time.RFC3339Nano, stamp)
			if o.SinceTime != nil && at.Before(o.SinceTime.Time) {
				continue
			}
			if l.noStamp {
				text = plain
			}
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
		if ended {
			_ = w.Close()
			return
		}
		select {
		case <-grown:
		case <-ctx.Done():
			_ = w.Close()
			return
		case <-cut:
			if l.inHalf {
				_, _ = io.WriteString(w, time.Now().UTC().Format(time.RFC3339Nano)+" hal")
			}
			_ = w.CloseWithError(errors.New("connection reset"))
			return
		}
	}
}

type buffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// following runs a follower on a log, whose first opens are refused, while act changes it; the container has ended when act
// returns.
func following(t *testing.T, act func(*logServer), refuse ...error) (out string, warnings []string, opens int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, b := newLogServer(), &buffer{}
		l.refuse = refuse
		f := &follower{open: l.open, out: b, container: "spark", ended: make(chan struct{}), done: make(chan struct{}),
			warn: func(text string) { warnings = append(warnings, text) }}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		f.observe(ctx, podOf(t, "status: {containerStatuses: [{name: spark, state: {running: {}}}]}"))
		act(l)
		l.end()
		f.observe(ctx, podOf(t, "status: {containerStatuses: [{name: spark, state: {terminated: {}}}]}"))
		f.finish(ctx)
		out, opens = b.String(), l.opens
		cancel()
		synctest.Wait()
	})
	return out, warnings, opens
}

// The driver's log comes whole and in order, each line once, whatever happens to its streams.
func TestFollowSurvivesCuts(t *testing.T) {
	var want strings.Builder
	act := func(l *logServer) {
		n := 0
		for round := range 6 {
			for range 5 {
				text := fmt.Sprintf("line %d %s", n, strings.Repeat("x", n*1000))
				n++
				want.WriteString(text + "\n")
				l.add(text)
				time.Sleep(time.Duration(n%3) * 100 * time.Millisecond) // some lines share a stamp
			}
			l.inHalf = round%2 == 1
			l.breakStreams()
			if round == 2 {
				l.mu.Lock()
				l.refuse = []error{errors.New("connection refused"), apierrors.NewInternalError(errors.New("kubelet is away"))}
				l.mu.Unlock()
			}
			time.Sleep(time.Duration(round) * time.Second)
		}
	}
	out, warnings, opens := following(t, act)
	if out != want.String() || len(warnings) > 0 || opens < 7 {
		t.Errorf("%d opens, warnings %q, got %d bytes, want %d", opens, warnings, len(out), want.Len())
	}
}

// Lines of stdout and stderr whose stamps are not in order all come.
func TestFollowKeepsLinesOutOfOrder(t *testing.T) {
	out, _, _ := following(t, func(l *logServer) {
		now := time.Now().UTC()
		l.mu.Lock()
		for i, d := range []time.Duration{5, 3, 5, 900, 899, 1000} {
			l.lines = append(l.lines, now.Add(d*time.Millisecond).Format(time.RFC3339Nano)+fmt.Sprintf(" %d\n", i))
		}
		l.mu.Unlock()
		time.Sleep(time.Second)
		l.breakStreams()
		time.Sleep(time.Second)
	})
	if out != "0\n1\n2\n3\n4\n5\n" {
		t.Errorf("%q", out)
	}
}

// The container is not ready at first; the last line has no end; nothing stamps.
func TestFollowStart(t *testing.T) {
	out, warnings, _ := following(t, func(l *logServer) {
		time.Sleep(time.Second)
		l.add("a", "")
		l.mu.Lock()
		l.lines = append(l.lines, time.Now().UTC().Format(time.RFC3339Nano)+" end without a line feed")
		l.mu.Unlock()
	}, apierrors.NewBadRequest("container is waiting to start"))
	if out != "a\n\nend without a line feed\n" || len(warnings) > 0 {
		t.Errorf("%q, %q", out, warnings)
	}
	out, _, _ = following(t, func(l *logServer) {
		l.noStamp = true
		l.add("Traceback (most recent call last):")
	})
	if out != "Traceback (most recent call last):\n" {
		t.Errorf("%q", out)
	}
}

// Without the right to read logs there is one warning, and the wait goes on.
func TestFollowForbidden(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods/log"}, "p", errors.New("no"))
	out, warnings, opens := following(t, func(*logServer) { time.Sleep(time.Minute) }, forbidden)
	if out != "" || len(warnings) != 1 || opens != 1 || !strings.Contains(warnings[0], "it needs the verb get on pods/log") {
		t.Errorf("%q, %q, %d opens", out, warnings, opens)
	}
}

// A log that never ends does not hold the submitter for ever, nor does a reader that is gone.
func TestFollowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLogServer()
		warned := 0
		f := &follower{open: l.open, out: io.Discard, container: "spark", ended: make(chan struct{}), done: make(chan struct{}), warn: func(string) { warned++ }}
		ctx, cancel := context.WithCancel(t.Context())
		f.observe(ctx, podOf(t, "status: {containerStatuses: [{name: spark, state: {running: {}}}]}"))
		start := time.Now()
		f.finish(ctx)
		if waited := time.Since(start); waited != logDrainTime || warned != 1 {
			t.Errorf("%s, %d warnings", waited, warned)
		}
		cancel()
		<-f.done
		r, w := io.Pipe()
		_ = r.Close()
		f = &follower{open: l.open, out: w, container: "spark", ended: make(chan struct{}), done: make(chan struct{}), warn: func(string) { warned++ }}
		f.observe(t.Context(), podOf(t, "status: {containerStatuses: [{name: spark, state: {running: {}}}]}"))
		l.add("x")
		<-f.done
	})
}

// withLogs answers requests for the log with one text.
func withLogs(base http.RoundTripper, text func() string) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "/log") {
			return base.RoundTrip(r)
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text())), Request: r}, nil
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// While the log is shown the phase is not, and our report, with the driver's exit code, comes last.
func TestWatchFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := kubetest.New()
		srv.Put("pods", driverPod("Pending"))
		log := &lines{}
		cfg := srv.Config()
		cfg.Wrap(func(base http.RoundTripper) http.RoundTripper {
			return withLogs(base, func() string { return "2026-01-01T00:00:00.5Z hello\n2026-01-01T00:00:00.5Z exit code: 9\n" })
		})
		c, err := NewClient(cfg, WithLogger(slogTo(log)))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(2500 * time.Millisecond)
			set(srv, driverPod("Running", container("spark-kubernetes-driver", object{"running": object{}})))
			time.Sleep(time.Minute)
			set(srv, driverPod("Failed", container("spark-kubernetes-driver", exited(3))))
		}()
		r, err := c.Watch(t.Context(), waitFor, FollowLog(log))
		text := log.String()
		if err != nil || r.ExitCode != 3 || strings.Count(text, "hello\n") != 1 || strings.Count(text, "(phase: Running)") != 0 || strings.Count(text, "(phase: Pending)") != 2 {
			t.Errorf("%+v, %v\n%s", r, err, text)
		}
		if i := strings.LastIndex(text, "exit code: "); !strings.HasPrefix(text[i:], "exit code: 3") || strings.Index(text, "hello") > strings.Index(text, "Container final statuses") {
			t.Error(text)
		}
	})
}
