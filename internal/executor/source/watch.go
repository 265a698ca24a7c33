package source

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubespark/kubespark/internal/executor/api"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/kube"
)

// Times of the watch (W2).
const (
	silence      = 150 * time.Second // bookmarks come once a minute
	resumeAfter  = 100 * time.Millisecond
	firstBackoff = time.Second
	maxBackoff   = 30 * time.Second
	refusedRetry = time.Minute
	steady       = 5 * time.Second // a watch that lived that long was a good one
)

// Watch is the watch source.
type Watch struct {
	cluster Cluster
	reader  *snapshot.Reader
	sink    Sink
	healthy atomic.Bool
	// unproven: pods may be gone that no event will tell of.
	unproven atomic.Bool

	version string // of the last event, where the next watch begins; empty: list first
	expired int    // 410 answers in a row
	backoff time.Duration
	refused bool // the missing verb was said
}

// NewWatch makes a watch source that begins at the version of a list the store already has.
func NewWatch(c Cluster, r *snapshot.Reader, s Sink, version string) *Watch {
	return &Watch{cluster: c, reader: r, sink: s, version: version}
}

// Healthy says whether the watch is open, or about to be resumed after its ordinary end.
func (w *Watch) Healthy() bool { return w.healthy.Load() }

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	w.sink.Log("DEBUG", WatchLogger, "Starting to watch for executor pods from version "+w.version+".")
	for ctx.Err() == nil {
		began := time.Now()
		err := w.once(ctx)
		lived := time.Since(began)
		if err != nil || lived < steady { // one that came to its end is resumed at once, and needs no list between
			w.healthy.Store(false)
		}
		if ctx.Err() != nil {
			return
		}
		if !pause(ctx, w.next(err, lived)) {
			return
		}
	}
}

// once lists if it must, then watches until the watch ends.
func (w *Watch) once(ctx context.Context) error {
	if w.version == "" && w.expired < 3 {
		l, version, err := Read(ctx, w.cluster, w.reader, "")
		if err != nil {
			return err
		}
		w.sink.List(l)
		w.version = version
		w.unproven.Store(false)
	}
	timeout := 5*time.Minute + rand.N(5*time.Minute)
	if w.version == "" {
		w.unproven.Store(true)
	}
	if !w.unproven.Load() {
		return w.cluster.WatchPods(ctx, w.version, timeout, silence, w.event)
	}
	return w.withList(ctx, timeout)
}

// withList watches, and lists once the watch is open. A watch without version begins with all pods, but does not say which
// are gone; until a list has said that, each later watch comes with one.
func (w *Watch) withList(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	var list sync.WaitGroup
	defer list.Wait()
	defer cancel()
	return w.cluster.WatchPods(ctx, w.version, timeout, silence, func(e api.Event) {
		if e.Type == api.Opened {
			list.Go(func() { w.listOnce(ctx) })
		}
		w.event(e)
	})
}

func (w *Watch) listOnce(ctx context.Context) {
	for wait := firstBackoff; ; wait = min(2*wait, maxBackoff) {
		l, _, err := Read(ctx, w.cluster, w.reader, "")
		if err == nil {
			w.sink.List(l)
			w.unproven.Store(false)
			return
		}
		if !pause(ctx, wait) {
			return
		}
	}
}

func (w *Watch) event(e api.Event) {
	w.healthy.Store(true)
	if e.Type == api.Opened {
		return
	}
	w.expired, w.backoff, w.refused = 0, 0, false
	if e.Version != "" {
		w.version = e.Version
	}
	if e.Type == "BOOKMARK" {
		w.sink.Confirm(time.Now())
		return
	}
	p := w.reader.Read(e.Pod)
	w.sink.Log("DEBUG", WatchLogger, fmt.Sprintf("Received executor pod update for pod named %s, action %s",
		e.Pod.Metadata.Name, e.Type))
	switch {
	case p == nil:
	case e.Type == "DELETED":
		w.sink.Gone(p)
	default:
		w.sink.Pod(p)
	}
}

// next says how long to wait before the next try.
func (w *Watch) next(err error, lived time.Duration) time.Duration {
	switch {
	case err == nil && lived >= steady:
		w.backoff = 0
		return resumeAfter
	case err == nil:
		return w.grow()
	case errors.Is(err, api.ErrExpired):
		w.version = ""
		if w.expired++; w.expired == 1 {
			w.sink.Log("INFO", WatchLogger, "The watch of executor pods is too old (410); listing again.")
			return resumeAfter
		}
		return w.grow()
	case errors.Is(err, api.ErrDecode):
		w.version = ""
		w.sink.Log("WARN", WatchLogger, "An event of the executor watch cannot be read; listing again: "+err.Error())
		return w.grow()
	case kube.Kind(err) == kube.Forbidden:
		if !w.refused {
			w.refused = true
			w.sink.Log("WARN", WatchLogger, "The service account may not watch pods; falling back to lists. Allow it the verb "+
				"watch on pods. "+err.Error())
		}
		return refusedRetry
	}
	w.sink.Log("DEBUG", WatchLogger, "The watch of executor pods ended: "+err.Error())
	wait := resumeAfter
	if lived < steady {
		wait = w.grow()
	}
	if asked, ok := kube.RetryAfter(err); ok {
		wait = max(wait, min(asked, time.Minute))
	}
	return wait
}

func (w *Watch) grow() time.Duration {
	if w.backoff == 0 {
		w.backoff = firstBackoff
	} else {
		w.backoff = min(2*w.backoff, maxBackoff)
	}
	return w.backoff
}
