package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/kubetest"
)

// paced is the fixture of the scenarios: batches of five a second, and an idle timeout of ten seconds.
func paced(more ...string) map[string]string {
	c := map[string]string{"spark.kubernetes.allocation.batch.size": "5", "spark.kubernetes.allocation.batch.delay": "1s",
		"spark.dynamicAllocation.executorIdleTimeout": "10s"}
	for i := 0; i < len(more); i += 2 {
		c[more[i]] = more[i+1]
	}
	return c
}

// gone removes pods as if their nodes had.
func (s *spark) gone(ids ...int) {
	for _, id := range ids {
		s.server.Remove("pods", ns, podName(id))
	}
}

// E126: a target raised and lowered: pods come, pending ones go when they are old enough, and are allowed again when gone.
func TestTraceE126(t *testing.T) {
	within(t, paced(), func(t *testing.T, s *spark) {
		s.launch(1)
		wait(100 * time.Millisecond)
		s.run(1)
		s.target(4)
		wait(100 * time.Millisecond)
		want(t, "raised", s.ids(), []int{1, 2, 3, 4})
		s.run(2)
		wait(time.Second)
		want(t, "nothing more", s.ids(), []int{1, 2, 3, 4})
		wait(20 * time.Second)
		s.target(1)
		wait(time.Second)
		want(t, "lowered", s.ids(), []int{1, 2})
		want(t, "said", s.logged("Deleting 2 excess pod requests (3,4)."), 1)
		want(t, "denied when gone", len(s.denied), 0)
	})
}

// E128, E140: pods that Spark knows are never taken back, however long they pend.
func TestTraceE128E140(t *testing.T) {
	within(t, paced(), func(t *testing.T, s *spark) {
		s.launch(5)
		wait(100 * time.Millisecond)
		s.target(0)
		wait(time.Second)
		want(t, "young pods stay", s.ids(), []int{1, 2, 3, 4, 5})
		s.register(1, 3, 4)
		wait(20 * time.Second)
		want(t, "executors", s.ids(), []int{1, 3, 4})
		wait(time.Hour)
		want(t, "executors after an hour", s.ids(), []int{1, 3, 4})
	})
}

// E129: two profiles, some of their pods known, targets lowered and raised.
func TestTraceE129(t *testing.T) {
	within(t, paced(), func(t *testing.T, s *spark) {
		s.launch(0)
		s.wants(map[int]int{0: 3, 7: 4})
		wait(100 * time.Millisecond)
		want(t, "first", s.ids(), []int{1, 2, 3, 4, 5, 6, 7})
		s.register(1, 2, 4, 5)
		wait(20 * time.Second)
		s.wants(map[int]int{0: 1, 7: 1})
		wait(time.Second)
		want(t, "lowered", s.ids(), []int{1, 2, 4, 5})
		s.wants(map[int]int{0: 2, 7: 2})
		wait(time.Second)
		want(t, "as many as known", s.ids(), []int{1, 2, 4, 5})
		s.wants(map[int]int{0: 3, 7: 3})
		wait(time.Second)
		want(t, "one more each", s.ids(), []int{1, 2, 4, 5, 8, 9})
		labels := kubetest.Labels(s.executors()[9])
		want(t, "profile of 9", labels["spark-exec-resourceprofile-id"], "7")
	})
}

// E131, E136: a pod that pends stalls nobody.
func TestPendingStallsNobodyE131E136(t *testing.T) {
	within(t, paced(), func(t *testing.T, s *spark) {
		s.launch(6)
		wait(100 * time.Millisecond)
		s.run(2, 3, 4, 5)
		wait(time.Second)
		want(t, "executors", len(s.ids()), 6)
		s.target(20)
		wait(4 * time.Second)
		want(t, "twenty in four seconds", len(s.ids()), 20)
	})
}

// E136: a pod that was answered 201 and that a later list does not show is replaced.
func TestVanishedE136(t *testing.T) {
	conf := paced("spark.kubernetes.executor.enableApiWatcher", "false", "spark.kubernetes.executor.apiPollingInterval", "30s")
	within(t, conf, func(t *testing.T, s *spark) {
		s.launch(3)
		wait(100 * time.Millisecond)
		s.gone(3)
		wait(31 * time.Second)
		want(t, "executors", s.ids(), []int{1, 2, 4})
	})
}

