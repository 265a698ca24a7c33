package node

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// The worker writes its pod's status itself, with a patch of the status alone. virtual-kubelet's own way sends the whole pod, and
// labels and annotations that somebody else had just written would be undone by it.

// update changes what others see and tells the status writer.
func (w *worker) update(change func()) {
	w.mu.Lock()
	change()
	w.mu.Unlock()
	w.changed()
}

func (w *worker) changed() {
	select {
	case w.dirty <- struct{}{}:
	default:
	}
}

func (w *worker) statusOf(s *corev1.ContainerStatus) corev1.ContainerStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *s
}

// snapshot is the pod's status now.
func (w *worker) snapshot() *corev1.PodStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	phase := podPhase(&w.pod.Spec, w.init, w.main)
	st := &corev1.PodStatus{HostIP: hostIP, HostIPs: []corev1.HostIP{{IP: hostIP}}, PodIP: w.ip, StartTime: w.start.DeepCopy()}
	if w.ip != "" {
		st.PodIPs = []corev1.PodIP{{IP: w.ip}}
	}
	if w.failed != nil && len(w.live) == 0 {
		phase, st.Reason, st.Message = corev1.PodFailed, w.failed.reason, w.failed.message
	} else if w.stop.is() && len(w.live) == 0 {
		phase = endedPhase(phase, w.main)
	}
	st.Phase = phase
	w.conditions = podConditions(w.pod, phase, w.init, w.main, w.conditions, w.p.now())
	st.Conditions = append([]corev1.PodCondition{}, w.conditions...)
	if w.resizing != nil {
		st.Conditions = append(st.Conditions, *w.resizing)
	}
	for i := range w.init {
		st.InitContainerStatuses = append(st.InitContainerStatuses, *w.init[i].DeepCopy())
	}
	for i := range w.main {
		st.ContainerStatuses = append(st.ContainerStatuses, *w.main[i].DeepCopy())
	}
	st.ObservedGeneration = w.pod.Generation
	return st
}

// endedPhase is the phase of a pod that was told to end and of which nothing runs: it will not start again, whatever its policy.
func endedPhase(phase corev1.PodPhase, main []corev1.ContainerStatus) corev1.PodPhase {
	if phase != corev1.PodRunning {
		return phase
	}
	for i := range main {
		if t := main[i].State.Terminated; t == nil || t.ExitCode != 0 {
			return corev1.PodFailed
		}
	}
	return corev1.PodSucceeded
}

// writeStatuses sends the status after each change, the newest only, until the pod's life is over; the last one is always sent.
func (w *worker) writeStatuses(ctx context.Context, over *gate) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-over.ch:
			w.send(ctx)
			return
		case <-w.dirty:
			w.send(ctx)
		}
	}
}

// send writes the status until it is written or the pod is gone.
func (w *worker) send(ctx context.Context) {
	w.sendMu.Lock()
	defer w.sendMu.Unlock()
	wait := 100 * time.Millisecond
	for ctx.Err() == nil && !w.p.closing.is() {
		st := w.snapshot()
		if w.sent != nil && apiequality.Semantic.DeepEqual(w.sent, st) {
			return
		}
		err := w.patch(ctx, st)
		if err == nil {
			w.sent = st
			return
		}
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // gone, or another pod of the same name
			return
		}
		if ctx.Err() == nil {
			w.p.log.Printf("status of pod %s: %v", w.key, err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait = min(wait*2, 5*time.Second)
	}
}

func (w *worker) patch(ctx context.Context, st *corev1.PodStatus) error {
	pod := w.current()
	body, err := statusPatch(pod, w.sent, st)
	if err != nil {
		return fmt.Errorf("status of pod %s: %w", w.key, err)
	}
	_, err = w.p.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}

// statusPatch is the status and, for each condition that the last one had and this one has not, an order to delete it: conditions are
// merged by their type.
func statusPatch(pod *corev1.Pod, last, now *corev1.PodStatus) ([]byte, error) {
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(now)
	if err != nil {
		return nil, err
	}
	if last != nil {
		list, _ := status["conditions"].([]any)
		for _, c := range last.Conditions {
			if !slices.ContainsFunc(now.Conditions, func(n corev1.PodCondition) bool { return n.Type == c.Type }) {
				list = append(list, map[string]any{"type": string(c.Type), "$patch": "delete"})
			}
		}
		status["conditions"] = list
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
}

// finish reports the last status and removes the pod from the API server: nothing of it runs any more.
func (w *worker) finish(ctx context.Context) error {
	w.send(ctx)
	return w.p.deleteObject(ctx, w.current())
}

func (p *provider) deleteObject(ctx context.Context, pod *corev1.Pod) error {
	opts := metav1.NewDeleteOptions(0)
	opts.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	err := p.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *opts)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
