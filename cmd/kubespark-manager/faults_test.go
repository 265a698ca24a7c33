package main

import (
	"strings"
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/kubetest"
)

// E068: after a 410 the manager lists and watches again, and misses nothing.
func TestExpiredWatchE068(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(3)
		wait(5 * time.Second)
		s.server.ExpireWatches()
		s.server.Finish(ns, podName(2), 1, "Error")
		wait(2 * time.Second)
		want(t, "removals", len(s.removals()), 1)
		wait(5 * time.Second)
		want(t, "executors", s.ids(), []int{1, 3, 4})
	})
}

// E070: the connection is cut every five seconds while twenty executors die.
func TestDroppedWatchE070(t *testing.T) {
	conf := map[string]string{"spark.executor.maxNumFailures": "100"}
	within(t, conf, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(20)
		wait(4 * time.Second)
		for i := range 20 {
			s.server.DropWatches()
			s.server.Finish(ns, podName(i+1), 1, "Error")
			wait(5 * time.Second)
		}
		wait(10 * time.Second)
		want(t, "removals", len(s.removals()), 20)
		want(t, "executors", len(s.ids()), 20)
	})
}

// E181, E185: single refusals cost one id each and are made good.
func TestBusyServerE181E185(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Name: "", Status: 500, Reason: "InternalError", Message: "etcd hiccup", Times: 1})
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Status: 429, Reason: "TooManyRequests", Message: "slow down", RetryAfter: 2, Times: 1})
		s.launch(5)
		wait(900 * time.Millisecond)
		want(t, "executors at first", len(s.ids()), 3)
		wait(15 * time.Second)
		want(t, "executors", len(s.ids()), 5)
		want(t, "exits", len(s.exits), 0)
	})
}

// E183: a quota slows creation down and ends nothing.
func TestQuotaE183(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(5)
		wait(5 * time.Second)
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Status: 403, Reason: "Forbidden",
			Message: `pods "x" is forbidden: exceeded quota: pods, requested: 1, used: 5, limited: 5`})
		s.target(10)
		wait(10 * time.Minute)
		before := len(s.server.Calls("create", "pods"))
		if n := before - 10; n > 20 {
			t.Errorf("%d creates against the quota in ten minutes", n)
		}
		if n := s.logged("exceeded quota"); n < 1 || n > 12 {
			t.Errorf("the quota was said %d times in ten minutes", n)
		}
		want(t, "exits", len(s.exits), 0)
		s.server.Heal()
		wait(65 * time.Second)
		want(t, "executors", len(s.ids()), 10)
	})
}

// E184: three identical refusals before any pod end the application with the server's text.
func TestPermanentRefusalE184(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Status: 422, Reason: "Invalid", Message: "spec.x is wrong"})
		s.launch(5)
		wait(30 * time.Second)
		if len(s.exits) != 1 || s.exits[0]["code"] != 1.0 || !strings.Contains(s.exits[0]["text"].(string), "spec.x is wrong") {
			t.Errorf("exits: %v", s.exits)
		}
	})
}

// E184: a restart of the manager changes nothing: without any pod ever three refusals end the application, and once there
// was one they never do, even if none is left.
func TestRefusalsAfterRestartE184(t *testing.T) {
	invalid := kubetest.Fault{Verb: "create", Resource: "pods", Status: 422, Reason: "Invalid", Message: "spec.x is wrong"}
	within(t, nil, func(t *testing.T, s *spark) {
		s.server.Fail(invalid)
		s.launch(5)
		wait(1500 * time.Millisecond)
		want(t, "exits of the first life", len(s.exits), 0)
		s.crash()
		s.launch(5)
		wait(30 * time.Second)
		if len(s.exits) != 1 || s.exits[0]["code"] != 1.0 || !strings.Contains(s.exits[0]["text"].(string), "spec.x is wrong") {
			t.Errorf("exits: %v", s.exits)
		}
		want(t, "× pods.created", s.created, 0)
	})
	within(t, nil, func(t *testing.T, s *spark) {
		s.launch(2)
		wait(time.Second)
		want(t, "× pods.created", s.created, 1)
		s.crash()
		for _, id := range s.ids() {
			s.server.Remove("pods", ns, podName(id))
		}
		s.server.Fail(invalid)
		s.launch(2)
		wait(10 * time.Minute)
		want(t, "exits", len(s.exits), 0)
		s.server.Heal()
		wait(time.Minute)
		want(t, "executors", len(s.ids()), 2)
		want(t, "× pods.created in both lives", s.created, 1)
	})
}

// E186: an answer that is lost is made good by a look at the pod.
func TestLostAnswerE186(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Drop: true, Times: 2})
		s.launch(4)
		wait(30 * time.Second)
		want(t, "executors", s.ids(), []int{1, 2, 3, 4})
	})
}

// E099, E101: past the failure limit the application ends with exit code 11.
func TestFailureLimitE099(t *testing.T) {
	conf := map[string]string{"spark.executor.maxNumFailures": "3"}
	within(t, conf, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(4)
		wait(5 * time.Second)
		for id := 1; id <= 4; id++ {
			want(t, "exits before the last failure", len(s.exits), 0)
			s.server.Finish(ns, podName(id), 1, "Error")
			wait(3 * time.Second)
		}
		if len(s.exits) != 1 || s.exits[0]["code"] != 11.0 {
			t.Errorf("exits: %v", s.exits)
		}
	})
}