// E137: a pod that registered and went between two polls is replaced, once Spark has forgotten it.
func TestShortLifeE137(t *testing.T) {
	conf := paced("spark.kubernetes.executor.enableApiWatcher", "false", "spark.kubernetes.executor.apiPollingInterval", "30s")
	within(t, conf, func(t *testing.T, s *spark) {
		s.launch(1)
		wait(time.Second)
		s.register(1)
		wait(time.Second)
		s.gone(1)
		s.forget("lost", 1)
		wait(31 * time.Second)
		want(t, "executors", s.ids(), []int{2})
	})
}

// E142: an excess pod that runs before it is deleted goes all the same, by its UID.
func TestExcessRunsE142(t *testing.T) {
	within(t, paced(), func(t *testing.T, s *spark) {
		s.server.Fail(kubetest.Fault{Verb: "delete", Resource: "pods", Delay: 3 * time.Second})
		s.launch(3)
		wait(15 * time.Second)
		s.target(2)
		wait(time.Second)
		s.run(3)
		wait(5 * time.Second)
		want(t, "executors", s.ids(), []int{1, 2})
		for _, c := range s.server.Calls("delete", "pods") {
			if !strings.Contains(c.Body, `"uid"`) {
				t.Errorf("a delete without UID: %s", c.Body)
			}
		}
		want(t, "failures", len(s.removals()), 1)
		want(t, "counted", s.removals()[0]["countsAsFailure"], any(false))
	})
}

// E145, E229: a lost node: the pod stays Running with a deletionTimestamp; its successor comes as soon as Spark forgets it.
func TestLostNodeE145E229(t *testing.T) {
	for stock, ids := range map[string][]int{"": {1, 2, 3}, "leaving-pods": {1, 2}} {
		within(t, paced("spark.kubespark.stock", stock), func(t *testing.T, s *spark) {
			s.kubelet(time.Second, time.Hour)
			s.launch(2)
			wait(5 * time.Second)
			s.server.Update("pods", ns, podName(2), func(o kubetest.Object) {
				o["metadata"].(kubetest.Object)["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
			})
			wait(5 * time.Second)
			want(t, "still known", s.ids(), []int{1, 2})
			s.command("executors.kill", object{"ids": []string{"2"}, "graceMs": 5000, "issuedAt": time.Now().UnixMilli()})
			s.forget("killed", 2)
			wait(200 * time.Millisecond)
			want(t, "forgotten, "+stock, s.ids(), ids)
		})
	}
}

// E146: executors killed with a lowered target are not replaced while they end.
func TestKilledE146(t *testing.T) {
	within(t, paced(), func(t *testing.T, s *spark) {
		s.kubelet(time.Second, 30*time.Second)
		s.launch(10)
		wait(10 * time.Second)
		creates := len(s.server.Calls("create", "pods"))
		s.target(5)
		s.command("executors.kill", object{"ids": []string{"1", "2", "3", "4", "5"}, "graceMs": 5000, "issuedAt": time.Now().UnixMilli()})
		s.forget("killed", 1, 2, 3, 4, 5)
		wait(2 * time.Minute)
		want(t, "creates", len(s.server.Calls("create", "pods")), creates)
		want(t, "executors", s.ids(), []int{6, 7, 8, 9, 10})
	})
}

// E147, E148: pods without a usable profile label count for profile 0, also when a second profile comes later.
func TestBadProfileLabelE147E148(t *testing.T) {
	within(t, paced(), func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(5)
		wait(5 * time.Second)
		for id, value := range map[int]any{1: nil, 2: "x"} {
			s.server.Update("pods", ns, podName(id), func(o kubetest.Object) {
				l := o["metadata"].(kubetest.Object)["labels"].(kubetest.Object)
				if value == nil {
					delete(l, "spark-exec-resourceprofile-id")
				} else {
					l["spark-exec-resourceprofile-id"] = value
				}
			})
		}
		s.wants(map[int]int{0: 5, 7: 2})
		wait(3 * time.Second)
		want(t, "executors", s.ids(), []int{1, 2, 3, 4, 5, 6, 7})
		s.run(1, 2)
		s.server.Finish(ns, podName(3), 1, "Error")
		wait(3 * time.Second)
		want(t, "executors", s.ids(), []int{1, 2, 4, 5, 6, 7, 8})
	})
}

