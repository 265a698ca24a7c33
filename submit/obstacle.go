package submit

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// obstacle is what keeps a driver pod from starting. Two with the same key are the same obstacle, however the server words
// it this time.
type obstacle struct{ key, text string }

// podObstacle reads a pod for what keeps it from starting. nodes and events are what is known of the cluster, perhaps
// nothing. The zero value stands for no obstacle.
func podObstacle(pod *corev1.Pod, nodes []corev1.Node, events []corev1.Event) obstacle {
	if pod.Status.Phase != corev1.PodPending {
		return obstacle{}
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range list {
			if o := containerObstacle(s, events); o.key != "" {
				return o
			}
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse {
			continue
		}
		switch c.Reason {
		case corev1.PodReasonUnschedulable:
			return obstacle{"unschedulable " + c.Message, unschedulable(pod, nodes, c.Message)}
		case corev1.PodReasonSchedulingGated:
			return gated(pod)
		}
	}
	return eventObstacle(events)
}

// gated names the gates of others; ours goes by itself.
func gated(pod *corev1.Pod) obstacle {
	var names []string
	for _, g := range pod.Spec.SchedulingGates {
		if !isOurGate(g) {
			names = append(names, g.Name)
		}
	}
	if names == nil {
		return obstacle{}
	}
	return obstacle{"gated", "The driver waits for admission: something else has to remove its scheduling gate " + strings.Join(names, ", ")}
}

// containerObstacle reads a waiting container.
func containerObstacle(s corev1.ContainerStatus, events []corev1.Event) obstacle {
	w := s.State.Waiting
	if w == nil {
		return obstacle{}
	}
	why := oneLine(w.Message)
	switch w.Reason {
	case "", "ContainerCreating", "PodInitializing":
		return obstacle{}
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable":
		if w.Reason == "ImagePullBackOff" { // it says no more than that; the event does
			if e := lastEvent(events, "Failed", "failed to pull"); e != nil {
				why = oneLine(e.Message)
			}
		}
		return obstacle{"image " + s.Name, cause("The driver cannot start: image "+s.Image+" of container "+s.Name+" cannot be pulled", w.Reason, why) +
			"; check the image's name and spark.kubernetes.container.image.pullSecrets"}
	case "CreateContainerConfigError":
		return obstacle{"config " + s.Name, cause("The driver cannot start: container "+s.Name+" names something that does not exist", w.Reason, why)}
	}
	return obstacle{w.Reason + " " + s.Name, cause("The driver cannot start: container "+s.Name+" with image "+s.Image, w.Reason, why)}
}

// eventObstacle reads what only events tell: volumes and the pod's sandbox.
func eventObstacle(events []corev1.Event) obstacle {
	for _, kind := range []struct{ reason, text string }{
		{"FailedMount", "a volume cannot be mounted"},
		{"FailedAttachVolume", "a volume cannot be attached"},
		{"FailedCreatePodSandBox", "the node cannot set up the pod"},
		{"NetworkNotReady", "the node's network is not ready"},
	} {
		if e := lastEvent(events, kind.reason, ""); e != nil {
			return obstacle{kind.reason + " " + e.Message, cause("The driver cannot start: "+kind.text, kind.reason, oneLine(e.Message))}
		}
	}
	return obstacle{}
}

// lastEvent is the newest event of a reason whose message holds a word.
func lastEvent(events []corev1.Event, reason, word string) *corev1.Event {
	var last *corev1.Event
	for i := range events {
		e := &events[i]
		if e.Reason == reason && strings.Contains(strings.ToLower(e.Message), word) && (last == nil || !eventTime(e).Before(eventTime(last))) {
			last = e
		}
	}
	return last
}

func eventTime(e *corev1.Event) *metav1.Time {
	switch {
	case e.Series != nil:
		return &metav1.Time{Time: e.Series.LastObservedTime.Time}
	case !e.LastTimestamp.IsZero():
		return &e.LastTimestamp
	}
	return &metav1.Time{Time: e.EventTime.Time}
}

// unschedulable says what was asked for, what the nodes have, and what the scheduler says.
func unschedulable(pod *corev1.Pod, nodes []corev1.Node, message string) string {
	text := "The driver cannot start: no node takes it. It asks for " + requests(pod)
	if len(pod.Spec.NodeSelector) > 0 {
		var labels []string
		for k, v := range pod.Spec.NodeSelector {
			labels = append(labels, k+"="+v)
		}
		slices.Sort(labels)
		text += " on a node with " + strings.Join(labels, ", ")
	}
	if len(nodes) > 0 {
		text += "; " + capacity(pod, nodes)
	}
	if message != "" {
		text += ". The scheduler says: " + oneLine(message)
	}
	return text
}

// requests lists what the containers of a pod ask for together.
func requests(pod *corev1.Pod) string {
	sum := corev1.ResourceList{}
	for _, c := range pod.Spec.Containers {
		for name, q := range c.Resources.Requests {
			total := sum[name]
			total.Add(q)
			sum[name] = total
		}
		for name, q := range c.Resources.Limits { // devices stand in the limits alone
			if _, asked := c.Resources.Requests[name]; !asked {
				total := sum[name]
				total.Add(q)
				sum[name] = total
			}
		}
	}
	if len(sum) == 0 {
		return "nothing in particular"
	}
	return amounts(sum, func(corev1.ResourceName) bool { return true })
}

// capacity is the most that one node has of each resource the pod asks for, its other pods left out of account.
func capacity(pod *corev1.Pod, nodes []corev1.Node) string {
	asked := map[corev1.ResourceName]bool{}
	for _, c := range pod.Spec.Containers {
		for name := range c.Resources.Requests {
			asked[name] = true
		}
		for name := range c.Resources.Limits {
			asked[name] = true
		}
	}
	most := corev1.ResourceList{}
	for name := range asked {
		most[name] = resource.Quantity{}
	}
	closed := 0
	for _, n := range nodes {
		if n.Spec.Unschedulable {
			closed++
			continue
		}
		for name, q := range n.Status.Allocatable {
			if m := most[name]; q.Cmp(m) > 0 {
				most[name] = q
			}
		}
	}
	text := fmt.Sprintf("the %d nodes have at most ", len(nodes))
	if len(nodes) == 1 {
		text = "the one node has "
	}
	text += amounts(most, func(name corev1.ResourceName) bool { return asked[name] })
	if closed > 0 {
		text += fmt.Sprintf(" (%d of them closed for new pods)", closed)
	}
	return text
}

// amounts lists resources, cpu and memory first.
func amounts(list corev1.ResourceList, shown func(corev1.ResourceName) bool) string {
	var names []string
	for name := range list {
		if shown(name) {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	slices.SortStableFunc(names, func(a, b string) int {
		return boolToInt(strings.Contains(a, "/")) - boolToInt(strings.Contains(b, "/"))
	})
	var out []string
	for _, name := range names {
		q := list[corev1.ResourceName(name)]
		out = append(out, name+" "+readable(name, q))
	}
	return strings.Join(out, ", ")
}

// readable writes memory in MiB, as Spark counts it.
func readable(name string, q resource.Quantity) string {
	const mib = 1 << 20
	if (name == string(corev1.ResourceMemory) || name == string(corev1.ResourceEphemeralStorage)) && q.Value() >= mib {
		return fmt.Sprintf("%dMi", q.Value()/mib)
	}
	return q.String()
}

func cause(what, reason, message string) string {
	if message == "" {
		return what + " (" + reason + ")"
	}
	return what + " (" + reason + "): " + message
}

func oneLine(text string) string {
	return foreign(strings.TrimRight(strings.Join(strings.Fields(text), " "), "."))
}
