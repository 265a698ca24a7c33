//go:build e2e && e2elong

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// ExecutorRollPlugin replaces executors one by one, the lowest id first.
func TestExecutorRollPluginE261(t *testing.T) {
	j := newJob(t).withApps().with(decommissioning...).with("spark.plugins=org.apache.spark.scheduler.cluster.k8s.ExecutorRollPlugin",
		"spark.kubernetes.executor.rollInterval=20s", "spark.kubernetes.executor.rollPolicy=ID")
	j.submit("local:///apps/rounds.py", "/signals", "2")
	j.waitForSignal("running")
	eventually(t, 3*time.Minute, "executors 1 and 2 are replaced", func() (bool, string) {
		now := j.running()
		return len(now) == 2 && now[0] > 2 && j.registered() == "2", fmt.Sprintf("%v run, registered %s", now, j.registered())
	})
	j.logs("Ask to decommission executor 1").logs("Ask to decommission executor 2").logs("Going to request 1 executors")
	j.signal("stop")
	j.exits(0).logs("rounds are right")
	if strings.Contains(j.driverLog(), "new failed executors") {
		t.Error("a rolled executor counts as failed")
	}
	// One that started a moment ago may not hear the stop: its pod is deleted, and the hook of that takes its time.
	eventually(t, time.Minute, "the executors go", func() (bool, string) { return len(j.executors()) == 0, "" })
	j.leavesNothing()
}
