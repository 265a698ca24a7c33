//go:build e2e

package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Stage-level scheduling with real executors: a second resource profile gets executors of its own, with more memory and a
// device that a script finds. The node has two devices: a third executor pends, and is taken back when it is not wanted.
func TestTwoResourceProfiles(t *testing.T) {
	j := newJob(t).withApps().with(byNeed...)
	h := j.record()
	j.submit("local:///apps/profiles.py", "/signals", "3")
	j.signal("plain")
	j.waitForSignal("plained")
	eventually(t, 2*time.Minute, "two executors with a device work, a third one pends", func() (bool, string) {
		var running, pending int
		for _, p := range j.pods("spark-role=executor,spark-exec-resourceprofile-id=1") {
			if isRunning(&p) {
				running++
			} else if c := condition(&p, corev1.PodScheduled); c.Reason == corev1.PodReasonUnschedulable {
				pending++
			}
		}
		working := len(j.said("task-*"))
		return running == 2 && pending == 1 && working == 2, fmt.Sprintf("%d run, %d pend, %d tasks", running, pending, working)
	})
	for _, p := range j.pods("spark-role=executor,spark-exec-resourceprofile-id=1") {
		has := p.Spec.Containers[0].Resources.Limits
		if gpu, memory := has["example.com/gpu"], has.Memory(); gpu.Value() != 1 || memory.Value() != (768+384)<<20 {
			t.Errorf("pod %s has the limits %v", p.Name, has)
		}
	}
	j.signal("release")
	j.exits(0)
	second := h.ever(func(p *corev1.Pod) bool { return p.Labels["spark-exec-resourceprofile-id"] == "1" })
	first := h.ever(func(p *corev1.Pod) bool { return p.Labels["spark-exec-resourceprofile-id"] == "0" })
	if len(second) != 3 || len(first) == 0 || slices.ContainsFunc(first, func(id int) bool { return slices.Contains(second, id) }) {
		t.Errorf("executors of the profiles: %v and %v", first, second)
	}
	ran := regexp.MustCompile(`accelerated task ran on (\S+) with 768m and gpu (\S+)`).FindAllStringSubmatch(j.driverLog(), -1)
	if len(ran) != 2 {
		t.Errorf("%d executors ran the accelerated tasks: %v", len(ran), ran)
	}
	for _, m := range ran {
		if m[2] != "of-"+m[1] {
			t.Errorf("a task on %s was given the device %s", m[1], m[2])
		}
	}
	j.leavesNothing()
}

func condition(p *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}
