package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/kubetest"
)

// E240: the manager dies between a denial and the delete: the executor stays denied and its pod goes after the restart.
func TestRestartAfterDenyE240(t *testing.T) {
	within(t, paced(), func(t *testing.T, s *spark) {
		s.launch(3)
		wait(15 * time.Second)
		s.server.Fail(kubetest.Fault{Verb: "delete", Resource: "pods", Hang: true})
		s.target(2)
		wait(time.Second)
		s.mu.Lock()
		want(t, "denied", s.denied, map[string]bool{"3": true})
		s.mu.Unlock()
		s.crash()
		s.server.Heal()
		s.launch(2)
		wait(3 * time.Second)
		want(t, "executors", s.ids(), []int{1, 2})
		s.mu.Lock()
		want(t, "denied in the end", len(s.denied), 0)
		s.mu.Unlock()
	})
}

// E241: failures of before a restart count on.
func TestFailuresAfterRestartE241(t *testing.T) {
	conf := map[string]string{"spark.executor.maxNumFailures": "20", "spark.kubespark.stock": "start-delay"}
	within(t, conf, func(t *testing.T, s *spark) {
		s.kubelet(100*time.Millisecond, 100*time.Millisecond)
		s.launch(1)
		fail := func(n int) {
			for range n {
				wait(2 * time.Second)
				s.server.Finish(ns, podName(slices.Max(s.ids())), 1, "Error")
			}
			wait(2 * time.Second)
		}
		fail(15)
		s.crash()
		s.launch(1)
		fail(5)
		want(t, "exits at the twentieth", len(s.exits), 0)
		fail(1)
		want(t, "exits at the twenty-first", len(s.exits), 1)
	})
}

// E243: while the first list after a restart takes its time, nothing is created and nobody is missed.
func TestSlowFirstListE243(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(5)
		wait(5 * time.Second)
		creates := len(s.server.Calls("create", "pods"))
		s.crash()
		s.server.Fail(kubetest.Fault{Verb: "list", Resource: "pods", Delay: 8 * time.Second})
		s.launch(5) // returns when the list is there
		want(t, "creates", len(s.server.Calls("create", "pods")), creates)
		wait(time.Minute)
		want(t, "creates later", len(s.server.Calls("create", "pods")), creates)
		want(t, "removals", len(s.removals()), 0)
		want(t, "executors", len(s.ids()), 5)
	})
}

// E247: targets that were set while the manager was away: the newest holds.
func TestNewestTargetE247(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(5 * time.Second)
		s.crash()
		s.mu.Lock()
		s.totals["0"] = 4
		s.mu.Unlock()
		s.launch(4)
		wait(5 * time.Second)
		want(t, "executors", len(s.ids()), 4)
	})
}

// E252: registrations and denials race: no executor is both registered and deleted by us.
func TestDenyRaceE252(t *testing.T) {
	for seed := range uint64(size(20, 500)) {
		within(t, map[string]string{"spark.dynamicAllocation.executorIdleTimeout": "1s"}, func(t *testing.T, s *spark) {
			rng := rand.New(rand.NewPCG(seed, 1))
			s.launch(20)
			wait(2 * time.Second)
			s.answers = time.Duration(rng.IntN(50)) * time.Millisecond
			for id := 1; id <= 20; id++ {
				time.AfterFunc(time.Duration(rng.IntN(100))*time.Millisecond, func() {
					s.mu.Lock()
					denied := s.denied[s.name(id)]
					s.mu.Unlock()
					if !denied && s.server.Get("pods", ns, podName(id)) != nil {
						s.register(id)
					}
				})
			}
			s.target(0)
			wait(10 * time.Second)
			s.mu.Lock()
			registered := len(s.known)
			s.mu.Unlock()
			want(t, "those that registered stay, the others go", len(s.ids()), registered)
		})
	}
}

