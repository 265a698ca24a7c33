//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// allowSets makes the objects of deploy/driver-rbac-sets.yaml.
func (j *job) allowSets() *job {
	j.t.Helper()
	text, err := os.ReadFile("../../deploy/driver-rbac-sets.yaml")
	if err != nil {
		j.t.Fatal(err)
	}
	var role rbacv1.Role
	var binding rbacv1.RoleBinding
	for i, doc := range strings.Split(string(text), "\n---\n") {
		if err := yaml.Unmarshal([]byte(doc), []any{&role, &binding}[i]); err != nil {
			j.t.Fatal(err)
		}
	}
	binding.Subjects[0].Namespace = j.namespace
	if _, err := cluster.client.RbacV1().Roles(j.namespace).Create(j.t.Context(), &role, metav1.CreateOptions{}); err != nil {
		j.t.Fatal(err)
	}
	if _, err := cluster.client.RbacV1().RoleBindings(j.namespace).Create(j.t.Context(), &binding, metav1.CreateOptions{}); err != nil {
		j.t.Fatal(err)
	}
	return j
}

// sets are the StatefulSets and Deployments of the namespace, by kind and name, with their replicas.
func (j *job) sets() map[string]int32 {
	j.t.Helper()
	found := map[string]int32{}
	apps := cluster.client.AppsV1()
	stateful, err := apps.StatefulSets(j.namespace).List(j.t.Context(), metav1.ListOptions{})
	if err != nil {
		j.t.Fatal(err)
	}
	for _, s := range stateful.Items {
		found["StatefulSet "+s.Name] = *s.Spec.Replicas
		if s.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
			j.t.Errorf("StatefulSet %s has the policy %s", s.Name, s.Spec.PodManagementPolicy)
		}
	}
	deployed, err := apps.Deployments(j.namespace).List(j.t.Context(), metav1.ListOptions{})
	if err != nil {
		j.t.Fatal(err)
	}
	for _, d := range deployed.Items {
		found["Deployment "+d.Name] = *d.Spec.Replicas
	}
	return found
}

// E193, E194, E197, E204 with real controllers: the executors live in a set, one that is killed restarts in place under a
// new id, and nothing is left at the end.
func TestExecutorsInSets(t *testing.T) {
	for allocator, prefix := range map[string]string{"statefulset": "StatefulSet spark-s-", "deployment": "Deployment spark-d-"} {
		t.Run(allocator, func(t *testing.T) {
			j := newJob(t).withApps().allowSets().with("spark.kubernetes.allocation.pods.allocator=" + allocator)
			j.submit("local:///apps/rounds.py", "/signals", "2")
			j.waitForSignal("running")
			want := map[string]int32{prefix + j.appID() + "-0": 2}
			if got := j.sets(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("sets %v, expected %v", got, want)
			}
			victim := j.executor(1)
			theOne(t, j.appID(), "KubernetesExecutorBackend", "--podName "+victim.Name).kill(t)
			eventually(t, 3*time.Minute, "executor 3 runs in the pod of executor 1", func() (bool, string) {
				pods := j.pods("spark-role=executor,spark-exec-id=3")
				state := fmt.Sprintf("pods of executor 3: %d, registered %s", len(pods), j.registered())
				return len(pods) == 1 && pods[0].UID == victim.UID && pods[0].Status.Phase == corev1.PodRunning &&
					pods[0].Status.ContainerStatuses[0].RestartCount == 1 && j.registered() == "2", state
			})
			j.notDoubled()
			if n := strings.Count(j.driverLog(), "Lost executor 1 "); n != 1 {
				t.Errorf("Spark lost executor 1 %d times", n)
			}
			j.signal("stop")
			j.exits(0).logs("rounds are right")
			if got := j.sets(); len(got) > 0 {
				t.Errorf("sets are left: %v", got)
			}
			eventually(t, 30*time.Second, "the executors' pods are gone", func() (bool, string) {
				return len(j.executors()) == 0, fmt.Sprint(len(j.executors()))
			})
			j.leavesNothing()
		})
	}
}
