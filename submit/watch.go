package submit

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubespark/kubespark/internal/kube"
)

const (
	loggerWatcher = "LoggingPodStatusWatcherImpl"
	// Pauses before a watch that keeps breaking is opened again.
	firstPause, maxPause = 100 * time.Millisecond, 5 * time.Second
	// A watch that lasted this long was a good one.
	goodWatch = 10 * time.Second
)

// podAPI is what waiting needs of the cluster.
type podAPI interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Pod, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
}

// WatchOption changes what Watch does.
type WatchOption func(*Client, *watcher)

// FollowLog copies the log of the driver's container to out as it comes, until its end. out is used by one goroutine at a
// time, and no more once Watch has returned.
func FollowLog(out io.Writer) WatchOption {
	return func(c *Client, w *watcher) { w.logs = newFollower(c, w.s, out) }
}

// Watch reports on an application until it is done, as stock does, and returns how it ended; a driver that cannot start
// says why. It outlives broken watches and an API server that is away. The only error is that of ctx; the application goes
// on then.
func (c *Client) Watch(ctx context.Context, s Submission, opts ...WatchOption) (Result, error) {
	w := &watcher{api: c.api.Pods(s.Namespace), s: s, log: c.logLine, phase: "unknown", doctor: newDoctor(c.api, s)}
	for _, o := range opts {
		o(c, w)
	}
	ctx, cancel := context.WithCancel(kube.Quiet(ctx))
	defer cancel()
	return w.run(ctx)
}

// ReportDeployed logs what stock logs instead of waiting.
func (c *Client) ReportDeployed(s Submission) {
	c.logLine(slog.LevelInfo, loggerClient, fmt.Sprintf("Deployed Spark application %s with application ID %s and submission ID %s into Kubernetes",
		s.AppName, s.AppID, s.ID()))
	c.logLine(slog.LevelInfo, loggerClient, "pod name: "+s.PodName)
}

// watcher waits for one driver pod. All its state belongs to the goroutine of run.
type watcher struct {
	api   podAPI
	s     Submission
	log   func(slog.Level, string, string)
	phase string
	last  string // state text last reported
	pod   *corev1.Pod

	doctor *doctor
	logs   *follower // nil: the log is not asked for

	announced bool
	refused   bool // a refused watch was reported
}

// verdict says how to go on after an event.
type verdict int

const (
	goOn verdict = iota
	reopen
	done
	gone
)

func (w *watcher) run(ctx context.Context) (Result, error) {
	ticker := time.NewTicker(w.s.ReportInterval)
	defer ticker.Stop()
	pause := time.Duration(0)
	for {
		opened := time.Now()
		events := w.open(ctx)
		v := w.look(ctx)
		w.announce()
		if v == goOn {
			v = w.follow(ctx, events, ticker.C)
		}
		if events != nil {
			events.Stop()
		}
		switch {
		case ctx.Err() != nil:
			return Result{}, ctx.Err()
		case v == done || v == gone:
			return w.finish(ctx, v == gone), nil
		}
		if time.Since(opened) > goodWatch {
			pause = 0
		}
		if v = w.wait(ctx, pause, ticker.C); v != goOn {
			return Result{}, ctx.Err()
		}
		pause = min(max(2*pause, firstPause), maxPause)
	}
}

// open starts a watch; nil means that it was refused, and the pod is polled instead.
func (w *watcher) open(ctx context.Context) watch.Interface {
	events, err := w.api.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + w.s.PodName, AllowWatchBookmarks: true})
	if err == nil {
		return events
	}
	if !w.refused && ctx.Err() == nil {
		w.refused = true
		w.log(slog.LevelWarn, loggerWatcher, fmt.Sprintf("The driver pod cannot be watched, it is asked for again and again instead: %v", err))
	}
	return nil
}

// look reads the pod once.
func (w *watcher) look(ctx context.Context) verdict {
	pod, err := w.api.Get(ctx, w.s.PodName, metav1.GetOptions{})
	switch {
	case err == nil:
		return w.observe(ctx, pod)
	case kube.Kind(err) == kube.NotFound:
		return gone
	case ctx.Err() == nil:
		w.log(slog.LevelDebug, loggerWatcher, fmt.Sprintf("The driver pod could not be read: %v", err))
	}
	return goOn
}