// E149: a raised target is served at once when nothing is outstanding, else within the batch delay.
func TestAtOnceE149(t *testing.T) {
	within(t, paced(), func(t *testing.T, s *spark) {
		s.launch(1)
		wait(100 * time.Millisecond)
		s.run(1)
		wait(100 * time.Millisecond)
		s.target(4)
		wait(50 * time.Millisecond)
		want(t, "at once", len(s.ids()), 4)
		s.target(6)
		wait(50 * time.Millisecond)
		want(t, "not yet", len(s.ids()), 4)
		wait(time.Second)
		want(t, "after the delay", len(s.ids()), 6)
	})
}

// E151: with a batch size of 20 each second sees 20 creates of the profile, however slow the server.
func TestPaceE151(t *testing.T) {
	within(t, map[string]string{"spark.kubernetes.allocation.batch.size": "20"}, func(t *testing.T, s *spark) {
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Delay: 200 * time.Millisecond})
		s.launch(1200)
		wait(61 * time.Second)
		want(t, "pods", len(s.ids()), 1200)
		second := map[int64]int{}
		calls := s.server.Calls("create", "pods")
		for _, c := range calls {
			second[int64(c.At.Sub(calls[0].At)/time.Second)]++
		}
		for n, creates := range second {
			if creates > 20 {
				t.Errorf("%d creates in second %d", creates, n)
			}
		}
	})
}

// E152, E153: two profiles share the pending limit, and at the limit of a profile nothing is said.
func TestPendingLimitE152E153(t *testing.T) {
	conf := map[string]string{"spark.kubernetes.allocation.maxPendingPods": "10"}
	within(t, conf, func(t *testing.T, s *spark) {
		s.launch(0)
		s.wants(map[int]int{0: 50, 7: 50})
		for range 40 {
			wait(time.Second)
			pending, profiles := 0, map[string]int{}
			for id, p := range s.executors() {
				if kubetest.Text(p, "status", "phase") == "Pending" {
					pending++
					s.run(id)
				}
				profiles[kubetest.Labels(p)["spark-exec-resourceprofile-id"]]++
			}
			if pending > 10 {
				t.Fatalf("%d pods pend", pending)
			}
			if len(profiles) != 2 {
				t.Fatalf("profiles: %v", profiles)
			}
		}
		want(t, "executors", len(s.ids()), 100)
	})
	conf = map[string]string{"spark.kubernetes.allocation.maxPendingPodsPerRp": "2"}
	within(t, conf, func(t *testing.T, s *spark) {
		s.launch(5)
		wait(time.Minute)
		want(t, "executors", len(s.ids()), 2)
		want(t, "requests said", s.logged("Going to request"), 1)
		want(t, "requests below zero", s.logged("Going to request -"), 0)
	})
}

// E156: a pending pod without creationTimestamp is old, and that is said once.
func TestNoAgeE156(t *testing.T) {
	within(t, paced(), func(t *testing.T, s *spark) {
		s.launch(1)
		wait(100 * time.Millisecond)
		s.server.Update("pods", ns, podName(1), func(o kubetest.Object) { delete(o["metadata"].(kubetest.Object), "creationTimestamp") })
		wait(100 * time.Millisecond)
		s.target(0)
		wait(time.Second)
		want(t, "executors", len(s.ids()), 0)
		want(t, "said", s.logged("ERROR Cannot get the creationTimestamp of the pod: "+podName(1)), 1)
	})
}

// E158: a pod in phase Unknown is replaced; when it comes back, both stay.
func TestUnknownPhaseE158(t *testing.T) {
	within(t, paced(), func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(1)
		wait(3 * time.Second)
		phase := func(p string) {
			s.server.Update("pods", ns, podName(1), func(o kubetest.Object) { o["status"].(kubetest.Object)["phase"] = p })
		}
		phase("Unknown")
		wait(3 * time.Second)
		want(t, "replaced", s.ids(), []int{1, 2})
		phase("Running")
		wait(time.Minute)
		want(t, "both", s.ids(), []int{1, 2})
		want(t, "removals E114", len(s.removals()), 0)
	})
}

