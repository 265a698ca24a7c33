//go:build e2e

package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// running starts the endless application and waits until its executors work.
func running(t *testing.T, conf ...string) *job {
	t.Helper()
	j := newJob(t).withApps().with(conf...)
	j.submit("local:///apps/rounds.py", "/signals", "2")
	j.waitForSignal("running")
	return j
}

// finish stops the application and checks its result and that it left nothing.
func (j *job) finish() {
	j.t.Helper()
	j.signal("stop")
	j.exits(0).logs("rounds are right")
	j.leavesNothing()
}

// replaced waits until the executor has a successor and Spark knows two executors again; it returns the successor's id.
func (j *job) replaced(lost, successor int) {
	j.t.Helper()
	eventually(j.t, time.Minute, fmt.Sprintf("executor %d takes the place of %d", successor, lost), func() (bool, string) {
		var running, ids []string
		for _, p := range j.executors() {
			id := p.Labels["spark-exec-id"]
			ids = append(ids, id)
			if p.Status.Phase == corev1.PodRunning {
				running = append(running, id)
			}
		}
		state := fmt.Sprintf("pods %v, running %v, registered %s", ids, running, j.registered())
		return len(running) == 2 && has(running, successor) && !has(ids, lost) && j.registered() == "2", state
	})
	j.notDoubled()
}

func has(ids []string, id int) bool {
	for _, i := range ids {
		if i == strconv.Itoa(id) {
			return true
		}
	}
	return false
}

// notDoubled checks that there are two executor pods, each with an id of its own.
func (j *job) notDoubled() {
	j.t.Helper()
	ids := map[string]string{}
	for _, p := range j.executors() {
		id := p.Labels["spark-exec-id"]
		if other, twice := ids[id]; twice {
			j.t.Errorf("executor id %s stands on the pods %s and %s", id, other, p.Name)
		}
		ids[id] = p.Name
	}
	if len(ids) != 2 {
		j.t.Errorf("%d executor pods, expected 2: %v", len(ids), ids)
	}
}

// reason checks that the driver's log tells of the lost executor in one line that has all the words.
func (j *job) reason(words ...string) {
	j.t.Helper()
	for line := range strings.Lines(j.driverLog()) {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			return
		}
	}
	j.t.Errorf("no line of the driver's log has all of %q", words)
}

// One job, three ways to lose an executor: deleted pod, process killed with -9, memory limit. Each is replaced and told.
func TestLostExecutors(t *testing.T) {
	j := running(t)

	pod := j.executor(1)
	if err := cluster.client.CoreV1().Pods(j.namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	j.replaced(1, 3)
	j.reason("Executor 1 lost", "deleted")

	theOne(t, j.appID(), "KubernetesExecutorBackend", "--executor-id 2 ").kill(t)
	j.replaced(2, 4)
	j.reason("Executor 2 lost", "137", "SIGKILL")

	j.signal("oom")
	j.waitForSignal("oom-taken")
	eventually(t, time.Minute, "an executor is OOMKilled", func() (bool, string) {
		return strings.Contains(j.driverLog(), "OOMKilled"), "no OOMKilled in the driver's log"
	})
	lost := 3
	if len(j.pods("spark-role=executor,spark-exec-id=3")) == 1 && j.executor(3).Status.Phase == corev1.PodRunning {
		lost = 4
	}
	j.replaced(lost, 5)
	j.reason("Executor "+strconv.Itoa(lost)+" lost", "OOMKilled")
	j.finish()
}

// The manager dies twice; the job goes on with the executors it has, and a later loss is still replaced.
func TestManagerKilledTwice(t *testing.T) {
	j := running(t)
	before := j.executors()
	for range 2 {
		old := theOne(t, j.appID(), "kubespark-manager")
		old.kill(t)
		eventually(t, 30*time.Second, "the manager is restarted", func() (bool, string) {
			found := find(j.appID(), "kubespark-manager")
			return len(found) == 1 && found[0].pid != old.pid, fmt.Sprint(found)
		})
		time.Sleep(2 * time.Second) // time enough to make a wrong pod
		j.notDoubled()
	}
	for _, p := range before {
		if now := j.pods("spark-exec-id=" + p.Labels["spark-exec-id"]); len(now) != 1 || now[0].UID != p.UID {
			t.Errorf("executor pod %s did not survive the manager", p.Name)
		}
	}
	theOne(t, j.appID(), "KubernetesExecutorBackend", "--executor-id 1 ").kill(t)
	eventually(t, time.Minute, "executor 1 is replaced", func() (bool, string) {
		pods := j.executors()
		return len(pods) == 2 && len(j.pods("spark-exec-id=1")) == 0 && j.registered() == "2", fmt.Sprintf("%d pods, registered %s", len(pods), j.registered())
	})
	j.reason("Executor 1 lost", "137")
	j.finish()
}

// The driver pod is deleted: executors, ConfigMaps, Service and policy go with it, and the submitter says so.
func TestDriverDeleted(t *testing.T) {
	j := running(t)
	appID := j.appID()
	if err := cluster.client.CoreV1().Pods(j.namespace).Delete(t.Context(), j.driver().Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-j.exited:
	case <-time.After(time.Minute):
		t.Fatal("submit did not notice that the driver was deleted")
	}
	if code := j.cmd.ProcessState.ExitCode(); code == 0 {
		t.Error("submit says the deleted application succeeded")
	}
	j.everythingGoes()
	eventually(t, 30*time.Second, "no process of the application is left", func() (bool, string) {
		left := find(appID)
		return len(left) == 0, fmt.Sprint(left)
	})
}

// The driver's JVM is killed with -9: its manager and executors end, the submitter has its exit code.
func TestDriverKilled(t *testing.T) {
	j := running(t)
	appID := j.appID()
	theOne(t, appID, "org.apache.spark.deploy.SparkSubmit").kill(t)
	j.exits(137)
	eventually(t, time.Minute, "no process of the application is left", func() (bool, string) {
		left := find(appID)
		return len(left) == 0, fmt.Sprint(left)
	})
	if err := cluster.client.CoreV1().Pods(j.namespace).Delete(t.Context(), j.driver().Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	j.everythingGoes()
}
