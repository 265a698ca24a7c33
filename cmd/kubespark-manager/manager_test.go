package main

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/internal/kubetest"
)

// within runs a test of the whole manager in a bubble with its own clock: bridge, manager and API server, no socket.
func within(t *testing.T, conf map[string]string, f func(t *testing.T, s *spark)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSpark(t, conf)
		f(t, s)
		s.crash()
		s.server.DropWatches()
		if t.Failed() {
			t.Logf("driver log:\n%s", s.dump())
		}
	})
}

func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// E022, E023: the ConfigMap comes first, then the executors, and nothing more.
func TestInitialExecutorsE022E023(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(3)
		wait(5 * time.Second)
		want(t, "executors", s.ids(), []int{1, 2, 3})
		var writes []string
		for _, c := range s.server.Calls("create", "") {
			writes = append(writes, c.Resource)
			if !strings.Contains(c.Agent, "kubespark-manager/") || !strings.Contains(c.Query, "fieldManager=kubespark") {
				t.Errorf("create by %q with %q", c.Agent, c.Query)
			}
		}
		want(t, "creates", writes, []string{"configmaps", "pods", "pods", "pods"})
		pod := s.executors()[1]
		owner, _ := pod["metadata"].(kubetest.Object)["ownerReferences"].([]any)
		if len(owner) != 1 || owner[0].(kubetest.Object)["name"] != "driver" {
			t.Errorf("owner references: %v", owner)
		}
		want(t, "request lines", s.logged("Going to request 3 executors from Kubernetes for ResourceProfile Id: 0, target: 3"), 1)
		calls := len(s.server.Calls("", ""))
		infos := s.logged("INFO")
		wait(10 * time.Minute) // E150: an idle driver asks for nothing and says nothing
		want(t, "calls of an idle driver beside the watch", len(s.server.Calls("", ""))-len(s.server.Calls("watch", ""))-calls+1, 0)
		want(t, "INFO lines of an idle driver", s.logged("INFO"), infos)
	})
}

// E151: without the batch keys the pods are created in parallel.
func TestParallelCreatesE151(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Delay: 200 * time.Millisecond})
		s.launch(1200)
		wait(15 * time.Second)
		want(t, "pods", len(s.ids()), 1200)
	})
}

// E120, E151: with a batch key set, both hold exactly.
func TestBatchKeysE120(t *testing.T) {
	conf := map[string]string{"spark.kubernetes.allocation.batch.size": "5"}
	within(t, conf, func(t *testing.T, s *spark) {
		s.launch(12)
		wait(500 * time.Millisecond)
		want(t, "pods in the first second", len(s.ids()), 5)
		wait(time.Second)
		want(t, "pods in the second", len(s.ids()), 10)
		wait(time.Second)
		want(t, "pods in the third", len(s.ids()), 12)
	})
}

// The ways to lose an executor: the reason goes to Spark once, the pod goes, and a replacement comes.
func TestLostExecutors(t *testing.T) {
	for _, tc := range []struct {
		name   string
		lose   func(s *spark)
		code   float64
		caused bool
		counts bool
		text   string // part of what Spark is told
		line   string // part of the driver's log
	}{
		{"deleted E090", func(s *spark) { s.server.Remove("pods", ns, podName(2)) }, -1, false, false,
			"The executor with id 2 was deleted by a user or the framework.", "Executor 2 lost: its pod was deleted"},
		{"killed", func(s *spark) { s.server.Finish(ns, podName(2), 137, "Error") }, 137, true, true,
			"The executor with id 2 exited with exit code 137(SIGKILL, possible container OOM).", "exit code 137 (SIGKILL)"},
		{"out of memory E104", func(s *spark) { s.server.Finish(ns, podName(2), 137, "OOMKilled") }, 137, true, true,
			"termination reason: OOMKilled", "OOMKilled: the container passed its memory limit"},
		{"failed E083", func(s *spark) { s.server.Finish(ns, podName(2), 1, "Error") }, 1, true, true,
			"exited with exit code 1(generic, look at logs to clarify).", "exit code 1"},
		{"evicted E102", func(s *spark) {
			s.server.Update("pods", ns, podName(2), func(o kubetest.Object) {
				o["status"] = kubetest.Object{"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
			})
		}, -1, false, false, "The API gave the following brief reason: Evicted", "Evicted: The node was low on resource: memory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			within(t, nil, func(t *testing.T, s *spark) {
				s.kubelet(time.Second, time.Second)
				s.launch(3)
				wait(5 * time.Second)
				tc.lose(s)
				wait(200 * time.Millisecond) // E113
				want(t, "removals", len(s.removals()), 1)
				got := s.removals()[0]
				want(t, "code", got["code"], any(tc.code))
				want(t, "causedByApp", got["causedByApp"], any(tc.caused))
				want(t, "countsAsFailure", got["countsAsFailure"], any(tc.counts))
				if text, _ := got["text"].(string); !strings.Contains(text, tc.text) {
					t.Errorf("text %q lacks %q", text, tc.text)
				}
				want(t, "log lines", s.logged(tc.line), 1)
				wait(10 * time.Second)
				want(t, "executors", s.ids(), []int{1, 3, 4})
				want(t, "removals in the end", len(s.removals()), 1)
			})
		})
	}
}

