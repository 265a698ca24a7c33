package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/kubespark/kubespark/internal/executor/api"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/kube"
)

// Times of the stop (B13). Spark's shutdown hook has 30 s in all; a stop at the end of the program is given longer, for thousands
// of pods.
const (
	stopDeadline = 20 * time.Second
	stopLongest  = 2 * time.Minute
	endsByItself = 5 * time.Second // executors that got StopExecutor end without being deleted
	createsEnd   = 3 * time.Second
)

// Stop ends the work and removes what the application owns, in the order of B13. left is the number of executor pods that
// could not be deleted.
func (m *Manager) Stop(deadline time.Duration, reply func(left int)) {
	m.post(func() {
		// A manager that was started while the driver stops is opened and stopped, without a start.
		written := m.began || (m.phase == opened && m.session.Resume != nil)
		m.phase = stopping
		if !written {
			reply(0)
			return
		}
		if deadline <= 0 {
			deadline = stopDeadline
		}
		deadline = min(deadline, stopLongest)
		ctx, cancel := context.WithTimeout(m.ctx, deadline)
		go func() {
			defer cancel()
			reply(m.cleanUp(ctx, deadline))
		}()
	})
}

// ask runs f on the owner goroutine and waits for its answer.
func ask[T any](ctx context.Context, m *Manager, f func() T) T { return askIn(ctx, m, 0, f) }

// askIn is ask in an order among those who ask at the same time.
func askIn[T any](ctx context.Context, m *Manager, order int64, f func() T) T {
	answer := make(chan T, 1)
	m.mail.postIn(order, func() { answer <- f() })
	select {
	case v := <-answer:
		return v
	case <-ctx.Done():
		var zero T
		return zero
	}
}

// manyPods are so many that deleting them may take longer than stopDeadline.
const manyPods = 500

// cleanUp carries the stop out, within stopDeadline unless there are many pods.
func (m *Manager) cleanUp(long context.Context, deadline time.Duration) int {
	ctx, cancel := context.WithTimeout(long, min(deadline, stopDeadline))
	defer cancel()
	set := ask(ctx, m, func() settings { return m.set })
	m.endCreates(ctx)
	inSets := ask(ctx, m, func() bool { return m.sets != nil })
	if set.deleteExecutors && set.stopWait && !inSets { // a set's pods are started again in place: nothing to wait for
		m.awaitEnds(ctx)
	}
	if m.stopRead != nil {
		m.stopRead()
		waitFor(ctx, m.sources.Wait)
	}
	if set.deleteServices {
		m.deleteFamily(ctx, api.Services, "services")
	}
	if set.ownClaims {
		m.deleteFamily(ctx, api.Claims, "persistentvolumeclaims")
	}
	if !set.deleteExecutors {
		return 0
	}
	m.deleteSets(ctx)
	if ask(ctx, m, func() bool { return len(m.store.Pods()) >= manyPods }) {
		ctx = long
	}
	m.deletePods(ctx)
	if set.configMap {
		m.deleteFamily(ctx, api.ConfigMaps, "configmaps")
	}
	return m.verify(ctx)
}

// endCreates lets the creates in flight come to their end, so that none lands after the delete.
func (m *Manager) endCreates(ctx context.Context) {
	short, cancel := context.WithTimeout(ctx, createsEnd)
	defer cancel()
	if waitFor(short, m.creates.Wait) {
		return
	}
	if m.stopMake != nil {
		m.stopMake()
	}
	waitFor(ctx, m.creates.Wait)
}

// waitFor waits for f to return, and says whether it did before ctx ended.
func waitFor(ctx context.Context, f func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// awaitEnds waits for the executors that Spark told to stop.
func (m *Manager) awaitEnds(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, endsByItself)
	defer cancel()
	for ctx.Err() == nil {
		running := ask(ctx, m, func() int {
			n := 0
			for _, p := range m.store.Pods() {
				if p.State == snapshot.Running && m.registered.Has(p.ID) {
					n++
				}
			}
			return n
		})
		if running == 0 {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// deletePods deletes the executor pods as one collection. A server breaks off after a minute of its own, thousands of pods in: then it
// is asked again.
func (m *Manager) deletePods(ctx context.Context) {
	for try := 1; ; try++ {
		err := m.api.DeleteFamily(ctx, api.Pods)
		if k := kube.Kind(err); ctx.Err() != nil || try == 3 || k != kube.Unknown && k != kube.Transient {
			m.reportUndeleted("pods", err)
			return
		}
	}
}

func (m *Manager) deleteFamily(ctx context.Context, f api.Family, what string) {
	m.reportUndeleted(what, m.api.DeleteFamily(ctx, f))
}

func (m *Manager) reportUndeleted(what string, err error) {
	if err != nil {
		m.log("WARN", managerLogger, fmt.Sprintf("The application's %s cannot be deleted; allow the driver's service account the "+
			"verb deletecollection (or list and delete) on them, or delete them by the label spark-app-selector=%s: %v", what,
			m.session.AppID, err))
	}
}

// verify lists what is left, deletes it once more and returns the number of pods that stay.
func (m *Manager) verify(ctx context.Context) int {
	names, err := m.api.Names(ctx, api.Pods)
	for _, name := range names {
		if derr := m.api.DeletePod(ctx, name, ""); derr != nil {
			err = derr
		}
	}
	if len(names) > 0 {
		names, err = m.api.Names(ctx, api.Pods)
	}
	switch {
	case err != nil:
		m.log("WARN", managerLogger, "It cannot be verified that no executor pod is left: "+err.Error())
	case len(names) > 0:
		m.log("WARN", managerLogger, fmt.Sprintf("%d executor pods could not be deleted.", len(names)))
	default:
		m.log("INFO", managerLogger, "All executor pods of application "+m.session.AppID+" are deleted.")
	}
	return len(names)
}
