package rows

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// at is a moment of the tests, in seconds.
func at(second int) metav1.Time { return metav1.NewTime(time.Unix(int64(1000+second), 0)) }

// ran is a driver that was made, started and ended at these seconds.
func ran(name string, made, started, ended int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: at(made)}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{StartedAt: at(started), FinishedAt: at(ended)}}}}
	return p
}

func placed(name string, second int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(second)}}
	return p
}

// The checks that take the place of counting pods find a scheduler that keeps no order.
func TestVolcanoChecksCanFail(t *testing.T) {
	waiting := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "w"}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
	onNode := waiting.DeepCopy()
	onNode.Spec.NodeName = "local"
	for name, tt := range map[string]struct {
		got  error
		want string // empty: no error
	}{
		"one by one":     {inSequence([]*corev1.Pod{ran("b", 1, 20, 30), ran("a", 0, 5, 20), ran("c", 2, 31, 40)}), ""},
		"two at once":    {inSequence([]*corev1.Pod{ran("a", 0, 5, 20), ran("b", 1, 19, 30)}), "driver b started at"},
		"not ended":      {inSequence([]*corev1.Pod{ran("a", 0, 5, 20), waiting}), "driver w has not ended"},
		"never met":      {inSequence([]*corev1.Pod{ran("a", 0, 5, 20), ran("b", 21, 25, 30)}), "driver b came after"},
		"by priority":    {placedInOrder([]*corev1.Pod{placed("x-low", 9), placed("x-high", 3), placed("x-medium", 6)}), ""},
		"in other order": {placedInOrder([]*corev1.Pod{placed("x-low", 5), placed("x-high", 3), placed("x-medium", 6)}), "priority low was placed"},
		"at the same time": {placedInOrder([]*corev1.Pod{placed("x-low", 6), placed("x-high", 3), placed("x-medium", 6)}),
			"priority low was placed"},
		"never placed":  {placedInOrder([]*corev1.Pod{placed("x-low", 5), waiting, placed("x-medium", 6)}), "no driver of priority high"},
		"pending":       {pendingOnly([]*corev1.Pod{waiting}), ""},
		"given a node":  {pendingOnly([]*corev1.Pod{waiting, onNode}), "though its queue is closed"},
		"ended already": {pendingOnly([]*corev1.Pod{{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}}), "though its queue is closed"},
	} {
		if tt.want == "" && tt.got != nil || tt.want != "" && (tt.got == nil || !strings.Contains(tt.got.Error(), tt.want)) {
			t.Errorf("%s: %v", name, tt.got)
		}
	}
}