// E236, E237: the manager dies twice; running executors are adopted, none is doubled, none is removed, ids are not reused.
func TestManagerRestartsE236(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(20)
		wait(5 * time.Second)
		for range 2 {
			before := s.ids()
			creates := len(s.server.Calls("create", "pods"))
			s.crash()
			wait(time.Second)
			s.launch(20)
			wait(30 * time.Second)
			want(t, "executors", s.ids(), before)
			want(t, "creates", len(s.server.Calls("create", "pods")), creates)
			want(t, "removals", len(s.removals()), 0)
		}
		s.server.Remove("pods", ns, podName(7))
		wait(5 * time.Second)
		want(t, "executors", len(s.ids()), 20)
		if id := slices.Max(s.ids()); id <= 100 {
			t.Errorf("the replacement has id %d of a lost block", id)
		}
	})
}

// E237: the manager dies while its creates are under way; in the end there are as many pods as wanted, none doubled.
func TestRestartDuringCreatesE237(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Delay: 300 * time.Millisecond})
		s.launch(20)
		wait(150 * time.Millisecond)
		s.crash()
		s.launch(20)
		wait(90 * time.Second)
		want(t, "executors", len(s.ids()), 20)
		want(t, "removals", len(s.removals()), 0)
	})
}

// E242, E244: executors that die while the manager is away are reported once, with their codes, and their pods go.
func TestLostWhileAwayE244(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(4)
		wait(5 * time.Second)
		s.crash()
		s.server.Finish(ns, podName(1), 52, "Error")
		s.server.Finish(ns, podName(3), 1, "Error")
		s.launch(4)
		wait(2 * time.Second)
		want(t, "removals", len(s.removals()), 2)
		want(t, "code of 1", s.removals()[0]["code"], any(52.0))
		s.crash()
		s.launch(4)
		wait(10 * time.Second)
		want(t, "removals after another restart", len(s.removals()), 2)
		want(t, "executors", len(s.ids()), 4)
		want(t, "executor 1 is gone", slices.Contains(s.ids(), 1), false)
	})
}

// E220, E230: stop leaves nothing of ours.
func TestStopLeavesNothingB13(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, 100*time.Millisecond)
		labels := kubetest.Object{"spark-app-selector": appID}
		s.server.Put("services", kubetest.Object{"kind": "Service", "apiVersion": "v1",
			"metadata": kubetest.Object{"name": "driver-svc", "namespace": ns, "labels": labels}})
		s.server.Put("services", kubetest.Object{"kind": "Service", "apiVersion": "v1",
			"metadata": kubetest.Object{"name": "foreign", "namespace": ns, "labels": kubetest.Object{"spark-app-selector": "other"}}})
		s.launch(10)
		wait(5 * time.Second)
		began := time.Now()
		want(t, "left", s.stop(), 0)
		if d := time.Since(began); d > 8*time.Second {
			t.Errorf("stop took %s", d)
		}
		wait(time.Second)
		want(t, "executors", len(s.ids()), 0)
		want(t, "ConfigMaps", len(s.server.List("configmaps")), 0)
		want(t, "Services", len(s.server.List("services")), 1)
		want(t, "delete requests", len(s.server.Calls("delete", ""))+len(s.server.Calls("deletecollection", "")), 4) // E224
		want(t, "removals", len(s.removals()), 0)
	})
}

// A manager that dies at stop is started again, opened and stopped, without a start.
func TestStopAfterRestart(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, 100*time.Millisecond)
		s.launch(3)
		wait(5 * time.Second)
		s.crash()
		s.onlyOpen = true
		s.launch(3)
		want(t, "left", s.stop(), 0)
		wait(time.Second)
		want(t, "executors", len(s.ids()), 0)
		want(t, "ConfigMaps", len(s.server.List("configmaps")), 0)
	})
}

// E223: creates in flight when stop begins leave no pod behind.
func TestStopDuringCreatesE223(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, 100*time.Millisecond)
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Delay: 2 * time.Second})
		s.launch(50)
		wait(time.Second)
		want(t, "left", s.stop(), 0)
		wait(10 * time.Second)
		want(t, "executors", len(s.ids()), 0)
	})
}

// E222: an API server that hangs does not hold up the stop.
func TestStopWithDeadServerE222(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(5 * time.Second)
		s.server.Fail(kubetest.Fault{Hang: true})
		began := time.Now()
		s.stop()
		if d := time.Since(began); d > 25*time.Second {
			t.Errorf("stop took %s", d)
		}
	})
}

// E025: a driver pod that is not Ready holds the first create up for the readiness timeout, and start() not at all.
func TestReadinessE025(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.server.Update("pods", ns, "driver", func(o kubetest.Object) {
			o["status"].(kubetest.Object)["conditions"] = []any{}
		})
		began := time.Now()
		s.launch(2)
		want(t, "start() waited", time.Since(began), time.Duration(0))
		wait(900 * time.Millisecond)
		want(t, "executors before the timeout", len(s.ids()), 0)
		wait(200 * time.Millisecond)
		want(t, "executors after it", len(s.ids()), 2)
		want(t, "log", s.logged("is not ready after 1s"), 1)
	})
}

// The event of a lost executor stands on the driver pod.
func TestEventOfLostExecutor(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(5 * time.Second)
		s.server.Remove("pods", ns, podName(1))
		wait(time.Second)
		events := s.server.List("events")
		if len(events) != 1 || !strings.HasPrefix(kubetest.Text(events[0], "message"), "Executor 1 lost: its pod was deleted") ||
			kubetest.Text(events[0], "involvedObject", "name") != "driver" {
			t.Errorf("events: %v", events)
		}
	})
}
