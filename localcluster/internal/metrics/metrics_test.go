package metrics

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	v1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

func testAPI() API {
	n := func(v uint64) *uint64 { return &v }
	container := stats.ContainerStats{Name: "spark", CPU: &stats.CPUStats{UsageNanoCores: n(1_500_000_000)}, Memory: &stats.MemoryStats{WorkingSetBytes: n(64 << 20)}}
	summary := &stats.Summary{
		Node: stats.NodeStats{NodeName: "local", CPU: &stats.CPUStats{UsageNanoCores: n(2_000_000)}, Memory: &stats.MemoryStats{WorkingSetBytes: n(1 << 30)}},
		Pods: []stats.PodStats{
			{PodRef: stats.PodReference{UID: "1"}, Containers: []stats.ContainerStats{container}},
			{PodRef: stats.PodReference{UID: "2"}, Containers: []stats.ContainerStats{container}},
			{PodRef: stats.PodReference{UID: "gone"}, Containers: []stats.ContainerStats{container}},
		},
	}
	pod := func(uid, ns, name, role string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Namespace: ns, Name: name, Labels: map[string]string{"role": role}}}
	}
	return API{
		Summaries: func(context.Context) ([]*stats.Summary, error) { return []*stats.Summary{summary}, nil },
		Pods: func() ([]*corev1.Pod, error) {
			return []*corev1.Pod{pod("1", "a", "driver", "driver"), pod("2", "b", "exec", "executor")}, nil
		},
	}
}

func get[T any](t *testing.T, a API, path string) (T, int) {
	t.Helper()
	var out T
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s: %v: %s", path, err, w.Body)
	}
	return out, w.Code
}

func TestPodsAndNodes(t *testing.T) {
	const root = "/apis/metrics.k8s.io/v1beta1/"
	a := testAPI()
	for path, want := range map[string][]string{
		"pods": {"driver", "exec"}, "namespaces/a/pods": {"driver"}, "namespaces/c/pods": {}, "pods?labelSelector=role%3Dexecutor": {"exec"},
	} {
		list, code := get[v1beta1.PodMetricsList](t, a, root+path)
		names := []string{}
		for _, p := range list.Items {
			names = append(names, p.Name)
		}
		if d := cmp.Diff(want, names); d != "" || code != 200 || list.Kind != "PodMetricsList" {
			t.Errorf("%s: %d %s %s", path, code, list.Kind, d)
		}
	}
	one, _ := get[v1beta1.PodMetrics](t, a, root+"namespaces/b/pods/exec")
	if u := one.Containers[0].Usage; u.Cpu().MilliValue() != 1500 || u.Memory().Value() != 64<<20 || one.Containers[0].Name != "spark" {
		t.Errorf("one pod: %+v", one)
	}
	node, _ := get[v1beta1.NodeMetrics](t, a, root+"nodes/local")
	if node.Usage.Memory().Value() != 1<<30 || node.Usage.Cpu().MilliValue() != 2 {
		t.Errorf("node: %+v", node)
	}
	for _, path := range []string{"namespaces/a/pods/exec", "nodes/other", "volumes"} {
		if s, code := get[metav1.Status](t, a, root+path); code != 404 || s.Reason != metav1.StatusReasonNotFound {
			t.Errorf("%s: %d %+v", path, code, s)
		}
	}
}

func TestDiscoveryAndErrors(t *testing.T) {
	a := testAPI()
	if g, _ := get[metav1.APIGroup](t, a, "/apis/metrics.k8s.io"); g.PreferredVersion.GroupVersion != "metrics.k8s.io/v1beta1" {
		t.Errorf("group %+v", g)
	}
	if l, _ := get[metav1.APIResourceList](t, a, "/apis/metrics.k8s.io/v1beta1"); len(l.APIResources) != 2 || !l.APIResources[1].Namespaced {
		t.Errorf("resources %+v", l)
	}
	if s, code := get[metav1.Status](t, a, "/apis/metrics.k8s.io/v2/pods"); code != 404 {
		t.Errorf("another version: %d %+v", code, s)
	}
	a.Summaries = func(context.Context) ([]*stats.Summary, error) { return nil, errors.New("no node answers") }
	if s, code := get[metav1.Status](t, a, "/apis/metrics.k8s.io/v1beta1/pods"); code != 500 || s.Message != "no node answers" {
		t.Errorf("error: %d %+v", code, s)
	}
}
