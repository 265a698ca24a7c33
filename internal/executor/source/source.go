// Package source brings news of the executor pods: a watch that resumes where it broke off, and a poll that lists while the
// watch is not to be trusted. Both run on goroutines of their own and hand what they learn to a Sink, which passes it to
// the owner of the store.
//
// It answers to Spark's ExecutorPodsWatchSnapshotSource and ExecutorPodsPollingSnapshotSource.
package source

import (
	"context"
	"strconv"
	"time"

	"github.com/kubespark/kubespark/internal/executor/api"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// Cluster is what the sources need of the API server.
type Cluster interface {
	ListPods(ctx context.Context, version string, f func(*snapshot.Wire)) (string, error)
	WatchPods(ctx context.Context, version string, timeout, silence time.Duration, f func(api.Event)) error
}

// Sink takes the news. Its methods return at once.
type Sink interface {
	List(snapshot.List)             // a complete list
	Pod(*snapshot.Pod)              // one pod as it is now
	Gone(*snapshot.Pod)             // one pod that is deleted, as it was last
	Confirm(at time.Time)           // the watch has told everything up to that time
	Log(level, logger, text string) // a line for the driver's log
}

// The stock loggers of the two sources.
const (
	WatchLogger = "org.apache.spark.scheduler.cluster.k8s.ExecutorPodsWatchSnapshotSource"
	PollLogger  = "org.apache.spark.scheduler.cluster.k8s.ExecutorPodsPollingSnapshotSource"
)

// Read makes one complete list. version is empty for the newest state or "0" for the server's cache.
func Read(ctx context.Context, c Cluster, r *snapshot.Reader, version string) (snapshot.List, string, error) {
	l := snapshot.List{Started: time.Now(), Cached: version != ""}
	at, err := c.ListPods(ctx, version, func(w *snapshot.Wire) {
		if p := r.Read(w); p != nil {
			l.Pods = append(l.Pods, p)
		}
	})
	if err != nil {
		return snapshot.List{}, "", err
	}
	l.Version, _ = strconv.ParseUint(at, 10, 64) // 0: the server's versions are no numbers, nothing is compared
	return l, at, nil
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