// E192: half an hour of trouble: executors are killed, calls are slow and fail; in the end the cluster is as wanted.
func TestTroubleE192(t *testing.T) {
	conf := claimConf(map[string]string{"spark.executor.maxNumFailures": "100000", "spark.kubespark.stock": "start-delay"})
	within(t, conf, func(t *testing.T, s *spark) {
		rng := rand.New(rand.NewPCG(192, 1))
		s.server.KeepCalls(false)
		s.kubelet(2*time.Second, time.Second)
		executors := size(100, 1000)
		s.launch(executors)
		for range 30 {
			wait(time.Minute)
			s.server.Heal()
			for range 3 {
				s.server.Fail(kubetest.Fault{Verb: []string{"create", "delete", "get", "list"}[rng.IntN(4)], Status: 500,
					Reason: "InternalError", Message: "trouble", Times: 1 + rng.IntN(3)})
			}
			s.server.Fail(kubetest.Fault{Verb: "create", Delay: time.Duration(50+rng.IntN(450)) * time.Millisecond})
			if rng.IntN(3) == 0 {
				s.server.DropWatches()
			}
			if rng.IntN(6) == 0 {
				s.server.ExpireWatches()
			}
			ids := s.ids()
			for range executors / 20 {
				id := ids[rng.IntN(len(ids))]
				if rng.IntN(2) == 0 {
					s.server.Finish(ns, podName(id), 137, "Error")
				} else {
					s.server.Remove("pods", ns, podName(id))
				}
			}
			s.mounts()
		}
		s.server.Heal()
		wait(3 * time.Minute)
		want(t, "executors", len(s.ids()), executors)
		want(t, "registered", s.registered(), executors)
		want(t, "exits", len(s.exits), 0)
		if n := len(s.claimNames()); n > executors+executors/3 {
			t.Errorf("%d claims for %d executors", n, executors)
		}
		s.stop()
		wait(3 * time.Second)
		want(t, "executors in the end", len(s.ids())+len(s.claimNames()), 0)
	})
}

// E111: a thousand pods that end at once are cleaned up within ten seconds, one delete each.
func TestManyEndsE111(t *testing.T) {
	conf := map[string]string{"spark.executor.maxNumFailures": "100000"}
	within(t, conf, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, 100*time.Millisecond)
		pods := size(500, 1000)
		s.launch(pods)
		wait(20 * time.Second)
		s.server.Fail(kubetest.Fault{Verb: "delete", Delay: 100 * time.Millisecond})
		s.target(0)
		for id := range s.executors() {
			s.server.Finish(ns, podName(id), 0, "Completed")
		}
		wait(10 * time.Second)
		want(t, "deletes", len(s.server.Calls("delete", "pods")), pods)
		want(t, "executors", len(s.ids()), 0)
	})
}

// E065: with lists from the cache, one that is older than the last is not taken.
func TestOlderListE065(t *testing.T) {
	conf := map[string]string{noWatch: "false", interval: "30s", "spark.kubernetes.executor.enablePollingWithResourceVersion": "true"}
	within(t, conf, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(2 * time.Minute)
		for _, c := range s.server.Calls("list", "pods")[1:] {
			if c.Query == "" {
				t.Error("a list without a query")
			}
		}
		want(t, "executors", len(s.ids()), 2)
	})
}

// E256: the driver does nothing for a minute while executors die and the target changes; afterwards all is as it should be.
func TestPausedDriverE256(t *testing.T) { // E256
	within(t, nil, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(5)
		wait(5 * time.Second)
		s.pause <- struct{}{}
		s.server.Finish(ns, podName(2), 52, "Error")
		wait(time.Minute)
		want(t, "removals in the pause", len(s.removals()), 0)
		<-s.pause
		s.target(7)
		wait(10 * time.Second)
		want(t, "removals", len(s.removals()), 1)
		want(t, "executors", len(s.ids()), 7)
		want(t, "exits", len(s.exits), 0)
	})
}