// E160: totals overwrite profile by profile.
func TestTotalsE160(t *testing.T) {
	within(t, paced(), func(t *testing.T, s *spark) {
		s.launch(0)
		s.wants(map[int]int{0: 4, 1: 3})
		s.wants(map[int]int{1: 2})
		wait(5 * time.Second)
		count := map[string]int{}
		for _, p := range s.executors() {
			count[kubetest.Labels(p)["spark-exec-resourceprofile-id"]]++
		}
		if count["0"] != 4 || count["1"] < 2 || count["1"] > 3 { // the three may have been asked for already
			t.Errorf("executors by profile: %v", count)
		}
	})
}

// E161: each of a thousand pods has the template's tolerations, six labels, one owner and restartPolicy Never.
func TestThousandPodsE161(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.session = object{"template": "apiVersion: v1\nkind: Pod\nspec:\n  tolerations:\n  - {key: spot, operator: Exists}\n  containers:\n  - {name: c}\n"}
		s.launch(1000)
		wait(10 * time.Second)
		pods := s.executors()
		want(t, "executors", len(pods), 1000)
		uid := kubetest.Text(s.server.Get("pods", ns, "driver"), "metadata", "uid")
		for id, p := range pods {
			spec, labels := p["spec"].(kubetest.Object), kubetest.Labels(p)
			owners := p["metadata"].(kubetest.Object)["ownerReferences"].([]any)
			owner := owners[0].(kubetest.Object)
			ok := len(owners) == 1 && owner["apiVersion"] == "v1" && owner["kind"] == "Pod" && owner["name"] == "driver" &&
				owner["uid"] == uid && owner["controller"] == true && spec["restartPolicy"] == "Never" &&
				strings.Contains(fmt.Sprint(spec["tolerations"]), "spot")
			for _, l := range []string{"spark-version", "spark-app-selector", "spark-app-name", "spark-role", "spark-exec-id",
				"spark-exec-resourceprofile-id"} {
				ok = ok && labels[l] != ""
			}
			if !ok {
				t.Fatalf("executor %d: %v", id, p)
			}
		}
	})
}

// E116: a pod that never ran is deleted by hand: one removal, which Spark takes for a stranger's, and a successor.
func TestNeverRegisteredE116(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.launch(1)
		wait(time.Second)
		s.gone(1)
		wait(5 * time.Second)
		want(t, "removals", len(s.removals()), 1)
		want(t, "executors", s.ids(), []int{2})
	})
}

// E275: a pod that cannot pull its image is spoken of every five minutes; with a pending timeout it is replaced.
func TestSlowPodE275(t *testing.T) {
	stuck := func(s *spark, id int) {
		s.server.Update("pods", ns, podName(id), func(o kubetest.Object) {
			o["status"].(kubetest.Object)["containerStatuses"] = kubetest.Statuses(o, kubetest.Object{"waiting": kubetest.Object{
				"reason": "ImagePullBackOff", "message": "no such image\nmore"}})
		})
	}
	line := "WARN Executor pod " + podName(3) + " has been pending for"
	within(t, nil, func(t *testing.T, s *spark) {
		s.launch(3)
		wait(time.Second)
		s.run(1, 2)
		stuck(s, 3)
		wait(12 * time.Minute)
		want(t, "lines", s.logged(line), 2)
		want(t, "with the reason", s.logged("ImagePullBackOff (no such image)"), 2)
		want(t, "executors", s.ids(), []int{1, 2, 3})
	})
	within(t, map[string]string{"spark.kubespark.executor.pendingTimeout": "5m"}, func(t *testing.T, s *spark) {
		s.launch(3)
		wait(time.Second)
		s.run(1, 2)
		stuck(s, 3)
		wait(5*time.Minute + 5*time.Second)
		want(t, "lines", s.logged(line), 1)
		want(t, "executors", s.ids(), []int{1, 2, 4})
	})
}

