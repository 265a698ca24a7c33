package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubespark/kubespark/internal/kubetest"
)

const (
	noWatch  = "spark.kubernetes.executor.enableApiWatcher"
	noPoll   = "spark.kubernetes.executor.enableApiPolling"
	interval = "spark.kubernetes.executor.apiPollingInterval"
)

// E061, E063, E066, E077: a source that is off makes no call; with both off that is said. Each source is started once.
func TestSourcesOffE061E063E066E077(t *testing.T) {
	for _, tc := range []struct {
		conf           map[string]string
		watches, lists bool
		said           int
	}{
		{map[string]string{noWatch: "false"}, false, true, 0},
		{map[string]string{noPoll: "false", interval: "30s"}, true, false, 0},
		{map[string]string{noPoll: "false", noWatch: "false"}, false, false, 1},
	} {
		within(t, tc.conf, func(t *testing.T, s *spark) {
			s.launch(1)
			wait(5 * time.Minute)
			want(t, "watches", len(s.server.Calls("watch", "pods")) > 0, tc.watches)
			want(t, "lists besides the first", len(s.server.Calls("list", "pods")) > 1, tc.lists)
			want(t, "warnings", s.logged("the end of an executor pod will not be noticed"), tc.said)
			if answer := s.call("session.start", object{"conf": s.conf, "defaultProfile": profile(), "initialTarget": 1}); answer["error"] == nil {
				t.Error("a session was started twice")
			}
		})
	}
}

// E067, E082: each path names the namespace and our pods; a crowd of foreign pods is never read.
func TestForeignPodsE067E082(t *testing.T) {
	within(t, map[string]string{interval: "30s"}, func(t *testing.T, s *spark) {
		for i := range 2000 {
			s.server.Put("pods", kubetest.Object{"kind": "Pod", "apiVersion": "v1", "metadata": kubetest.Object{"name": fmt.Sprint("f", i),
				"namespace": ns, "labels": kubetest.Object{"spark-app-selector": "other", "spark-role": "executor", "spark-exec-id": fmt.Sprint(i + 1)}}})
		}
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(2 * time.Minute)
		for _, verb := range []string{"list", "watch"} {
			for _, c := range s.server.Calls(verb, "pods") {
				if c.Namespace != ns || !strings.Contains(c.Query, "spark-app-selector%3D"+appID) ||
					!strings.Contains(c.Query, "spark-role%3Dexecutor") || !strings.Contains(c.Query, "spark-exec-inactive%21%3Dtrue") {
					t.Errorf("%s of %q with %s", verb, c.Namespace, c.Query)
				}
			}
		}
		want(t, "removals", len(s.removals()), 0)
		want(t, "deletes", len(s.server.Calls("delete", "pods")), 0)
	})
}

// E075: an hour with a healthy watch needs no list; stock's way makes one every thirty seconds.
func TestListsInAnHourE075(t *testing.T) {
	for stock, most := range map[string]int{"": 1, "safety-list": 125} {
		within(t, map[string]string{"spark.kubespark.stock": stock}, func(t *testing.T, s *spark) {
			s.kubelet(time.Second, time.Second)
			s.launch(3)
			wait(time.Hour)
			if n := len(s.server.Calls("list", "pods")); n > most || (stock != "" && n < 100) {
				t.Errorf("%d lists with %q", n, stock)
			}
			if w := len(s.server.Calls("watch", "pods")); w > 14 {
				t.Errorf("%d watches", w)
			}
		})
	}
}

// E280: many drivers whose executors work make hardly any lists: none in ten minutes, and one watch each that is opened again
// at most twice.
func TestManyDriversE280(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drivers := make([]*spark, size(20, 500))
		for i := range drivers {
			drivers[i] = newSpark(t, nil)
			drivers[i].kubelet(time.Second, time.Second)
			drivers[i].launch(40)
		}
		wait(20 * time.Second)
		count := func() (lists, watches, executors int) {
			for _, s := range drivers {
				lists += len(s.server.Calls("list", ""))
				watches += len(s.server.Calls("watch", ""))
				executors += s.registered()
			}
			return lists, watches, executors
		}
		listsBefore, watchesBefore, executors := count()
		want(t, "executors", executors, 40*len(drivers))
		wait(10 * time.Minute)
		lists, watches, _ := count()
		want(t, "lists in ten minutes", lists-listsBefore, 0) // two a second would be allowed
		if n := watches - watchesBefore; n < len(drivers) || n > 2*len(drivers) {
			t.Errorf("%d watches were opened by %d drivers", n, len(drivers))
		}
		for _, s := range drivers {
			s.crash()
			s.server.DropWatches()
		}
	})
}

