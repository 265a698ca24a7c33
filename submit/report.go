package submit

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pair is one line of a report.
type pair struct{ key, value string }

// pairs writes lines as Spark does: a line feed, tabs, one blank, key and value, N/A for nothing.
func pairs(indent int, list []pair) string {
	var out strings.Builder
	for _, p := range list {
		if p.value == "" {
			p.value = "N/A"
		}
		out.WriteString("\n" + strings.Repeat("\t", indent) + " " + p.key + ": " + p.value)
	}
	return out.String()
}

// stateText describes a driver pod. It answers to KubernetesUtils.formatPodState.
func stateText(pod *corev1.Pod, sparkContainer string) string {
	var labels, volumes []string
	for _, k := range slices.Sorted(maps.Keys(pod.Labels)) {
		labels = append(labels, k+" -> "+pod.Labels[k])
	}
	for _, v := range pod.Spec.Volumes {
		volumes = append(volumes, v.Name)
	}
	start := ""
	if pod.Status.StartTime != nil {
		start = timeText(*pod.Status.StartTime)
	}
	return pairs(1, []pair{
		{"pod name", pod.Name},
		{"namespace", pod.Namespace},
		{"labels", strings.Join(labels, ", ")},
		{"pod uid", string(pod.UID)},
		{"creation time", timeText(pod.CreationTimestamp)},
		{"service account name", pod.Spec.ServiceAccountName},
		{"volumes", strings.Join(volumes, ", ")},
		{"node name", pod.Spec.NodeName},
		{"start time", start},
		{"phase", string(pod.Status.Phase)},
		{"container status", containersText(pod, sparkContainer, 2)},
	})
}

// containersText describes the containers, the Spark container last: readers take the last exit code.
func containersText(pod *corev1.Pod, sparkContainer string, indent int) string {
	list := slices.Clone(pod.Status.ContainerStatuses)
	slices.SortStableFunc(list, func(a, b corev1.ContainerStatus) int {
		return boolToInt(a.Name == sparkContainer) - boolToInt(b.Name == sparkContainer)
	})
	texts := make([]string, len(list))
	for i, s := range list {
		texts[i] = pairs(indent, append([]pair{{"container name", s.Name}, {"container image", s.Image}}, statePairs(s.State)...))
	}
	return strings.Join(texts, "\n\n")
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func statePairs(s corev1.ContainerState) []pair {
	switch {
	case s.Running != nil:
		return []pair{{"container state", "running"}, {"container started at", timeText(s.Running.StartedAt)}}
	case s.Waiting != nil:
		return []pair{{"container state", "waiting"}, {"pending reason", foreign(s.Waiting.Reason)}}
	case s.Terminated != nil:
		return []pair{{"container state", "terminated"}, {"container started at", timeText(s.Terminated.StartedAt)},
			{"container finished at", timeText(s.Terminated.FinishedAt)}, {"exit code", strconv.Itoa(int(s.Terminated.ExitCode))},
			{"termination reason", foreign(s.Terminated.Reason)}}
	}
	return []pair{{"container state", ""}}
}

// timeText is the API's text of a time.
func timeText(t metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Result is how an application ended.
type Result struct {
	Phase    string      // of the driver pod, "unknown" if it was never seen
	Deleted  bool        // the driver pod went away before it was done
	ExitCode int         // of the Spark container; 1 for a failure without one
	Reason   string      // why, in a few words, when it failed
	Pod      *corev1.Pod // as last seen, may be nil
}

// result draws the conclusion from the last state of a pod.
func result(pod *corev1.Pod, container string, deleted bool) Result {
	r := Result{Phase: "unknown", Deleted: deleted, Pod: pod, ExitCode: 1}
	if pod == nil {
		r.Reason = "the driver pod was deleted"
		return r
	}
	r.Phase = string(pod.Status.Phase)
	if t := terminated(pod, container); t != nil {
		r.ExitCode = int(t.ExitCode)
		if r.ExitCode != 0 {
			r.Reason = exitReason(pod, container, t)
		}
		return r
	}
	switch {
	case deleted:
		r.Reason = "the driver pod was deleted"
	case pod.Status.Phase == corev1.PodSucceeded:
		r.ExitCode = 0
	default:
		r.Reason = "the driver pod failed" + initFailure(pod)
		for _, text := range []string{pod.Status.Reason, pod.Status.Message} {
			if text != "" {
				r.Reason += ": " + foreign(text)
			}
		}
	}
	return r
}

func terminated(pod *corev1.Pod, container string) *corev1.ContainerStateTerminated {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == container {
			return s.State.Terminated
		}
	}
	return nil
}

// exitReason words the end of the Spark container, with what to change where that is known.
func exitReason(pod *corev1.Pod, container string, t *corev1.ContainerStateTerminated) string {
	text := fmt.Sprintf("the driver exited with %d (%s)", t.ExitCode, foreign(t.Reason))
	switch t.Reason {
	case "OOMKilled":
		text += ": it needed more memory than its limit" + memoryLimit(pod, container) +
			"; raise spark.driver.memory, or spark.driver.memoryOverhead for what is beside the heap"
	case "StartError", "ContainerCannotRun", "RunContainerError":
		if t.Message != "" {
			text += ": " + oneLine(t.Message)
		}
	}
	return text
}

func memoryLimit(pod *corev1.Pod, container string) string {
	for _, c := range pod.Spec.Containers {
		if q, ok := c.Resources.Limits[corev1.ResourceMemory]; ok && c.Name == container {
			return " of " + readable(string(corev1.ResourceMemory), q)
		}
	}
	return ""
}

// initFailure names the init container that failed, if one did.
func initFailure(pod *corev1.Pod) string {
	for _, s := range pod.Status.InitContainerStatuses {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			text := fmt.Sprintf(": its init container %s exited with %d (%s)", s.Name, t.ExitCode, foreign(t.Reason))
			if t.Message != "" {
				text += ": " + oneLine(t.Message)
			}
			return text
		}
	}
	return ""
}
