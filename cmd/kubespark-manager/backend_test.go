package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/kubetest"
)

const releaseLabel = "spark.kubernetes.executor.decommissionLabel"

func labelling(more ...string) map[string]string {
	c := map[string]string{releaseLabel: "soLong", releaseLabel + "Value": "cruelWorld"}
	for i := 0; i < len(more); i += 2 {
		c[more[i]] = more[i+1]
	}
	return c
}

func (s *spark) kill(ids ...int) {
	var texts []string
	for _, id := range ids {
		texts = append(texts, fmt.Sprint(id))
	}
	s.command("executors.kill", object{"ids": texts, "graceMs": 5000, "issuedAt": time.Now().UnixMilli()})
	s.forget("killed", ids...)
}

// E210, E211: a kill labels the pods that are there, deletes only what still runs after the grace period, and touches no
// stranger.
func TestKillE210E211(t *testing.T) {
	within(t, labelling(), func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(3)
		wait(10 * time.Second)
		want(t, "deletes without a kill", len(s.server.Calls("delete", "pods")), 0)
		s.target(1)
		s.kill(1, 2, 99)
		wait(time.Second)
		want(t, "patches", len(s.server.Calls("patch", "pods")), 2)
		want(t, "label", kubetest.Labels(s.executors()[1])["soLong"], "cruelWorld")
		s.server.Finish(ns, podName(2), 0, "Completed") // ends by itself
		wait(3 * time.Second)
		want(t, "deletes in the grace period", deletesOf(s, 1), 0)
		wait(2 * time.Second)
		want(t, "deletes after it", deletesOf(s, 1), 1)
		want(t, "said", s.logged("Forcefully deleting 1 pods (out of 3) that are still running after graceful shutdown period."), 1)
		want(t, "journal", len(s.journal), 0)
	})
}

func deletesOf(s *spark, id int) int {
	n := 0
	for _, c := range s.server.Calls("delete", "pods") {
		if c.Name == podName(id) {
			n++
		}
	}
	return n
}

// E265: an executor that hangs while it is decommissioned, its pod deleted with a grace period of 68 years: the kill after
// forceKillTimeout gives the pod its own grace period, and one that ends in time is left alone.
func TestKillWhileDeletedE265(t *testing.T) {
	within(t, map[string]string{"spark.kubernetes.executor.terminationGracePeriodSeconds": "7s"}, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, 3*time.Second)
		s.launch(3)
		wait(5 * time.Second)
		for id, grace := range map[int]time.Duration{1: (1<<31 - 1) * time.Second, 2: 12 * time.Second} {
			until := time.Now().Add(grace).UTC().Format(time.RFC3339)
			s.server.Update("pods", ns, podName(id), func(o kubetest.Object) {
				o["metadata"].(kubetest.Object)["deletionTimestamp"] = until
			})
		}
		s.kill(1, 2)
		wait(6 * time.Second)
		want(t, "deletes", []int{deletesOf(s, 1), deletesOf(s, 2)}, []int{1, 0})
		if body := string(s.server.Calls("delete", "pods")[0].Body); !strings.Contains(body, `"gracePeriodSeconds":7`) {
			t.Errorf("the deletion is %s", body)
		}
		want(t, "said", s.logged("Forcefully deleting 1 pods (out of 2) that are still running after graceful shutdown period."), 1)
		wait(3 * time.Second)
		want(t, "executors", s.ids(), []int{2, 3, 4, 5})
		want(t, "journal", len(s.journal), 0)
	})
}

// E212: deleteOnTermination false does not save an executor that ignores its end.
func TestKillWithoutDeletionE212(t *testing.T) {
	within(t, map[string]string{"spark.kubernetes.executor.deleteOnTermination": "false"}, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(1)
		wait(5 * time.Second)
		s.target(0)
		s.kill(1)
		wait(7 * time.Second)
		want(t, "executors", len(s.ids()), 0)
	})
}

