//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const pi = "local:///opt/spark/examples/pi.py"

// watchPods collects every executor pod that ever appears in the job's namespace, by name.
func (j *job) watchPods() func() []corev1.Pod {
	j.t.Helper()
	w, err := cluster.client.CoreV1().Pods(j.namespace).Watch(j.t.Context(), metav1.ListOptions{LabelSelector: "spark-role=executor"})
	if err != nil {
		j.t.Fatal(err)
	}
	seen := map[string]corev1.Pod{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range w.ResultChan() {
			if p, ok := event.Object.(*corev1.Pod); ok {
				if _, known := seen[p.Name]; !known {
					seen[p.Name] = *p
				}
			}
		}
	}()
	return func() []corev1.Pod {
		w.Stop()
		<-done
		var pods []corev1.Pod
		for _, p := range seen {
			pods = append(pods, p)
		}
		return pods
	}
}

// leavesNothing checks that no executor pod, executor ConfigMap, Service or claim of the application is left, and that
// the rest goes with the driver pod.
func (j *job) leavesNothing() {
	j.t.Helper()
	ctx, c := j.t.Context(), cluster.client.CoreV1()
	app := metav1.ListOptions{LabelSelector: "spark-app-selector=" + j.appID()}
	if pods := j.executors(); len(pods) > 0 {
		j.t.Errorf("%d executor pods are left, the first is %s", len(pods), pods[0].Name)
	}
	if services, err := c.Services(j.namespace).List(ctx, app); err != nil || len(services.Items) > 0 {
		j.t.Errorf("services are left: %v %v", services, err)
	}
	if maps, err := c.ConfigMaps(j.namespace).List(ctx, app); err != nil || len(maps.Items) > 0 {
		j.t.Errorf("ConfigMaps are left: %v %v", maps, err)
	}
	if claims, err := c.PersistentVolumeClaims(j.namespace).List(ctx, app); err != nil || len(claims.Items) > 0 {
		j.t.Errorf("claims are left: %v %v", claims, err)
	}
	if err := c.Pods(j.namespace).Delete(ctx, j.driver().Name, metav1.DeleteOptions{}); err != nil {
		j.t.Error(err)
	}
	j.everythingGoes()
}

// everythingGoes waits until the namespace holds nothing of any Spark application.
func (j *job) everythingGoes() {
	j.t.Helper()
	eventually(j.t, time.Minute, "all objects of the application are gone", func() (bool, string) {
		left := j.objects()
		return len(left) == 0, strings.Join(left, ", ")
	})
}

// objects lists what an application may have made in the namespace.
func (j *job) objects() []string {
	j.t.Helper()
	ctx, all := j.t.Context(), metav1.ListOptions{}
	var left []string
	pods, err1 := cluster.client.CoreV1().Pods(j.namespace).List(ctx, all)
	services, err2 := cluster.client.CoreV1().Services(j.namespace).List(ctx, all)
	maps, err3 := cluster.client.CoreV1().ConfigMaps(j.namespace).List(ctx, all)
	policies, err4 := cluster.client.NetworkingV1().NetworkPolicies(j.namespace).List(ctx, all)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			j.t.Fatal(err)
		}
	}
	for _, o := range pods.Items {
		left = append(left, "pod "+o.Name)
	}
	for _, o := range services.Items {
		left = append(left, "service "+o.Name)
	}
	for _, o := range maps.Items {
		if o.Name != "kube-root-ca.crt" && o.Name != programs { // the cluster's, and the test's own
			left = append(left, "configmap "+o.Name)
		}
	}
	for _, o := range policies.Items {
		left = append(left, "networkpolicy "+o.Name)
	}
	return left
}

// pi.py in cluster mode, on every supported Spark with the one jar.
func TestPiInClusterMode(t *testing.T) {
	for _, version := range []string{"4.2.0", "4.1.1", "4.3.0"} {
		t.Run(version, func(t *testing.T) {
			j := newJob(t).spark(version)
			pods := j.watchPods()
			j.submit(pi, "4").exits(0)
			j.logs("Pi is roughly 3.1")
			seen := pods()
			createdBy(t, seen, "kubespark")
			if len(seen) != 2 {
				t.Errorf("%d executor pods were made, expected 2", len(seen))
			}
			j.leavesNothing()
		})
	}
}

// The same jar, with kubespark switched off: the stock manager makes the pods.
func TestSwitchedOff(t *testing.T) {
	j := newJob(t).with("spark.kubespark.enabled=false")
	pods := j.watchPods()
	j.submit(pi, "4").exits(0)
	j.logs("Pi is roughly 3.1")
	createdBy(t, pods(), "fabric8")
}

// A SparkContext made on a thread that ends keeps its manager.
func TestContextOnAThreadThatEnds(t *testing.T) {
	j := newJob(t).withApps()
	j.submit("local:///apps/thread.py")
	var first process
	eventually(t, time.Minute, "the manager runs", func() (bool, string) {
		if len(j.pods("spark-role=driver")) == 0 {
			return false, "no driver pod"
		}
		found := find(j.appID(), "kubespark-manager")
		if len(found) == 1 {
			first = found[0]
		}
		return len(found) == 1, "no manager process"
	})
	eventually(t, time.Minute, "executors are there", func() (bool, string) {
		return len(j.executors()) == 2, "no executors"
	})
	time.Sleep(3 * time.Second) // the maker thread has ended long since
	if now := theOne(t, j.appID(), "kubespark-manager"); now.pid != first.pid {
		t.Errorf("the manager's pid was %d and is %d", first.pid, now.pid)
	}
	j.exits(0).logs("the context outlived its thread")
}

// The restricted pod security level, as uid 185, by pod templates with an emptyDir at /tmp.
func TestRestrictedNamespace(t *testing.T) {
	j := newJob(t, "pod-security.kubernetes.io/enforce=restricted")
	pods := j.watchPods()
	j.with("spark.kubernetes.driver.podTemplateFile="+cluster.apps+"/restricted.yaml",
		"spark.kubernetes.executor.podTemplateFile="+cluster.apps+"/restricted.yaml")
	j.submit(pi, "4").exits(0)
	j.logs("Pi is roughly 3.1")
	seen := pods()
	createdBy(t, seen, "kubespark")
	for _, p := range append(seen, *j.driver()) {
		if uid := p.Spec.SecurityContext.RunAsUser; uid == nil || *uid != 185 {
			t.Errorf("pod %s runs as %v, expected 185", p.Name, uid)
		}
	}
}