// E126, E141: pods above the target are denied first, then deleted; those that registered stay.
func TestExcessE126E141(t *testing.T) {
	within(t, map[string]string{"spark.dynamicAllocation.executorIdleTimeout": "10s"}, func(t *testing.T, s *spark) {
		s.launch(4) // no kubelet: the pods pend
		wait(time.Second)
		s.mu.Lock()
		s.known["2"] = time.Now().UnixMilli() // registers while the deny request is on its way
		s.mu.Unlock()
		s.target(1)
		wait(5 * time.Second)
		want(t, "executors while young", len(s.ids()), 4) // E139
		wait(20 * time.Second)
		want(t, "executors", s.ids(), []int{2})
		want(t, "requests of deletion", s.logged("excess pod requests"), 2)
		s.mu.Lock()
		want(t, "denied in the end", len(s.denied), 0)
		s.mu.Unlock()
	})
}

// E210, E239: a killed executor that still runs after the grace period is deleted; the kill survives a restart.
func TestKillE210E239(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(3)
		wait(5 * time.Second)
		s.target(2)
		s.command("executors.kill", object{"ids": []string{"2"}, "graceMs": 5000, "issuedAt": time.Now().UnixMilli()})
		s.notify("executor.removed", object{"id": "2", "reason": "killed"})
		s.mu.Lock()
		delete(s.known, "2")
		s.mu.Unlock()
		wait(2 * time.Second)
		s.crash()
		wait(time.Second)
		want(t, "executors in the grace period", s.ids(), []int{1, 2, 3})
		s.launch(2)
		wait(5 * time.Second)
		want(t, "executors", s.ids(), []int{1, 3})
		want(t, "log", s.logged("Forcefully deleting 1 pods (out of 1)"), 1)
		s.mu.Lock()
		want(t, "journal", len(s.journal), 0)
		s.mu.Unlock()
	})
}

// E210: a killed executor whose pod the watch still shows as Pending runs all the same: it registered. After the grace
// period it is deleted like any other.
func TestKillOfLatePodE210(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.launch(3)
		wait(time.Second)
		s.register(1, 2, 3)
		s.target(2)
		s.command("executors.kill", object{"ids": []string{"2"}, "graceMs": 5000, "issuedAt": time.Now().UnixMilli()})
		s.forget("killed", 2)
		wait(4 * time.Second)
		want(t, "executors in the grace period", s.ids(), []int{1, 2, 3})
		wait(2 * time.Second)
		want(t, "executors", s.ids(), []int{1, 3})
		want(t, "journal", len(s.journal), 0)
	})
}

// E250: pods of an earlier life of the driver are deleted and their ids are not used again.
func TestEarlierLifeE250(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		for _, name := range []string{podName(5), "other-9999-exec-1"} {
			id := name[strings.LastIndex(name, "-")+1:]
			s.server.Put("pods", kubetest.Object{"kind": "Pod", "apiVersion": "v1", "metadata": kubetest.Object{"name": name,
				"namespace": ns, "labels": kubetest.Object{"spark-app-selector": appID, "spark-role": "executor", "spark-exec-id": id}},
				"status": kubetest.Object{"phase": "Failed"}})
		}
		s.launch(2)
		wait(5 * time.Second)
		want(t, "executors", s.ids(), []int{6, 7})
		want(t, "removals", len(s.removals()), 0)
	})
}

// E093, E095: a registered executor that a list does not show is removed only when a read by name says 404.
func TestMissingPodE093(t *testing.T) {
	conf := map[string]string{"spark.kubernetes.executor.apiPollingInterval": "30s", "spark.kubernetes.executor.enableApiWatcher": "false"}
	within(t, conf, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(5 * time.Second)
		s.server.Update("pods", ns, podName(1), func(o kubetest.Object) {
			o["metadata"].(kubetest.Object)["labels"].(kubetest.Object)["spark-exec-inactive"] = "true"
		})
		s.server.Remove("pods", ns, podName(2))
		wait(3 * time.Minute)
		want(t, "removals", len(s.removals()), 1)
		if got := s.removals()[0]; got["id"] != "2" || !strings.Contains(got["text"].(string), "was not found in the cluster at the polling time") {
			t.Errorf("removal %v", got)
		}
		want(t, "warnings about executor 1", s.logged("Executor 1 is kept"), 1)
	})
}

// E226: registered executors whose connection breaks are looked at at once.
func TestDisconnectE226(t *testing.T) {
	conf := map[string]string{"spark.kubernetes.executor.enableApiWatcher": "false", "spark.kubernetes.executor.apiPollingInterval": "10m"}
	within(t, conf, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(5 * time.Second)
		s.server.Finish(ns, podName(2), 52, "Error")
		s.notify("executor.disconnected", object{"id": "2"})
		wait(time.Second)
		want(t, "removals", len(s.removals()), 1)
	})
}

// E109: Spark hears of the end before the pod is deleted.
func TestOrderE109(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(1)
		wait(5 * time.Second)
		s.server.Fail(kubetest.Fault{Verb: "delete", Resource: "pods", Delay: 10 * time.Second})
		s.server.Finish(ns, podName(1), 52, "Error")
		wait(time.Second)
		want(t, "removals", len(s.removals()), 1)
		want(t, "executors, the ended one included", s.ids(), []int{1, 2})
	})
}