// E213: a thousand pods are labelled within five seconds, and the clean-up is not late.
func TestKillOfThousandE213(t *testing.T) {
	within(t, labelling(), func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(1000)
		wait(30 * time.Second)
		s.server.Fail(kubetest.Fault{Verb: "patch", Resource: "pods", Delay: 20 * time.Millisecond})
		var ids []int
		for id := range s.executors() {
			ids = append(ids, id)
		}
		began := time.Now()
		s.target(0)
		s.kill(ids...)
		wait(4900 * time.Millisecond)
		want(t, "patches", len(s.server.Calls("patch", "pods")), 1000)
		wait(time.Second)
		deletes := s.server.Calls("delete", "pods")
		want(t, "deletes", len(deletes), 1000)
		if late := deletes[len(deletes)-1].At.Sub(began); late > 6*time.Second {
			t.Errorf("the last delete came after %s", late)
		}
	})
}

// E214: an executor that Spark decommissions is labelled once; a repeated command does no harm.
func TestReleaseE214(t *testing.T) {
	within(t, labelling(), func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(3)
		wait(5 * time.Second)
		s.command("executors.release", object{"ids": []string{"3", "77"}})
		wait(time.Second)
		want(t, "patches", len(s.server.Calls("patch", "pods")), 1)
		want(t, "label", kubetest.Labels(s.executors()[3])["soLong"], "cruelWorld")
		want(t, "journal", len(s.journal), 0)
	})
}

// E205, E206, E249: a pod whose executor was given an id gets its label, however often the server refuses.
func TestAssignedE205E206E249(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.server.Put("pods", kubetest.Object{"kind": "Pod", "apiVersion": "v1", "metadata": kubetest.Object{"name": "cheeseBurger",
			"namespace": ns, "labels": kubetest.Object{"spark-exec-id": "EXECID"}}, "status": kubetest.Object{"phase": "Running"}})
		s.launch(0)
		s.server.Fail(kubetest.Fault{Verb: "patch", Resource: "pods", Status: 500, Reason: "InternalError", Times: 5})
		s.command("execId.assigned", object{"podName": "cheeseBurger", "id": "1"})
		wait(time.Second)
		want(t, "not yet", len(s.journal), 1)
		s.crash() // E249: the command is in the journal
		s.launch(0)
		wait(time.Minute)
		want(t, "label", kubetest.Labels(s.server.Get("pods", ns, "cheeseBurger"))["spark-exec-id"], "1")
		want(t, "journal", len(s.journal), 0)
		want(t, "removals", len(s.removals()), 0)
	})
}

// E226: at most twenty looks a second, however many connections break.
func TestLooksE226(t *testing.T) {
	within(t, map[string]string{noWatch: "false", interval: "10m"}, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(100)
		wait(10 * time.Second)
		before := len(s.server.Calls("get", "pods"))
		for id := 1; id <= 100; id++ {
			s.notify("executor.disconnected", object{"id": fmt.Sprint(id)})
		}
		wait(time.Second)
		if n := len(s.server.Calls("get", "pods")) - before; n < 15 || n > 22 {
			t.Errorf("%d reads in the first second", n)
		}
		wait(10 * time.Second)
		want(t, "reads", len(s.server.Calls("get", "pods"))-before, 100)
	})
}

// E274: an address that is used again: the executor that had it is looked at, and removed when its pod is gone.
func TestAddressUsedAgainE274(t *testing.T) {
	within(t, map[string]string{noWatch: "false", interval: "10m"}, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(3)
		wait(5 * time.Second)
		ip := kubetest.Text(s.executors()[2], "status", "podIP")
		s.server.Remove("pods", ns, podName(2))
		before := len(s.server.Calls("get", "pods"))
		s.notify("executor.registered", object{"id": "3", "host": ip, "profile": 0, "registeredAt": time.Now().UnixMilli()})
		wait(300 * time.Millisecond)
		want(t, "reads", len(s.server.Calls("get", "pods"))-before, 1)
		want(t, "removals", len(s.removals()), 1)
		want(t, "id", s.removals()[0]["id"], any("2"))
	})
}

