//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// byNeed is dynamic allocation from no executor to three and back.
var byNeed = []string{
	"spark.dynamicAllocation.enabled=true", "spark.dynamicAllocation.shuffleTracking.enabled=true", "spark.executor.instances=0",
	"spark.dynamicAllocation.minExecutors=0", "spark.dynamicAllocation.initialExecutors=0", "spark.dynamicAllocation.maxExecutors=3",
	"spark.dynamicAllocation.executorIdleTimeout=2s", "spark.dynamicAllocation.schedulerBacklogTimeout=1s",
}

const idle = 2 * time.Second // executorIdleTimeout of byNeed

// bursts starts the application of scale.py and checks that it begins without executors.
func bursts(t *testing.T, version string, n int, conf ...string) (*job, *history) {
	t.Helper()
	j := newJob(t).spark(version).withApps().logEvents().with(byNeed...).with(conf...)
	h := j.record()
	j.submit("local:///apps/scale.py", "/signals", fmt.Sprint(n))
	j.waitForSignal("up")
	if made := h.ever(anyState); len(made) > 0 {
		t.Errorf("executors %v were made before there was work", made)
	}
	return j, h
}

// burst lets the application work; its executors are three at the end.
func (j *job) burst(n int) {
	j.t.Helper()
	j.signal(fmt.Sprintf("work-%d", n))
	j.waitForSignal(fmt.Sprintf("worked-%d", n))
	if running := j.running(); len(running) != 3 {
		j.t.Errorf("executors %v run after burst %d, expected 3", running, n)
	}
}

// rest lets the application forget its shuffle; all executors go.
func (j *job) rest(n int) {
	j.t.Helper()
	j.signal(fmt.Sprintf("forget-%d", n))
	j.waitForSignal(fmt.Sprintf("idle-%d", n))
	eventually(j.t, 20*time.Second, "the pods of idle executors go", func() (bool, string) {
		return len(j.executors()) == 0, fmt.Sprintf("%d pods", len(j.executors()))
	})
}

// running are the ids of running executors.
func (j *job) running() (ids []int) {
	j.t.Helper()
	for _, p := range j.executors() {
		if isRunning(&p) {
			ids = append(ids, idOf(&p))
		}
	}
	slices.Sort(ids)
	return ids
}

// wellEnded checks the end of an application in which no task failed and no executor was lost against Spark's will.
func (j *job) wellEnded(removed string) {
	j.t.Helper()
	es := j.eventLog()
	if bad := es.notSuccessful(); len(bad) > 0 {
		j.t.Errorf("tasks ended with %v", bad)
	}
	if len(es.removed()) == 0 {
		j.t.Error("Spark removed no executor")
	}
	for id, why := range es.removed() {
		if !strings.HasPrefix(why, removed) {
			j.t.Errorf("executor %s was removed for %q, expected %q", id, why, removed)
		}
	}
	for _, bad := range []string{"new failed executors", "unexpectedly exited: 1", "Lost task"} {
		if strings.Contains(j.driverLog(), bad) {
			j.t.Errorf("driver's log has %q", bad)
		}
	}
	j.leavesNothing()
}

// From none to three and back to none, twice, on the default Spark: executors that hold a shuffle stay however long they
// idle, and go when the driver forgets it. The last result is right, no task was lost, ids are not used again.
func TestScaleWithShuffleTracking(t *testing.T) {
	j, h := bursts(t, defaultSpark, 2)
	j.burst(1)
	held := j.running()
	time.Sleep(3 * idle)
	if now := j.running(); !slices.Equal(now, held) {
		t.Errorf("executors %v of %v are left, though their shuffle is wanted", now, held)
	}
	j.rest(1)
	j.burst(2)
	if now := j.running(); slices.ContainsFunc(now, func(id int) bool { return slices.Contains(held, id) }) {
		t.Errorf("executors %v run again, %v did before", now, held)
	}
	j.rest(2)
	j.exits(0).logs("bursts are right: 2")
	if most := h.most(); most != 3 {
		t.Errorf("%d executor pods at a time, the maximum is 3", most)
	}
	j.wellEnded("Executor killed by driver.")
}

// The same once on the other versions.
func TestScaleOnOtherVersions(t *testing.T) {
	for _, version := range []string{"4.1.1", "4.3.0"} {
		t.Run(version, func(t *testing.T) {
			j, _ := bursts(t, version, 1)
			j.burst(1)
			j.rest(1)
			j.exits(0).logs("bursts are right: 1")
			j.wellEnded("Executor killed by driver.")
		})
	}
}

// E266: with decommissioning, executors that are not wanted any more are released: their pods carry the label, and their
// loss counts as graceful.
func TestScaleDownDecommissionsE266(t *testing.T) {
	j, h := bursts(t, defaultSpark, 1, append([]string{"spark.kubernetes.executor.decommissionLabel=solong",
		"spark.kubernetes.executor.decommissionLabelValue=cruelworld"}, decommissioning...)...)
	j.burst(1)
	was := j.running()
	j.rest(1)
	j.exits(0).logs("bursts are right: 1")
	said := h.ever(func(p *corev1.Pod) bool { return p.Labels["solong"] == "cruelworld" })
	if !slices.Equal(said, was) {
		t.Errorf("executors %v were labelled, %v were released", said, was)
	}
	j.logs("(gracefully decommissioned: 3, decommission unfinished: 0, driver killed: 0, unexpectedly exited: 0)")
	j.wellEnded("Executor decommission: ")
}
