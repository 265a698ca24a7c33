package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/kubetest"
)

var stepsConf = map[string]string{"spark.kubernetes.executor.pod.featureSteps": "org.example.A,org.example.B,org.example.C",
	"spark.kubernetes.executor.pod.excludedFeatureSteps": "org.example.B"}

// E191, PX2: the user's own steps run on the complete pod, and what they want beside it is made and owned by it.
func TestUserStepsE191(t *testing.T) {
	within(t, stepsConf, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.steps = func(p object) object {
			want(t, "steps", p["steps"], any([]any{"org.example.A", "org.example.C"}))
			want(t, "containers beside Spark's", len(p["pod"].(object)["spec"].(object)["containers"].([]any)), 0)
			want(t, "driver pod", p["driverPodName"], any("driver"))
			p["pod"].(object)["metadata"].(object)["labels"].(object)["example"] = "label"
			p["container"].(object)["image"] = "other"
			id := p["id"].(string)
			return object{"pod": p["pod"], "container": p["container"], "objects": []any{
				object{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "secret-" + id}},
				object{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": object{"name": "claim-" + id}}}}
		}
		s.launch(2)
		wait(5 * time.Second)
		pod := s.executors()[1]
		want(t, "label", kubetest.Labels(pod)["example"], "label")
		containers := pod["spec"].(kubetest.Object)["containers"].([]any)
		want(t, "containers", len(containers), 1)
		want(t, "image", containers[0].(kubetest.Object)["image"], any("other"))
		owner := func(resource, name string) any {
			o := s.server.Get(resource, ns, name)
			if o == nil {
				t.Fatalf("no %s", name)
			}
			return o["metadata"].(kubetest.Object)["ownerReferences"].([]any)[0].(kubetest.Object)["name"]
		}
		want(t, "owner of the Secret", owner("secrets", "secret-2"), any(podName(2)))
		want(t, "owner of the claim", owner("persistentvolumeclaims", "claim-2"), any("driver"))
		// What cannot be made takes its pod with it.
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "secrets", Status: http.StatusForbidden, Reason: "Forbidden", Message: "no secrets", Times: 1})
		s.target(3)
		wait(200 * time.Millisecond)
		want(t, "pod without its Secret", s.server.Get("pods", ns, podName(3)) == nil || len(s.server.Calls("delete", "pods")) == 1, true)
		wait(5 * time.Second)
		want(t, "executors", len(s.ids()), 3)
		want(t, "Secrets", len(s.server.List("secrets")), 3)
	})
}
