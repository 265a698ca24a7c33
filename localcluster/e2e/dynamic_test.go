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

// bursts starts the application of scale.py and checks that it begins without executors.
func bursts(t *testing.T, conf ...string) (*job, *history) {
	t.Helper()
	j := newJob(t).withApps().logEvents().with(byNeed...).with(conf...)
	h := j.record()
	j.submit("local:///apps/scale.py", "/signals", "1")
	j.waitForSignal("up")
	if made := h.ever(anyState); len(made) > 0 {
		t.Errorf("executors %v were made before there was work", made)
	}
	return j, h
}

// burst lets the application work; its executors are three at the end.
func (j *job) burst() {
	j.t.Helper()
	j.signal("work-1")
	j.waitForSignal("worked-1")
	if running := j.running(); len(running) != 3 {
		j.t.Errorf("executors %v run after the burst, expected 3", running)
	}
}

// rest lets the application forget its shuffle; all executors go.
func (j *job) rest() {
	j.t.Helper()
	j.signal("forget-1")
	j.waitForSignal("idle-1")
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

// wellEnded checks the end of an application in which no task failed and every executor was released.
func (j *job) wellEnded() {
	j.t.Helper()
	es := j.eventLog()
	if bad := es.notSuccessful(); len(bad) > 0 {
		j.t.Errorf("tasks ended with %v", bad)
	}
	if len(es.removed()) == 0 {
		j.t.Error("Spark removed no executor")
	}
	for id, why := range es.removed() {
		if !strings.HasPrefix(why, "Executor decommission: ") {
			j.t.Errorf("executor %s was removed for %q", id, why)
		}
	}
	for _, bad := range []string{"new failed executors", "unexpectedly exited: 1", "Lost task"} {
		if strings.Contains(j.driverLog(), bad) {
			j.t.Errorf("driver's log has %q", bad)
		}
	}
	j.leavesNothing()
}

// E266: from none to three and back to none, with shuffle tracking. With decommissioning, executors that are not wanted any
// more are released: their pods carry the label, and their loss counts as graceful.
func TestScaleDownDecommissionsE266(t *testing.T) {
	j, h := bursts(t, append([]string{"spark.kubernetes.executor.decommissionLabel=solong",
		"spark.kubernetes.executor.decommissionLabelValue=cruelworld"}, decommissioning...)...)
	j.burst()
	was := j.running()
	j.rest()
	j.exits(0).logs("bursts are right: 1")
	said := h.ever(func(p *corev1.Pod) bool { return p.Labels["solong"] == "cruelworld" })
	if !slices.Equal(said, was) {
		t.Errorf("executors %v were labelled, %v were released", said, was)
	}
	j.logs("(gracefully decommissioned: 3, decommission unfinished: 0, driver killed: 0, unexpectedly exited: 0)")
	j.wellEnded()
}