// E117: after an out-of-memory loss the driver sets the recovery mode; later executors get one slot and the same CPU.
func TestRecoveryModeE117(t *testing.T) {
	conf := map[string]string{"spark.executor.cores": "4", "spark.task.cpus": "2"}
	within(t, conf, func(t *testing.T, s *spark) {
		s.launch(1)
		wait(time.Second)
		s.command("conf.set", object{"key": "spark.kubernetes.allocation.recoveryMode.enabled", "value": "true"})
		s.target(2)
		wait(time.Second)
		env := func(id int) string {
			c := s.executors()[id]["spec"].(kubetest.Object)["containers"].([]any)[0].(kubetest.Object)
			for _, e := range c["env"].([]any) {
				if e := e.(kubetest.Object); e["name"] == "SPARK_EXECUTOR_CORES" {
					return fmt.Sprint(e["value"], " ", c["resources"].(kubetest.Object)["requests"].(kubetest.Object)["cpu"])
				}
			}
			return ""
		}
		before, after := strings.Fields(env(1)), strings.Fields(env(2))
		want(t, "cores before", before[0], "4")
		want(t, "cores after", after[0], "2")
		want(t, "CPU", after[1], before[1])
	})
}

// E108, E253: what Spark removed by itself is reported once more at most, and not as a failure.
func TestRemovedBySparkE108E253(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(5 * time.Second)
		s.kill(2)
		wait(time.Second)
		s.server.Finish(ns, podName(2), 137, "Error")
		wait(10 * time.Second)
		want(t, "removals", len(s.removals()), 1)
		want(t, "counted", s.removals()[0]["countsAsFailure"], any(false))
		want(t, "caused by the application", s.removals()[0]["causedByApp"], any(false))
		want(t, "executors", s.ids(), []int{1, 3})
	})
}

// E218, E219, E220, E221: what stop removes, in which order, and what it leaves.
func TestStopE218E220E221(t *testing.T) {
	for _, tc := range []struct {
		name   string
		conf   map[string]string
		faults []kubetest.Fault
		want   []string // resources of the deletions, in order
		warned string
	}{
		{name: "all E218", want: []string{"services", "persistentvolumeclaims", "pods", "configmaps"}},
		{name: "kept pods E220", conf: map[string]string{"spark.kubernetes.executor.deleteOnTermination": "false"},
			want: []string{"services", "persistentvolumeclaims"}},
		{name: "kept Services E220", conf: map[string]string{"spark.kubernetes.driver.service.deleteOnTermination": "false"},
			want: []string{"persistentvolumeclaims", "pods", "configmaps"}},
		{name: "kept claims E220", conf: map[string]string{"spark.kubernetes.driver.ownPersistentVolumeClaim": "false"},
			want: []string{"services", "pods", "configmaps"}},
		{name: "no ConfigMap", conf: map[string]string{"spark.kubernetes.executor.disableConfigMap": "true"},
			want: []string{"services", "persistentvolumeclaims", "pods"}},
		{name: "no right to delete collections E221", faults: []kubetest.Fault{{Verb: "deletecollection", Resource: "persistentvolumeclaims",
			Status: 403, Reason: "Forbidden", Message: "no"}, {Verb: "list", Resource: "persistentvolumeclaims", Status: 403, Reason: "Forbidden", Message: "no"}},
			want: []string{"services", "persistentvolumeclaims", "pods", "configmaps"}, warned: "persistentvolumeclaims cannot be deleted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			within(t, tc.conf, func(t *testing.T, s *spark) {
				s.kubelet(time.Second, 100*time.Millisecond)
				s.launch(2)
				wait(5 * time.Second)
				for _, f := range tc.faults {
					s.server.Fail(f)
				}
				s.stop()
				var order []string
				for _, c := range s.server.Calls("deletecollection", "") {
					order = append(order, c.Resource)
				}
				want(t, "deletions", order, tc.want)
				wait(time.Second)
				want(t, "executors", len(s.ids()) > 0, !slices.Contains(tc.want, "pods"))
				want(t, "exits", len(s.exits), 0)
				if tc.warned != "" {
					want(t, "warnings", s.logged(tc.warned), 1)
				}
			})
		})
	}
}

