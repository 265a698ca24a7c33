package node

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/localcluster/internal/volume"
)

// fail ends the pod for a reason of the node's own.
func (w *worker) fail(why failure, grace time.Duration) {
	w.mu.Lock()
	if w.failed == nil {
		w.failed = &why
	}
	w.mu.Unlock()
	w.terminate(grace)
}

// watchDeadline fails the pod when its active deadline has passed.
func (w *worker) watchDeadline(ctx context.Context) {
	pod := w.current()
	if pod.Spec.ActiveDeadlineSeconds == nil {
		return
	}
	left := time.Until(w.start.Add(time.Duration(*pod.Spec.ActiveDeadlineSeconds) * time.Second))
	go func() {
		select {
		case <-time.After(left):
			w.fail(failure{"DeadlineExceeded", "Pod was active on the node longer than the specified deadline"}, graceOf(pod))
		case <-w.done:
		case <-ctx.Done():
		}
	}()
}

const (
	// sizesEvery is how often volumes with a limit are measured.
	sizesEvery = 2 * time.Second
	// evictionGrace is what a kubelet leaves a pod that it evicts for its disk.
	evictionGrace = time.Second
)

// watchSizes evicts the pod when one of its disk-backed empty folders holds more than its limit. The kernel itself limits those in memory.
func (w *worker) watchSizes(ctx context.Context) {
	pod, dirs := w.current(), map[string]int64{}
	for i := range pod.Spec.Volumes {
		e := pod.Spec.Volumes[i].EmptyDir
		if e != nil && e.Medium == corev1.StorageMediumDefault && e.SizeLimit != nil && !e.SizeLimit.IsZero() {
			dirs[pod.Spec.Volumes[i].Name] = e.SizeLimit.Value()
		}
	}
	if len(dirs) == 0 {
		return
	}
	go func() {
		for {
			select {
			case <-w.stop.ch:
				return
			case <-w.done:
				return
			case <-ctx.Done():
				return
			case <-time.After(sizesEvery):
			}
			for name, limit := range dirs {
				used, err := volume.Usage(filepath.Join(w.p.volumes.PodDir(pod), name))
				if err != nil {
					w.p.log.Printf("pod %s volume %s: %v", w.key, name, err)
				}
				if used > limit {
					w.evict(pod, name)
					return
				}
			}
		}
	}()
}

func (w *worker) evict(pod *corev1.Pod, name string) {
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.Name == name {
			why := fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", name, v.EmptyDir.SizeLimit.String())
			w.p.events.pod(pod, corev1.EventTypeWarning, "Evicted", why)
			w.fail(failure{"Evicted", why}, evictionGrace)
		}
	}
}