// E078: a pod whose creation was answered counts at once, without any source. With creation-gate it does not.
func TestAnswerIsVisibleE078(t *testing.T) {
	conf := map[string]string{noWatch: "false", noPoll: "false", "spark.kubernetes.allocation.batch.size": "2"}
	within(t, conf, func(t *testing.T, s *spark) {
		s.launch(6)
		wait(10 * time.Second)
		want(t, "executors", len(s.ids()), 6)
		wait(time.Hour)
		want(t, "executors after an hour", len(s.ids()), 6)
	})
	conf["spark.kubespark.stock"] = "creation-gate"
	within(t, conf, func(t *testing.T, s *spark) {
		s.launch(6)
		wait(10 * time.Minute)
		want(t, "executors of the first batch", s.ids(), []int{1, 2})
		wait(5 * time.Second)
		want(t, "after the creation timeout", s.ids(), []int{3, 4})
		want(t, "said", s.logged("were not detected in the Kubernetes cluster after 600000 ms"), 1)
	})
}

// E044, E097: a pod that is force-deleted while it runs is noticed at once, with polling off too.
func TestForceDeletedE044E097(t *testing.T) {
	within(t, map[string]string{noPoll: "false"}, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(5 * time.Second)
		s.server.Remove("pods", ns, podName(2))
		wait(100 * time.Millisecond)
		want(t, "removals", len(s.removals()), 1)
	})
}

// E079: a pod that is labelled inactive leaves the watch with DELETED, and that is no deletion.
func TestInactiveLabelE079E087E088(t *testing.T) {
	within(t, map[string]string{"spark.kubernetes.executor.deleteOnTermination": "false"}, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(5 * time.Second)
		s.server.Finish(ns, podName(1), 1, "Error")
		wait(10 * time.Second)
		want(t, "removals", len(s.removals()), 1)
		want(t, "code", s.removals()[0]["code"], any(1.0))
		want(t, "patches", len(s.server.Calls("patch", "pods")), 1)
		want(t, "deletes", len(s.server.Calls("delete", "pods")), 0)
		want(t, "label", kubetest.Labels(s.executors()[1])["spark-exec-inactive"], "true")
		want(t, "executors", s.ids(), []int{1, 2, 3})
		s.server.Update("pods", ns, podName(1), func(o kubetest.Object) { o["status"].(kubetest.Object)["message"] = "again" })
		wait(10 * time.Second) // E088
		want(t, "removals in the end", len(s.removals()), 1)
		want(t, "marked", s.logged("DEBUG Marking executor "+podName(1)+" as inactive since deletion is disabled."), 1)
	})
}

// E071: a watch that is open and silent is replaced, and what happened meanwhile is learnt.
func TestSilentWatchE071(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(5 * time.Second)
		s.server.Fail(kubetest.Fault{Verb: "watch", Hang: true, Times: 1})
		s.server.DropWatches()
		wait(time.Second)
		s.server.Finish(ns, podName(1), 52, "Error")
		wait(3 * time.Minute)
		want(t, "removals", len(s.removals()), 1)
		want(t, "executors", s.ids(), []int{2, 3})
	})
}

// E080: without the right to watch, lists every thirty seconds.
func TestNoRightToWatchE080(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.server.Fail(kubetest.Fault{Verb: "watch", Resource: "pods", Status: 403, Reason: "Forbidden", Message: "no"})
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(31 * time.Second)
		s.server.Finish(ns, podName(1), 52, "Error")
		wait(31 * time.Second)
		want(t, "removals", len(s.removals()), 1)
		want(t, "warnings", s.logged("may not watch pods"), 1)
	})
}

// E096: a pause of the driver is no reason to miss anybody: the list of before the pause counts from its start.
func TestPausedE096E256(t *testing.T) {
	conf := map[string]string{noWatch: "false", interval: "30s"}
	within(t, conf, func(t *testing.T, s *spark) {
		s.server.Fail(kubetest.Fault{Verb: "list", Resource: "pods"})
		s.launch(1)
		wait(time.Second)
		s.run(1)
		s.server.Heal()
		s.server.Fail(kubetest.Fault{Verb: "list", Resource: "pods", Delay: 8 * time.Second, Times: 1})
		wait(30 * time.Second) // the list is on its way
		s.register(1)
		wait(2 * time.Minute)
		want(t, "removals", len(s.removals()), 0)
	})
}

// Section 14.4: the pushed view of Spark's executors is compared with its own table every five minutes.
func TestKnownIsChecked(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(11 * time.Minute)
		if s.lists < 2 || s.lists > 3 {
			t.Errorf("the table was asked for %d times in eleven minutes", s.lists)
		}
	})
}

// E094: the news of one executor says nothing about another.
func TestOneOfTwoE094(t *testing.T) {
	within(t, map[string]string{noPoll: "false"}, func(t *testing.T, s *spark) {
		s.launch(2)
		wait(time.Second)
		s.register(1, 2)
		s.run(1)
		wait(30 * time.Minute)
		want(t, "removals", len(s.removals()), 0)
	})
}