// E187: names that others' pods have are skipped, without a tight loop.
func TestForeignNamesE187(t *testing.T) {
	foreign := func(s *spark, from, to int) {
		for id := from; id <= to; id++ {
			s.server.Put("pods", kubetest.Object{"kind": "Pod", "apiVersion": "v1", "metadata": kubetest.Object{"name": podName(id),
				"namespace": ns, "labels": kubetest.Object{"spark-app-selector": "other"}}, "status": kubetest.Object{"phase": "Running"}})
		}
	}
	within(t, nil, func(t *testing.T, s *spark) {
		foreign(s, 4, 4)
		s.launch(4)
		wait(5 * time.Second)
		var ids []int
		for id, p := range s.executors() {
			if kubetest.Labels(p)["spark-app-selector"] == appID {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		want(t, "executors", ids, []int{1, 2, 3, 5})
	})
	within(t, nil, func(t *testing.T, s *spark) {
		foreign(s, 1, 150)
		s.launch(1)
		wait(30 * time.Second)
		want(t, "said", s.logged("100 executor pod names in a row are taken"), 1)
		if n := len(s.server.Calls("create", "pods")); n > 135 || n < 101 {
			t.Errorf("%d creates in thirty seconds", n)
		}
		wait(time.Minute)
		want(t, "executors", len(s.executors()), 1)
	})
}

// E182: with the difference off, Spark 4.2 counts refused creates as failures.
func TestRefusedCreatesE182(t *testing.T) {
	within(t, map[string]string{"spark.kubespark.stock": "refused-creates"}, func(t *testing.T, s *spark) {
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Name: "", Status: 500, Reason: "InternalError", Times: 1})
		s.launch(3)
		wait(10 * time.Second)
		want(t, "executors", len(s.ids()), 3)
		want(t, "said", s.logged("ERROR Failed to create executor pod"), 1)
		want(t, "count", s.logged("Total failures: 1"), 1)
	})
}

// E184: two refusals and then a pod: nothing ends, nor do three more refusals end it. E189: no namespace. E190: a webhook
// that is down for a minute.
func TestRefusalsE184E189E190(t *testing.T) {
	invalid := kubetest.Fault{Verb: "create", Resource: "pods", Status: 422, Reason: "Invalid", Message: "spec.x is wrong", Times: 2}
	within(t, nil, func(t *testing.T, s *spark) {
		s.server.Fail(invalid)
		s.launch(1)
		wait(30 * time.Second)
		want(t, "executors", len(s.ids()), 1)
		invalid.Times = 3
		s.server.Fail(invalid)
		s.target(2)
		wait(2 * time.Minute)
		want(t, "executors", len(s.ids()), 2)
		want(t, "exits", len(s.exits), 0)
	})
	within(t, nil, func(t *testing.T, s *spark) {
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Status: 404, Reason: "NotFound", Message: `namespaces "default" not found`})
		s.launch(2)
		wait(time.Minute)
		want(t, "exits E189", len(s.exits), 1)
		if n := len(s.server.Calls("create", "pods")); n < 3 {
			t.Errorf("%d creates", n)
		}
	})
	within(t, nil, func(t *testing.T, s *spark) {
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Status: 500, Reason: "InternalError", Message: "failed calling webhook"})
		s.launch(2)
		wait(time.Minute)
		s.server.Heal()
		wait(time.Minute)
		want(t, "executors E190", len(s.ids()), 2)
		want(t, "exits E190", len(s.exits), 0)
	})
}

// E188: executors that die at their start: creation slows down, and the limit ends the application at the 21st.
func TestStartFailuresE188(t *testing.T) {
	within(t, map[string]string{"spark.executor.maxNumFailures": "20"}, func(t *testing.T, s *spark) {
		s.registers = false
		k := s.kubelet(time.Second, 100*time.Millisecond)
		k.Runs = func(pod kubetest.Object) {
			name := kubetest.Text(pod, "metadata", "name")
			time.AfterFunc(3*time.Second, func() { s.server.Finish(ns, name, 1, "Error") })
		}
		s.launch(5)
		wait(time.Minute)
		if n := len(s.server.Calls("create", "pods")); n > 20 {
			t.Errorf("%d creates in the first minute", n)
		}
		wait(30 * time.Minute)
		want(t, "exits", len(s.exits), 1)
		turns := s.turns.Load()
		if wait(10 * time.Minute); s.turns.Load()-turns > 100 { // nothing is left to decide
			t.Errorf("the manager woke %d times in ten minutes after the end", s.turns.Load()-turns)
		}
		counted := 0
		for _, r := range s.removals() {
			if r["countsAsFailure"] == true {
				counted++
			}
		}
		want(t, "failures", counted >= 21, true)
		if len(s.exits) == 1 {
			want(t, "code", s.exits[0]["code"], any(11.0))
		}
	})
}
