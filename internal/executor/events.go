package executor

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/internal/executor/lifecycle"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/kube"
)

// publish records a lost executor as a Kubernetes Event of the driver pod, for those who look with kubectl. The right to
// create events is optional: without it one warning, and no more events.
func (m *Manager) publish(e lifecycle.Ended) {
	if m.owner == nil || m.eventsOff || e.State == snapshot.Succeeded || m.killed.Has(e.Pod.ID) || m.allocator.Ours(e.Pod.ID) {
		return
	}
	now := metav1.NewTime(time.Now())
	ev := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: m.owner.Name + ".", Namespace: m.session.Namespace},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: m.owner.Name, Namespace: m.session.Namespace,
			UID: m.owner.UID},
		Type: corev1.EventTypeWarning, Reason: "ExecutorLost", Message: lifecycle.Summary(e.Pod, e.State),
		Source: corev1.EventSource{Component: "kubespark-manager"}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	m.effect(func(ctx context.Context) {
		err := m.api.CreateEvent(ctx, ev)
		if err == nil || ctx.Err() != nil {
			return
		}
		m.post(func() {
			if kube.Kind(err) == kube.Forbidden && !m.eventsOff {
				m.eventsOff = true
				m.log("WARN", managerLogger, "Lost executors are not recorded as events of the driver pod: the service account may "+
					"not create events.")
			}
		})
	})
}
