//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// E267: the executors die with two shuffles on their volumes. Their successors are given the claims, and both shuffles are
// read without a map task; then all die again, the first shuffle is computed anew, and the second one is still there.
func TestShufflesOnOldVolumesE267(t *testing.T) {
	claim := "spark.kubernetes.executor.volumes.persistentVolumeClaim.spark-local-dir-1."
	j := newJob(t).withApps().logEvents().with(
		claim+"mount.path=/data/spark-x/executor-x", claim+"options.claimName=OnDemand", claim+"options.storageClass=standard",
		claim+"options.sizeLimit=256Mi", "spark.kubernetes.driver.ownPersistentVolumeClaim=true", "spark.kubernetes.driver.reusePersistentVolumeClaim=true",
		"spark.shuffle.sort.io.plugin.class=org.apache.spark.shuffle.KubernetesLocalDiskShuffleDataIO")
	h := j.record()
	j.submit("local:///apps/recovered.py", "/signals")
	j.waitForSignal("ready")
	first := j.claims(1, 2)
	j.killExecutors(1, 2)
	j.signal("lost")
	j.waitForSignal("read")
	if now := j.claims(3, 4); !slices.Equal(now, first) {
		t.Errorf("executors 3 and 4 have the claims %v, expected %v", now, first)
	}
	j.killExecutors(3, 4)
	j.signal("lost-again")
	j.exits(0).logs("shuffles are right")
	if all := h.ever(anyState); !slices.Equal(all, []int{1, 2, 3, 4, 5, 6}) {
		t.Errorf("executors %v were made", all)
	}
	es := j.eventLog()
	for group, want := range map[string]int{"first": 12, "other": 6, "again": 0, "recomputed": 6, "kept": 0} {
		if n := len(es.tasks(group, "ShuffleMapTask")); n != want {
			t.Errorf("%d map tasks ran in the job group %q, expected %d", n, group, want)
		}
	}
	if on := es.tasks("first", "ShuffleMapTask").ranOn(); !slices.Equal(on, []string{"1", "2"}) {
		t.Errorf("the shuffles were made by executors %v", on)
	}
	j.leavesNothing()
}

// claims are the names of the claims in the executors' pods, in order.
func (j *job) claims(ids ...int) (names []string) {
	j.t.Helper()
	for _, id := range ids {
		for _, v := range j.executor(id).Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				names = append(names, v.PersistentVolumeClaim.ClaimName)
			}
		}
	}
	slices.Sort(names)
	return names
}

// killExecutors kills the processes of executors with -9 and waits until their pods are gone.
func (j *job) killExecutors(ids ...int) {
	j.t.Helper()
	var pods []*corev1.Pod
	for _, id := range ids {
		pods = append(pods, j.executor(id))
	}
	for _, id := range ids {
		theOne(j.t, j.appID(), "KubernetesExecutorBackend", fmt.Sprintf("--executor-id %d ", id)).kill(j.t)
	}
	for _, p := range pods {
		j.goes(30*time.Second, p)
	}
}