func (w *watcher) announce() {
	if w.announced {
		return
	}
	w.announced = true
	w.log(slog.LevelInfo, loggerWatcher, fmt.Sprintf("Waiting for application %s with application ID %s and submission ID %s to finish...",
		w.s.AppName, w.s.AppID, w.s.ID()))
}

// follow takes events until the watch ends. Without a watch it returns at once: the caller's pause makes the poll.
func (w *watcher) follow(ctx context.Context, events watch.Interface, tick <-chan time.Time) verdict {
	if events == nil {
		return reopen
	}
	for {
		select {
		case <-ctx.Done():
			return reopen
		case <-tick:
			w.tick(ctx)
		case e, ok := <-events.ResultChan():
			if !ok {
				return reopen
			}
			if v := w.event(ctx, e); v != goOn {
				return v
			}
		}
	}
}

func (w *watcher) event(ctx context.Context, e watch.Event) verdict {
	switch e.Type {
	case watch.Added, watch.Modified:
		if pod, ok := e.Object.(*corev1.Pod); ok {
			return w.observe(ctx, pod)
		}
	case watch.Deleted:
		if pod, ok := e.Object.(*corev1.Pod); ok {
			w.observe(ctx, pod)
		}
		return gone
	case watch.Error:
		if s, ok := e.Object.(*metav1.Status); ok && s.Code != http.StatusGone {
			w.log(slog.LevelDebug, loggerWatcher, "The watch of the driver pod broke: "+s.Message)
		}
		return reopen
	}
	return goOn
}

// observe takes a new state of the pod and reports it if its text is new.
func (w *watcher) observe(ctx context.Context, pod *corev1.Pod) verdict {
	w.pod, w.phase = pod, string(pod.Status.Phase)
	text := stateText(pod, w.s.ContainerName)
	if text != w.last || w.s.Stock["state-report"] {
		w.last = text
		w.log(slog.LevelInfo, loggerWatcher, "State changed, new state: "+text)
	}
	w.diagnose(ctx)
	if w.logs != nil {
		w.logs.observe(ctx, pod)
	}
	switch {
	case pod.Status.Phase == corev1.PodSucceeded, pod.Status.Phase == corev1.PodFailed:
		return done
	case !w.s.Stock["completion"] && terminated(pod, w.s.ContainerName) != nil:
		return done
	}
	return goOn
}

// diagnose says what keeps the driver from starting, once for each reason.
func (w *watcher) diagnose(ctx context.Context) {
	if text := w.doctor.look(ctx, w.pod, time.Now()); text != "" {
		w.log(slog.LevelWarn, loggerWatcher, text)
	}
}

// tick is the interval. While the driver's log is shown, the phase is not: it would stand between its lines.
func (w *watcher) tick(ctx context.Context) {
	if w.logs == nil || !w.logs.started {
		w.report()
	}
	if w.pod != nil {
		w.diagnose(ctx)
	}
}

func (w *watcher) report() {
	w.log(slog.LevelInfo, loggerWatcher, fmt.Sprintf("Application status for %s (phase: %s)", w.s.AppID, w.phase))
}

// wait lets a pause pass; the interval line goes on.
func (w *watcher) wait(ctx context.Context, pause time.Duration, tick <-chan time.Time) verdict {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return reopen
		case <-tick:
			w.tick(ctx)
		case <-timer.C:
			return goOn
		}
	}
}

func (w *watcher) finish(ctx context.Context, deleted bool) Result {
	if w.logs != nil {
		w.logs.finish(ctx) // before our last words: readers take the last exit code
	}
	w.report()
	if w.pod == nil {
		w.log(slog.LevelInfo, loggerWatcher, "No containers were found in the driver pod.")
	} else {
		w.log(slog.LevelInfo, loggerWatcher, "Container final statuses:\n\n"+containersText(w.pod, w.s.ContainerName, 1))
	}
	w.log(slog.LevelInfo, loggerWatcher, fmt.Sprintf("Application %s with application ID %s and submission ID %s finished", w.s.AppName, w.s.AppID, w.s.ID()))
	r := result(w.pod, w.s.ContainerName, deleted)
	if w.s.Stock["exit-code"] {
		r.ExitCode = 0
	}
	return r
}
