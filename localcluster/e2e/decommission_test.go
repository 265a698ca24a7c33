//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// decommissioning moves blocks away from executors that are to end.
var decommissioning = []string{
	"spark.decommission.enabled=true", "spark.storage.decommission.enabled=true",
	"spark.storage.decommission.shuffleBlocks.enabled=true", "spark.storage.decommission.rddBlocks.enabled=true",
	"spark.storage.decommission.replicationReattemptInterval=1s",
}

// evict deletes an executor's pod as an operator with all the time in the world does.
func (j *job) evict(id int) *corev1.Pod {
	j.t.Helper()
	pod, forever := j.executor(id), int64(1<<31-1)
	if err := cluster.client.CoreV1().Pods(j.namespace).Delete(j.t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &forever}); err != nil {
		j.t.Fatal(err)
	}
	return pod
}

// follow reads a pod's log until its end.
func (j *job) follow(pod *corev1.Pod) (text func() string) {
	j.t.Helper()
	ctx, cancel := context.WithCancel(j.t.Context())
	var log syncBuffer
	done := make(chan struct{})
	go func() { // the server answers with the first line
		defer close(done)
		stream, err := cluster.client.CoreV1().Pods(j.namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Follow: true}).Stream(ctx)
		if err != nil {
			return
		}
		defer stream.Close()
		_, _ = io.Copy(&log, stream) // ends with the pod
	}()
	j.t.Cleanup(func() { cancel(); <-done })
	return log.String
}

func (j *job) goes(limit time.Duration, pod *corev1.Pod) {
	j.t.Helper()
	eventually(j.t, limit, "pod "+pod.Name+" goes", func() (bool, string) {
		for _, p := range j.executors() {
			if p.UID == pod.UID {
				return false, fmt.Sprintf("%s, deleted at %v", p.Status.Phase, p.DeletionTimestamp)
			}
		}
		return true, ""
	})
}

// E264: an operator deletes an executor's pod with a grace period of 68 years. The stop hook makes the executor tell the
// driver, its cached and shuffled blocks move, it ends by itself, another takes its place. Nothing is computed again, no
// task fails, and the driver does not ask the executor once more.
func TestStopHookDecommissionsE264(t *testing.T) {
	j := newJob(t).withApps().logEvents().with(decommissioning...)
	j.submit("local:///apps/moving.py", "/signals")
	j.waitForSignal("ready")
	log := j.follow(j.executor(1))
	pod := j.evict(1)
	j.replaced(1, 3)
	j.goes(time.Minute, pod)
	j.signal("moved")
	j.exits(0).logs("Final accumulator value is: 80").logs("Received executor 1 decommissioned message")
	for _, never := range []string{"Notify executor 1 to decommission", "new failed executors", "Lost task"} {
		if strings.Contains(j.driverLog(), never) {
			t.Errorf("driver's log has %q", never)
		}
	}
	if n := strings.Count(log(), "Decommission executor 1."); n != 1 || strings.Contains(log(), "already started decommissioning") {
		t.Errorf("executor 1 began %d times to decommission:\n%s", n, log())
	}
	es := j.eventLog()
	if on := es.tasks("first", "ShuffleMapTask").ranOn(); !slices.Equal(on, []string{"1", "2"}) {
		t.Errorf("the blocks were made by executors %v", on)
	}
	if again := es.tasks("again", "ShuffleMapTask"); len(again) > 0 {
		t.Errorf("%d map tasks ran again", len(again))
	}
	if bad := es.notSuccessful(); len(bad) > 0 {
		t.Errorf("tasks ended with %v", bad)
	}
	if why := es.removed()["1"]; !strings.HasPrefix(why, "Executor decommission: ") {
		t.Errorf("executor 1 was removed for %q", why)
	}
	j.leavesNothing()
}

// E265: executors that cannot finish are killed forceKillTimeout after they began: one whose task does not end, and one whose
// process hangs, which hears of nothing any more. Their tasks run elsewhere, and count as no failure.
func TestStuckDecommissionE265(t *testing.T) {
	j := newJob(t).withApps().logEvents().with(decommissioning...).with("spark.executor.decommission.forceKillTimeout=10s",
		"spark.kubernetes.executor.terminationGracePeriodSeconds=3s", "spark.task.maxFailures=1")
	j.submit("local:///apps/stuck.py", "/signals")
	j.waitForSignal("ready")
	busy, frozen := j.executor(1), j.executor(2)
	for _, p := range []*corev1.Pod{busy, frozen} {
		j.hangs(p)
	}
	began := time.Now()
	j.evict(1)
	j.evict(2)
	eventually(t, 20*time.Second, "executor 2 begins to decommission", func() (bool, string) {
		return strings.Contains(j.driverLog(), "Received executor 2 decommissioned message"), "no such line"
	})
	if err := syscall.Kill(theOne(t, j.appID(), "KubernetesExecutorBackend", "--executor-id 2 ").pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	j.goes(30*time.Second, busy)
	if took := time.Since(began); took < 10*time.Second {
		t.Errorf("executor 1 was killed after %s, before forceKillTimeout", took)
	}
	j.goes(30*time.Second, frozen)
	t.Logf("the hanging executor was gone after %s", time.Since(began))
	for _, id := range []int{3, 4} {
		eventually(t, time.Minute, fmt.Sprintf("executor %d is there", id), func() (bool, string) {
			return len(j.pods(fmt.Sprintf("spark-exec-id=%d", id))) == 1, fmt.Sprint(j.running())
		})
		j.hangs(j.executor(id))
	}
	j.signal("release")
	j.exits(0).logs("tasks are right").logs("failed to decommission in 10, killing")
	es := j.eventLog()
	for _, id := range []string{"1", "2"} {
		if why := es.removed()[id]; !strings.HasPrefix(why, "Executor killed by driver.") {
			t.Errorf("executor %s was removed for %q", id, why)
		}
	}
	for _, e := range es.tasks("", "") {
		if e.EndReason.Reason != "Success" && (e.EndReason.Reason != "ExecutorLostFailure" || e.EndReason.ByApp) {
			t.Errorf("a task ended with %+v", e.EndReason)
		}
	}
	j.leavesNothing()
}

// hangs waits until a task of stuck.py runs on the executor.
func (j *job) hangs(p *corev1.Pod) {
	j.t.Helper()
	eventually(j.t, time.Minute, "a task runs on "+p.Name, func() (bool, string) {
		return len(j.said("task-*-"+p.Name)) > 0, fmt.Sprint(j.said("task-*"))
	})
}
