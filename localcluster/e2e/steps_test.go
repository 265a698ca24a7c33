//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// E191 with real Spark, shim, manager and server: the user's own feature step works on each executor pod, its object stands
// beside the pod and goes with it, and the job runs.
func TestUserStepsE191(t *testing.T) {
	j := newJob(t).withApps().with("spark.kubernetes.executor.pod.featureSteps=GreetingStep", "spark.driver.extraClassPath=/signals/step.jar")
	jar, err := os.ReadFile(compile(t, "GreetingStep"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(j.signals, "step.jar"), jar, 0o644); err != nil {
		t.Fatal(err)
	}
	j.submit("local:///apps/rounds.py", "/signals", "2")
	j.waitForSignal("running")
	for _, id := range []int{1, 2} {
		p, greeting := j.executor(id), fmt.Sprintf("hello-%d", id)
		if p.Labels["greeting"] != greeting || p.Labels["spark-exec-id"] != fmt.Sprint(id) {
			t.Errorf("labels of executor %d: %v", id, p.Labels)
		}
		if !slices.Contains(p.Spec.Containers[0].Env, corev1.EnvVar{Name: "GREETING", Value: greeting}) {
			t.Errorf("variables of executor %d: %v", id, p.Spec.Containers[0].Env)
		}
		made, err := cluster.client.CoreV1().ConfigMaps(j.namespace).Get(t.Context(), fmt.Sprintf("greeting-%d", id), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if made.Data["greeting"] != "hello" || len(made.OwnerReferences) != 1 || made.OwnerReferences[0].UID != p.UID {
			t.Errorf("the object beside executor %d: %+v", id, made)
		}
	}
	if pods := j.executors(); len(pods) != 2 {
		t.Errorf("%d executor pods", len(pods))
	}
	createdBy(t, j.executors(), "kubespark")
	j.signal("stop")
	j.exits(0).logs("rounds are right")
	j.leavesNothing()
}
