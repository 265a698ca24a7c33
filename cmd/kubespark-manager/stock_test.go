package main

import (
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/kubetest"
)

func likeStock(names string, more ...string) map[string]string {
	return paced(append(more, "spark.kubespark.stock", names)...)
}

// E134: allocation.maximum, as its documentation says it and as stock does it.
func TestMaximumE134(t *testing.T) {
	for names, pods := range map[string]int{"": 4, "allocation-maximum": 3} {
		within(t, likeStock(names, "spark.kubernetes.allocation.maximum", "4"), func(t *testing.T, s *spark) {
			s.launch(10)
			wait(10 * time.Minute)
			want(t, "executors with "+names, len(s.ids()), pods)
			want(t, "errors", s.logged("ERROR Exceed the pod creation limit:"), 1)
		})
	}
}

// E184: like stock, refusals never end the application.
func TestPermanentRefusalsLikeStock(t *testing.T) {
	within(t, likeStock("permanent-refusals"), func(t *testing.T, s *spark) {
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Status: 422, Reason: "Invalid", Message: "no"})
		s.launch(2)
		wait(10 * time.Minute)
		want(t, "exits", len(s.exits), 0)
		s.server.Heal()
		wait(time.Minute)
		want(t, "executors", len(s.ids()), 2)
	})
}

// E159: of excess pods the unscheduled and the youngest go first; like stock, in the order of their ids.
func TestTrimOrderE159(t *testing.T) {
	for names, left := range map[string][]int{"": {1, 2}, "trim-order": {2, 3}} {
		within(t, likeStock(names), func(t *testing.T, s *spark) {
			s.launch(1)
			wait(time.Second)
			s.server.Update("pods", ns, podName(1), func(o kubetest.Object) { o["spec"].(kubetest.Object)["nodeName"] = "n" })
			s.target(2)
			wait(2 * time.Second)
			s.target(3)
			wait(30 * time.Second)
			s.target(2)
			wait(3 * time.Second)
			want(t, "executors with "+names, s.ids(), left)
		})
	}
}

// With every difference off an application still gets its executors, and replaces those it loses.
func TestAllLikeStock(t *testing.T) {
	within(t, likeStock("all"), func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(12)
		wait(10 * time.Second)
		want(t, "executors", len(s.ids()), 12)
		s.server.Finish(ns, podName(3), 1, "Error")
		s.server.Remove("pods", ns, podName(4))
		wait(10 * time.Second)
		want(t, "executors in the end", len(s.ids()), 12)
		want(t, "removals", len(s.removals()), 2)
	})
}
