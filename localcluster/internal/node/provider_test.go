package node

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The shorter of two deletions counts, also when virtual-kubelet comes with the longer one last.
func TestTheShortestDeletionCounts(t *testing.T) {
	deleted := func(grace int64) *corev1.Pod {
		now := metav1.Now()
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "1", DeletionTimestamp: &now, DeletionGracePeriodSeconds: &grace}}
	}
	const forever = 1<<31 - 1
	for name, graces := range map[string][]int64{
		"the shorter comes last":  {forever, 1},
		"the shorter comes first": {1, forever},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &provider{now: time.Now, workers: map[string]*worker{}}
				w := newWorker(p, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "1"}})
				p.workers[w.key] = w
				for _, grace := range graces {
					p.podEvent(deleted(grace), false)
				}
				if !w.stop.is() || w.kill.is() {
					t.Fatalf("told to stop: %v, killed before its grace period is over: %v", w.stop.is(), w.kill.is())
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if !w.kill.is() {
					t.Error("not killed after the shorter grace period")
				}
			})
		})
	}
}
