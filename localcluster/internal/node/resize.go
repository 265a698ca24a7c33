package node

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/localcluster/internal/container"
)

// resizeAgain is the wait after limits that the kernel refused: the container may use less by then.
const resizeAgain = 2 * time.Second

// resize brings the running containers to the resources that the pod's spec has now, until they have them or the pod ends.
func (w *worker) resize() {
	w.resizeMu.Lock()
	defer w.resizeMu.Unlock()
	for {
		pod := w.current()
		err := w.resizeAll(pod)
		w.setResizeCondition(pod, err)
		if err == nil || !w.pause(resizeAgain) {
			return
		}
	}
}

// setResizeCondition says why containers have not got their resources yet. What the node as a whole lacks the API server has refused.
func (w *worker) setResizeCondition(pod *corev1.Pod, why error) {
	w.update(func() {
		old := w.resizing
		w.resizing = nil
		if why == nil {
			return
		}
		w.resizing = &corev1.PodCondition{
			Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue, Reason: corev1.PodReasonError, Message: why.Error(),
			ObservedGeneration: pod.Generation, LastTransitionTime: metav1.NewTime(w.p.now()),
		}
		if old != nil {
			w.resizing.LastTransitionTime = old.LastTransitionTime
		}
	})
}

func (w *worker) resizeAll(pod *corev1.Pod) error {
	var errs []error
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			w.mu.Lock()
			r := w.live[list[i].Name]
			w.mu.Unlock()
			if r != nil {
				errs = append(errs, w.resizeOne(r, &list[i]))
			}
		}
	}
	return errors.Join(errs...)
}

func (w *worker) resizeOne(r *run, c *corev1.Container) error {
	if apiequality.Semantic.DeepEqual(r.resources, c.Resources) {
		return nil
	}
	if needsRestart(c, r.resources) {
		select {
		case r.restart <- unhealthy{text: fmt.Sprintf("Container %s resize requires restart", c.Name)}:
		default: // told already
		}
		return nil
	}
	var s container.Spec
	limits(&s, c.Resources)
	err := fits(r, s.MemoryLimit)
	if err == nil {
		err = r.c.SetLimits(container.Limits{Memory: s.MemoryLimit, CPUShares: s.CPUShares, CPUQuota: s.CPUQuota})
	}
	if err != nil {
		w.p.events.container(w.current(), c.Name, corev1.EventTypeWarning, "ResizeError", err.Error())
		return err
	}
	r.resources = c.Resources
	w.update(func() {
		if st := w.statusNamed(c.Name); st != nil {
			st.Resources, st.AllocatedResources = c.Resources.DeepCopy(), c.Resources.Requests.DeepCopy()
		}
	})
	w.p.events.container(w.current(), c.Name, corev1.EventTypeNormal, "ResizeCompleted", "Container resized to "+describe(c.Resources))
	return nil
}

// fits refuses a memory limit below what the container uses: one kernel would refuse it too, another would kill the container.
func fits(r *run, limit int64) error {
	u, err := r.c.Usage()
	if err == nil && limit > 0 && limit < r.resources.Limits.Memory().Value() && u.Memory > uint64(limit) {
		return fmt.Errorf("attempting to set the memory limit (%d) below the current usage (%d)", limit, u.Memory)
	}
	return err
}

// needsRestart: a resource has changed that the container takes at its start only.
func needsRestart(c *corev1.Container, had corev1.ResourceRequirements) bool {
	for _, p := range c.ResizePolicy {
		same := equalQuantity(had.Requests[p.ResourceName], c.Resources.Requests[p.ResourceName]) &&
			equalQuantity(had.Limits[p.ResourceName], c.Resources.Limits[p.ResourceName])
		if p.RestartPolicy == corev1.RestartContainer && !same {
			return true
		}
	}
	return false
}

func equalQuantity(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }

func describe(r corev1.ResourceRequirements) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		q := r.Limits[name]
		parts = append(parts, fmt.Sprintf("%s limit %s", name, q.String()))
	}
	if len(parts) == 0 {
		return "no limits"
	}
	return strings.Join(parts, ", ")
}

// statusNamed is a container's status; the caller holds mu.
func (w *worker) statusNamed(name string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{w.init, w.main} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// containerNow is a container as the pod's spec has it now: its resources may change while the pod lives.
func (w *worker) containerNow(c *corev1.Container) *corev1.Container {
	pod := w.current()
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == c.Name {
				return &list[i]
			}
		}
	}
	return c
}
