// Package metrics serves the API group metrics.k8s.io, as metrics-server does in other clusters: what `kubectl top` shows and what
// Spark's ExecutorResizePlugin asks for. The node of the cluster runs it; the API server passes requests on to it and has authorized
// them.
package metrics

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	v1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Root is the path below which the API serves.
const Root = "/apis/" + v1beta1.GroupName

// API answers requests for metrics.
type API struct {
	// Summaries gives what each node of the cluster measures. A node that does not answer is left out.
	Summaries func(context.Context) ([]*stats.Summary, error)
	// Pods gives all pods, for their labels.
	Pods func() ([]*corev1.Pod, error)
}

// window is what CPU usage is averaged over, as it is told; the nodes' own time differs a little.
const window = 10 * time.Second

// ServeHTTP answers discovery, and lists and single objects of nodes and pods.
func (a API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, Root), "/"), "/")
	var answer any
	var err error
	switch version := parts[0]; {
	case r.Method != http.MethodGet:
		fail(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "metrics can be read only")
		return
	case version == "":
		answer = group()
	case version != v1beta1.SchemeGroupVersion.Version:
	case len(parts) == 1:
		answer = resources()
	default:
		answer, err = a.objects(r, parts[1:])
	}
	switch {
	case err != nil:
		fail(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, err.Error())
	case answer == nil:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, "there are no metrics at "+r.URL.Path)
	default:
		send(w, http.StatusOK, answer)
	}
}

func send(w http.ResponseWriter, code int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer) // the client left
}

func fail(w http.ResponseWriter, code int, reason metav1.StatusReason, text string) {
	send(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: text,
	})
}

func group() metav1.APIGroup {
	v := metav1.GroupVersionForDiscovery{GroupVersion: v1beta1.SchemeGroupVersion.String(), Version: v1beta1.SchemeGroupVersion.Version}
	return metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: v1beta1.GroupName, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v,
	}
}

func resources() metav1.APIResourceList {
	verbs := metav1.Verbs{"get", "list"}
	return metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: v1beta1.SchemeGroupVersion.String(),
		APIResources: []metav1.APIResource{
			{Name: "nodes", Kind: "NodeMetrics", Verbs: verbs}, {Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: verbs},
		},
	}
}

// objects answers nodes, nodes/NAME, pods, namespaces/NS/pods and namespaces/NS/pods/NAME; nil is for what is not there.
func (a API) objects(r *http.Request, path []string) (any, error) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	namespace := ""
	if path[0] == "namespaces" && len(path) > 2 {
		namespace, path = path[1], path[2:]
	}
	name := strings.Join(path[1:], "/")
	all, err := a.Summaries(r.Context())
	if err != nil {
		return nil, err
	}
	switch path[0] {
	case "nodes":
		return pick(nodes(all), name, func(n v1beta1.NodeMetrics) string { return n.Name }, func(items []v1beta1.NodeMetrics) any {
			return v1beta1.NodeMetricsList{TypeMeta: kind("NodeMetricsList"), Items: items}
		}), nil
	case "pods":
		pods, err := a.Pods()
		if err != nil {
			return nil, err
		}
		return pick(podMetrics(all, pods, namespace, selector), name, func(p v1beta1.PodMetrics) string { return p.Name }, func(items []v1beta1.PodMetrics) any {
			return v1beta1.PodMetricsList{TypeMeta: kind("PodMetricsList"), Items: items}
		}), nil
	}
	return nil, nil
}

// pick is the one object of a name, nil if it is not there, or without a name the list.
func pick[T any](items []T, name string, nameOf func(T) string, list func([]T) any) any {
	if name == "" {
		return list(items)
	}
	for _, i := range items {
		if nameOf(i) == name {
			return i
		}
	}
	return nil
}

func kind(name string) metav1.TypeMeta {
	return metav1.TypeMeta{Kind: name, APIVersion: v1beta1.SchemeGroupVersion.String()}
}

func usage(cpu *stats.CPUStats, memory *stats.MemoryStats) corev1.ResourceList {
	out := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(0, resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(0, resource.BinarySI)}
	if cpu != nil && cpu.UsageNanoCores != nil {
		out[corev1.ResourceCPU] = *resource.NewScaledQuantity(int64(*cpu.UsageNanoCores), resource.Nano)
	}
	if memory != nil && memory.WorkingSetBytes != nil {
		out[corev1.ResourceMemory] = *resource.NewQuantity(int64(*memory.WorkingSetBytes), resource.BinarySI)
	}
	return out
}

func nodes(all []*stats.Summary) []v1beta1.NodeMetrics {
	out := []v1beta1.NodeMetrics{}
	for _, s := range all {
		n := v1beta1.NodeMetrics{TypeMeta: kind("NodeMetrics"), ObjectMeta: metav1.ObjectMeta{Name: s.Node.NodeName}, Window: metav1.Duration{Duration: window}, Usage: usage(s.Node.CPU, s.Node.Memory)}
		if s.Node.CPU != nil {
			n.Timestamp = s.Node.CPU.Time
		}
		out = append(out, n)
	}
	return out
}

func podMetrics(all []*stats.Summary, pods []*corev1.Pod, namespace string, selector labels.Selector) []v1beta1.PodMetrics {
	known := map[string]*corev1.Pod{}
	for _, p := range pods {
		known[string(p.UID)] = p
	}
	out := []v1beta1.PodMetrics{}
	for _, s := range all {
		for i := range s.Pods {
			p := known[s.Pods[i].PodRef.UID]
			if p == nil || namespace != "" && p.Namespace != namespace || !selector.Matches(labels.Set(p.Labels)) || len(s.Pods[i].Containers) == 0 {
				continue
			}
			m := v1beta1.PodMetrics{
				TypeMeta: kind("PodMetrics"), ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, Labels: p.Labels}, Window: metav1.Duration{Duration: window},
			}
			for _, c := range s.Pods[i].Containers {
				m.Timestamp = c.CPU.Time
				m.Containers = append(m.Containers, v1beta1.ContainerMetrics{Name: c.Name, Usage: usage(c.CPU, c.Memory)})
			}
			out = append(out, m)
		}
	}
	return out
}
