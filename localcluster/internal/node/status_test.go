package node

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func ended(code int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "c", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}}
}

func inState(s corev1.ContainerState) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: "c", State: s}
}

func TestPodPhase(t *testing.T) {
	yes := true
	runs := corev1.ContainerStatus{Name: "c", Ready: true, Started: &yes, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	wait := inState(waiting(reasonCreating, ""))
	loops := inState(waiting(reasonCrashLoop, ""))
	loops.LastTerminationState = ended(1).State
	always := corev1.ContainerRestartPolicyAlways
	plain, sidecar := corev1.Container{Name: "i"}, corev1.Container{Name: "i", RestartPolicy: &always}
	for name, tc := range map[string]struct {
		policy     corev1.RestartPolicy
		initSpec   []corev1.Container
		init, main []corev1.ContainerStatus
		want       corev1.PodPhase
	}{
		"waits":                {"Never", nil, nil, []corev1.ContainerStatus{wait}, "Pending"},
		"runs":                 {"Never", nil, nil, []corev1.ContainerStatus{runs}, "Running"},
		"one waits":            {"Never", nil, nil, []corev1.ContainerStatus{runs, wait}, "Pending"},
		"one ended":            {"Never", nil, nil, []corev1.ContainerStatus{runs, ended(1)}, "Running"},
		"all well":             {"Never", nil, nil, []corev1.ContainerStatus{ended(0), ended(0)}, "Succeeded"},
		"one failed":           {"Never", nil, nil, []corev1.ContainerStatus{ended(0), ended(137)}, "Failed"},
		"always":               {"Always", nil, nil, []corev1.ContainerStatus{ended(0)}, "Running"},
		"on failure, well":     {"OnFailure", nil, nil, []corev1.ContainerStatus{ended(0)}, "Succeeded"},
		"on failure, again":    {"OnFailure", nil, nil, []corev1.ContainerStatus{ended(1)}, "Running"},
		"crash loop":           {"OnFailure", nil, nil, []corev1.ContainerStatus{loops}, "Running"},
		"init runs":            {"Never", []corev1.Container{plain}, []corev1.ContainerStatus{runs}, []corev1.ContainerStatus{wait}, "Pending"},
		"init failed":          {"Never", []corev1.Container{plain}, []corev1.ContainerStatus{ended(1)}, []corev1.ContainerStatus{wait}, "Failed"},
		"init failed, again":   {"Always", []corev1.Container{plain}, []corev1.ContainerStatus{ended(1)}, []corev1.ContainerStatus{wait}, "Pending"},
		"init done":            {"Never", []corev1.Container{plain}, []corev1.ContainerStatus{ended(0)}, []corev1.ContainerStatus{runs}, "Running"},
		"sidecar not up":       {"Never", []corev1.Container{sidecar}, []corev1.ContainerStatus{wait}, []corev1.ContainerStatus{wait}, "Pending"},
		"sidecar up":           {"Never", []corev1.Container{sidecar}, []corev1.ContainerStatus{runs}, []corev1.ContainerStatus{runs}, "Running"},
		"sidecar outlives all": {"Never", []corev1.Container{sidecar}, []corev1.ContainerStatus{runs}, []corev1.ContainerStatus{ended(0)}, "Succeeded"},
	} {
		spec := &corev1.PodSpec{RestartPolicy: tc.policy, InitContainers: tc.initSpec}
		if got := podPhase(spec, tc.init, tc.main); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestConditionsKeepWhatOthersWrote(t *testing.T) {
	t0, t1 := time.Unix(1000, 0), time.Unix(2000, 0)
	old := []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(t0)}}
	pod := &corev1.Pod{}
	main := []corev1.ContainerStatus{inState(waiting(reasonCreating, ""))}
	first := podConditions(pod, corev1.PodPending, nil, main, old, t0)
	main[0].Ready, main[0].State = true, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	second := podConditions(pod, corev1.PodRunning, nil, main, first, t1)
	type short struct {
		T corev1.PodConditionType
		S corev1.ConditionStatus
		R string
		A int64
	}
	var got []short
	for _, c := range second {
		got = append(got, short{c.Type, c.Status, c.Reason, c.LastTransitionTime.Unix()})
	}
	want := []short{
		{"PodScheduled", "True", "", 1000}, {"PodReadyToStartContainers", "True", "", 2000}, {"Initialized", "True", "", 1000}, {"Ready", "True", "", 2000},
		{"ContainersReady", "True", "", 2000},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if first[3].Message != "containers with unready status: [c]" || first[3].Reason != "ContainersNotReady" {
		t.Errorf("not ready: %+v", first[3])
	}
}

func TestTerminatedReasons(t *testing.T) {
	for _, tc := range []struct {
		code int
		oom  bool
		want string
	}{{0, false, "Completed"}, {1, false, "Error"}, {137, false, "Error"}, {137, true, "OOMKilled"}} {
		if got := terminated(tc.code, tc.oom, time.Now(), time.Now(), "", "").Terminated.Reason; got != tc.want {
			t.Errorf("%d, %v: %s, want %s", tc.code, tc.oom, got, tc.want)
		}
	}
}

func TestRestartsAndBackOff(t *testing.T) {
	if restarts("Never", false, 1) || !restarts("Never", true, 0) || !restarts("OnFailure", false, 1) || restarts("OnFailure", false, 0) || !restarts("Always", false, 0) {
		t.Error("restart policies")
	}
	var got []time.Duration
	for _, n := range []int{1, 2, 3, 6, 7, 100} {
		got = append(got, backOff(n))
	}
	if d := cmp.Diff([]time.Duration{0, 10 * time.Second, 20 * time.Second, 160 * time.Second, 5 * time.Minute, 5 * time.Minute}, got); d != "" {
		t.Error(d)
	}
}

func TestLostContainersAreEnded(t *testing.T) {
	list := lost([]corev1.ContainerStatus{{Name: "a", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, ended(3)}, time.Unix(5, 0))
	if s := list[0].State.Terminated; s == nil || s.ExitCode != 137 || s.Reason != reasonStatusUnknown || list[0].Ready {
		t.Errorf("lost: %+v", list[0])
	}
	if list[1].State.Terminated.ExitCode != 3 {
		t.Errorf("ended: %+v", list[1])
	}
}

func TestEndedPhase(t *testing.T) {
	if got := endedPhase("Running", []corev1.ContainerStatus{ended(0)}); got != corev1.PodSucceeded {
		t.Errorf("got %s", got)
	}
	if got := endedPhase("Running", []corev1.ContainerStatus{ended(0), ended(143)}); got != corev1.PodFailed {
		t.Errorf("got %s", got)
	}
}