// E221: without the right to delete collections claims are listed and deleted one by one.
func TestStopOneByOneE221(t *testing.T) {
	within(t, claimConf(nil), func(t *testing.T, s *spark) {
		s.kubelet(time.Second, 100*time.Millisecond)
		s.launch(3)
		wait(5 * time.Second)
		s.server.Fail(kubetest.Fault{Verb: "deletecollection", Status: 403, Reason: "Forbidden", Message: "no"})
		want(t, "left", s.stop(), 0)
		want(t, "claims", len(s.claimNames()), 0)
		wait(time.Second)
		want(t, "executors", len(s.ids()), 0)
		want(t, "warnings", s.logged("cannot be deleted"), 0)
	})
}

// E224: a server breaks the deletion of a large collection off; it is asked again.
func TestStopOfManyBrokenOffE224(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, 100*time.Millisecond)
		s.launch(20)
		wait(5 * time.Second)
		s.server.Fail(kubetest.Fault{Verb: "deletecollection", Resource: "pods", Status: 504, Reason: "Timeout", Message: "not in a minute", Times: 1})
		want(t, "left", s.stop(), 0)
		wait(time.Second)
		want(t, "executors", len(s.ids()), 0)
		want(t, "warnings", s.logged("cannot be deleted"), 0)
		want(t, "requests", len(s.server.Calls("deletecollection", "pods")), 2)
	})
}

// E135, E224: thousands of executors go with a handful of requests.
func TestStopOfManyE135E224(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, 100*time.Millisecond)
		s.launch(size(800, 5000))
		wait(time.Minute)
		s.stop()
		wait(time.Second)
		want(t, "executors", len(s.ids()), 0)
		if n := len(s.server.Calls("delete", "")) + len(s.server.Calls("deletecollection", "")); n > 5 {
			t.Errorf("%d delete requests", n)
		}
		for _, c := range s.server.Calls("deletecollection", "pods") {
			if !strings.Contains(c.Query, "spark-role%3Dexecutor") || !strings.Contains(c.Query, appID) {
				t.Errorf("selector %s", c.Query)
			}
		}
	})
}

// E230: a stop right after the start leaves nothing.
func TestStopAtOnceE230(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, 100*time.Millisecond)
		s.launch(10)
		want(t, "left", s.stop(), 0)
		wait(10 * time.Second)
		want(t, "executors", len(s.ids()), 0)
		want(t, "ConfigMaps", len(s.server.List("configmaps")), 0)
	})
}

// E279: executors that end by themselves within five seconds are not sent a SIGTERM; others are then. stop-wait does not
// wait.
func TestStopWaitsE279(t *testing.T) {
	for stock, most := range map[string]time.Duration{"": 2 * time.Second, "stop-wait": 500 * time.Millisecond} {
		within(t, map[string]string{"spark.kubespark.stock": stock}, func(t *testing.T, s *spark) {
			k := s.kubelet(time.Second, 100*time.Millisecond)
			termed := 0
			k.Ends = func(pod kubetest.Object) {
				if kubetest.Text(pod, "status", "phase") == "Running" {
					termed++
				}
			}
			s.launch(100)
			wait(10 * time.Second)
			time.AfterFunc(time.Second, func() {
				for id := range s.executors() {
					s.server.Finish(ns, podName(id), 0, "Completed")
				}
			})
			began := time.Now()
			s.stop()
			if d := time.Since(began); d > most {
				t.Errorf("stop took %s with %q", d, stock)
			}
			wait(300 * time.Millisecond) // the kubelet ends what the stop has only marked
			want(t, "terminated while running "+stock, termed > 0, stock != "")
		})
	}
}

// E251: two applications with one name share nothing: neither touches the other's pods.
func TestTwoApplicationsE251(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.server.Put("pods", kubetest.Object{"kind": "Pod", "apiVersion": "v1", "metadata": kubetest.Object{"name": "pi-9999-exec-1",
			"namespace": ns, "labels": kubetest.Object{"spark-app-selector": "spark-other", "spark-app-name": "pi", "spark-role": "executor",
				"spark-exec-id": "1"}}, "status": kubetest.Object{"phase": "Running"}})
		s.kubelet(time.Second, 100*time.Millisecond)
		s.launch(2)
		wait(5 * time.Second)
		s.stop()
		wait(time.Second)
		if s.server.Get("pods", ns, "pi-9999-exec-1") == nil {
			t.Error("the other application's executor is gone")
		}
	})
}
