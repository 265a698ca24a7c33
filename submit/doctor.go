package submit

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kubespark/kubespark/internal/kube"
)

const (
	// A pod is given this long to start before the events are asked, and they are asked this often.
	quietStart = 5 * time.Second
	eventPause = 10 * time.Second
	askTime    = 3 * time.Second
)

// doctor finds out why a driver does not start. It asks the cluster for events and nodes only while the driver waits, and
// does without what it may not read. It belongs to the watcher's goroutine.
type doctor struct {
	events func(ctx context.Context, pod *corev1.Pod) ([]corev1.Event, error)
	nodes  func(ctx context.Context) ([]corev1.Node, error)

	said    string // key of the obstacle last reported
	since   time.Time
	asked   time.Time
	seen    []corev1.Event
	cluster []corev1.Node
	noNodes bool
}

func newDoctor(api *kube.Client, s Submission) *doctor {
	return &doctor{
		events: func(ctx context.Context, pod *corev1.Pod) ([]corev1.Event, error) {
			list, err := api.Events(s.Namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
				"involvedObject.kind": "Pod", "involvedObject.name": pod.Name, "involvedObject.uid": string(pod.UID)}.String()})
			if err != nil {
				return nil, err
			}
			return list.Items, nil
		},
		nodes: func(ctx context.Context) ([]corev1.Node, error) {
			list, err := api.Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				return nil, err
			}
			return list.Items, nil
		},
	}
}

// look returns a new reason why the pod does not start, or "".
func (d *doctor) look(ctx context.Context, pod *corev1.Pod, now time.Time) string {
	if pod.Status.Phase != corev1.PodPending {
		return ""
	}
	if d.since.IsZero() {
		d.since = now
	}
	o := podObstacle(pod, nil, d.seen)
	if o.key == d.said && o.key != "" {
		return ""
	}
	if d.askEvents(ctx, pod, now, o) {
		o = podObstacle(pod, nil, d.seen)
	}
	if o.key == d.said || o.key == "" {
		return ""
	}
	d.said = o.key
	if d.askNodes(ctx, pod) {
		o = podObstacle(pod, d.cluster, d.seen)
	}
	return o.text
}

// askEvents reads the events of a pod that has waited for a while, or whose image cannot be pulled.
func (d *doctor) askEvents(ctx context.Context, pod *corev1.Pod, now time.Time, o obstacle) bool {
	waiting := pod.Spec.NodeName != "" && o.key == "" && now.Sub(d.since) >= quietStart
	if !waiting && !backingOff(pod) || !d.asked.IsZero() && now.Sub(d.asked) < eventPause {
		return false
	}
	d.asked = now
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	events, err := d.events(ctx, pod)
	if err != nil { // without the right to read events less is known
		return false
	}
	d.seen = events
	return true
}

func backingOff(pod *corev1.Pod) bool {
	for _, s := range pod.Status.ContainerStatuses {
		if s.State.Waiting != nil && s.State.Waiting.Reason == "ImagePullBackOff" {
			return true
		}
	}
	return false
}

// askNodes reads the nodes for a pod that none takes.
func (d *doctor) askNodes(ctx context.Context, pod *corev1.Pod) bool {
	if d.noNodes || !isUnschedulable(pod) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	nodes, err := d.nodes(ctx)
	if err != nil {
		d.noNodes = kube.Kind(err) == kube.Forbidden // a user of one namespace may not list them
		return false
	}
	d.cluster = nodes
	return true
}

func isUnschedulable(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return true
		}
	}
	return false
}
