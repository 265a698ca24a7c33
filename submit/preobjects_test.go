package submit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubespark/kubespark/internal/kubetest"
)

// withGang is a plan with a pod group before its driver.
func withGang(t *testing.T, props map[string]string) *Plan {
	t.Helper()
	p := mustPlan(t, piArgs(props), testEnv(t, nil))
	p.PreObjects = []runtime.Object{&unstructured.Unstructured{Object: object{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup",
		"metadata": object{"name": "gang"}, "spec": object{"minMember": int64(3)}, "status": object{"phase": "x"}}}}
	return p
}

// S061: objects before the pod are applied, then the pod is created, then they are applied again as its property.
func TestPreObjectsAreAppliedTwice(t *testing.T) {
	for _, stock := range []string{"", "create-order"} {
		s := kubetest.New()
		c, _ := newTestClient(t, s)
		p := withGang(t, map[string]string{"spark.kubespark.stock": stock})
		if err := c.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		got := writes(s)
		if diff := cmp.Diff([]string{"patch podgroups", "create pods", "patch podgroups"}, got[:3]); diff != "" {
			t.Error(diff)
		}
		n := 0
		for _, call := range s.Calls("patch", "podgroups") {
			n++
			if !strings.Contains(call.Query, "force=true") || !strings.Contains(call.Query, "fieldManager=kubespark") || strings.Contains(call.Body, `"status"`) ||
				strings.Contains(call.Body, `"ownerReferences"`) != (n == 2) {
				t.Errorf("apply %d: %s %s", n, call.Query, call.Body)
			}
		}
		gang := s.Get("podgroups", "spark", "gang")
		pod := s.Get("pods", "spark", p.PodName)
		want := []any{object{"apiVersion": "v1", "kind": "Pod", "name": p.PodName, "uid": pod["metadata"].(object)["uid"], "controller": true}}
		if diff := cmp.Diff(want, gang["metadata"].(object)["ownerReferences"]); diff != "" || n != 2 {
			t.Errorf("%d applies: %s", n, diff)
		}
	}
}

// S066: an object before the pod that is refused: stock's hint, no pod, nothing left.
func TestPreObjectRefused(t *testing.T) {
	s := kubetest.New()
	s.Fail(kubetest.Fault{Verb: "patch", Resource: "podgroups", Status: 403, Reason: "Forbidden", Message: `podgroups is forbidden: User "u" cannot patch`})
	c, log := newTestClient(t, s)
	err := c.Create(t.Context(), withGang(t, nil))
	if err == nil || !strings.HasPrefix(err.Error(), "applying PodGroup spark/gang failed: podgroups is forbidden") || len(left(s)) > 0 {
		t.Error(err, left(s))
	}
	log.has(t, `ERROR Please check "kubectl auth can-i create [resource]" first. It should be yes. And please also check your feature step implementation.`)

	s = kubetest.New() // C004: the pod is refused, the pod group goes
	s.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Status: 422, Reason: "Invalid", Message: "no"})
	c, _ = newTestClient(t, s)
	if err := c.Create(t.Context(), withGang(t, nil)); err == nil || s.Get("podgroups", "spark", "gang") != nil {
		t.Error(err)
	}
}
