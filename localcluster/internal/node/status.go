package node

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons of container states, as a kubelet gives them.
const (
	reasonCreating      = "ContainerCreating"
	reasonInitializing  = "PodInitializing"
	reasonConfigError   = "CreateContainerConfigError"
	reasonErrImagePull  = "ErrImagePull"
	reasonPullBackOff   = "ImagePullBackOff"
	reasonCrashLoop     = "CrashLoopBackOff"
	reasonStartError    = "StartError"
	reasonCompleted     = "Completed"
	reasonError         = "Error"
	reasonOOMKilled     = "OOMKilled"
	reasonStatusUnknown = "ContainerStatusUnknown"
	startErrorExitCode  = 128
	killedExitCode      = 137
)

// isSidecar says whether an init container runs beside the pod's containers for all their life.
func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// podPhase is the phase that follows from the containers' states.
func podPhase(spec *corev1.PodSpec, init, main []corev1.ContainerStatus) corev1.PodPhase {
	if phase, done := initPhase(spec, init); done {
		return phase
	}
	var running, waiting, failed, succeeded int
	for i := range main {
		switch st := &main[i].State; {
		case st.Running != nil:
			running++
		case st.Terminated != nil && st.Terminated.ExitCode == 0:
			succeeded++
		case st.Terminated != nil:
			failed++
		case main[i].LastTerminationState.Terminated != nil:
			running++ // waits for its next start
		default:
			waiting++
		}
	}
	switch {
	case waiting > 0:
		return corev1.PodPending
	case running > 0:
		return corev1.PodRunning
	case spec.RestartPolicy == corev1.RestartPolicyAlways:
		return corev1.PodRunning
	case failed == 0:
		return corev1.PodSucceeded
	case spec.RestartPolicy == corev1.RestartPolicyNever:
		return corev1.PodFailed
	}
	return corev1.PodRunning // OnFailure: the failed ones start again
}

// initPhase is the phase while init containers decide it.
func initPhase(spec *corev1.PodSpec, init []corev1.ContainerStatus) (corev1.PodPhase, bool) {
	for i := range init {
		st := init[i].State.Terminated
		if isSidecar(&spec.InitContainers[i]) {
			if init[i].Started != nil && *init[i].Started || st != nil {
				continue
			}
			return corev1.PodPending, true
		}
		if st != nil && st.ExitCode == 0 {
			continue
		}
		if st != nil && spec.RestartPolicy == corev1.RestartPolicyNever {
			return corev1.PodFailed, true
		}
		return corev1.PodPending, true
	}
	return "", false
}

// podConditions updates the conditions that the node owns and keeps all others. A condition's time changes with its status only.
func podConditions(pod *corev1.Pod, phase corev1.PodPhase, init, main []corev1.ContainerStatus, old []corev1.PodCondition, now time.Time) []corev1.PodCondition {
	out := append([]corev1.PodCondition{}, old...)
	pending, unready := uninitialized(pod, init), notReady(&pod.Spec, init, main)
	initialized := len(pending) == 0
	set := func(t corev1.PodConditionType, ok bool, reason, message string) {
		if ok {
			reason, message = "", ""
		}
		if ok && phase == corev1.PodSucceeded {
			reason = "PodCompleted"
		}
		out = setCondition(out, corev1.PodCondition{
			Type: t, Status: status(ok), Reason: reason, Message: message, ObservedGeneration: pod.Generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
	ready := initialized && len(unready) == 0 && phase == corev1.PodRunning
	why, text := "ContainersNotReady", "containers with unready status: ["+strings.Join(unready, " ")+"]"
	switch phase {
	case corev1.PodSucceeded:
		why, text = "PodCompleted", ""
	case corev1.PodFailed:
		why, text = "PodFailed", ""
	}
	set("PodReadyToStartContainers", phase == corev1.PodRunning || len(pending) > 0 && phase == corev1.PodPending, "", "")
	set(corev1.PodInitialized, initialized, "ContainersNotInitialized", "containers with incomplete status: ["+strings.Join(pending, " ")+"]")
	set(corev1.PodReady, ready, why, text)
	set(corev1.ContainersReady, ready, why, text)
	return out
}

// uninitialized names the init containers that still have to end, or, as sidecars, to start.
func uninitialized(pod *corev1.Pod, init []corev1.ContainerStatus) (names []string) {
	for i := range init {
		ok := init[i].State.Terminated != nil && init[i].State.Terminated.ExitCode == 0
		if isSidecar(&pod.Spec.InitContainers[i]) {
			ok = init[i].Started != nil && *init[i].Started || init[i].State.Terminated != nil
		}
		if !ok {
			names = append(names, init[i].Name)
		}
	}
	return names
}

// notReady names the containers that run for the pod's whole life, sidecars among them, and are not ready.
func notReady(spec *corev1.PodSpec, init, main []corev1.ContainerStatus) (names []string) {
	for i := range init {
		if isSidecar(&spec.InitContainers[i]) && !init[i].Ready {
			names = append(names, init[i].Name)
		}
	}
	for i := range main {
		if !main[i].Ready {
			names = append(names, main[i].Name)
		}
	}
	return names
}

func status(ok bool) corev1.ConditionStatus {
	if ok {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

func setCondition(list []corev1.PodCondition, c corev1.PodCondition) []corev1.PodCondition {
	for i := range list {
		if list[i].Type == c.Type {
			if list[i].Status == c.Status {
				c.LastTransitionTime = list[i].LastTransitionTime
			}
			list[i] = c
			return list
		}
	}
	return append(list, c)
}

// terminated is the state of an ended container.
func terminated(code int, oom bool, started, finished time.Time, id, message string) corev1.ContainerState {
	reason := reasonError
	switch {
	case oom:
		reason = reasonOOMKilled
	case code == 0:
		reason = reasonCompleted
	}
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: int32(code), Reason: reason, Message: message, ContainerID: id,
		StartedAt: metav1.NewTime(started), FinishedAt: metav1.NewTime(finished),
	}}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// restarts says whether a container that ended starts again.
func restarts(policy corev1.RestartPolicy, sidecar bool, code int32) bool {
	return sidecar || policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
}

// backOff is the wait before a container's n-th restart, n from 1: the first at once, then 10 s, doubling up to 5 minutes.
func backOff(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	return min(10*time.Second<<min(n-2, 10), 5*time.Minute)
}

// lost turns the states of containers that ran under an earlier life of the node into ended ones: what becomes of a process whose
// keeper died is not known, only that it does not run any more.
func lost(list []corev1.ContainerStatus, now time.Time) []corev1.ContainerStatus {
	for i := range list {
		run := list[i].State.Running
		if run == nil {
			continue
		}
		list[i].Ready = false
		list[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: killedExitCode, Reason: reasonStatusUnknown, ContainerID: list[i].ContainerID,
			Message:   "The container could not be located when the node started again",
			StartedAt: run.StartedAt, FinishedAt: metav1.NewTime(now),
		}}
	}
	return list
}
