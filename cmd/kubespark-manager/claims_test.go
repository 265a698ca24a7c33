package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/kubetest"
)

const volume = "spark.kubernetes.executor.volumes.persistentVolumeClaim.spark-local-dir-1."

// claimConf asks for one on-demand claim per executor.
func claimConf(more map[string]string) map[string]string {
	c := map[string]string{volume + "options.claimName": "OnDemand", volume + "options.storageClass": "gp2",
		volume + "options.sizeLimit": "200Gi", volume + "mount.path": "/data/spark-x/executor-x", "spark.executor.instances": "2"}
	maps.Copy(c, more)
	return c
}

// put stores a claim of the application.
func (s *spark) putClaim(name, size string, edit ...func(kubetest.Object)) {
	o := kubetest.Object{"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": kubetest.Object{"name": name, "namespace": ns,
		"labels": kubetest.Object{"spark-app-selector": appID}},
		"spec": kubetest.Object{"storageClassName": "gp2", "accessModes": []any{"ReadWriteOncePod"},
			"resources": kubetest.Object{"requests": kubetest.Object{"storage": size}}}}
	for _, f := range edit {
		f(o)
	}
	s.server.Put("persistentvolumeclaims", o)
}

// mounts maps the executors to the claims they mount, and fails when two pods name one.
func (s *spark) mounts() map[int]string {
	out, by := map[int]string{}, map[string]int{}
	for id, p := range s.executors() {
		volumes, _ := p["spec"].(kubetest.Object)["volumes"].([]any)
		for _, v := range volumes {
			name := kubetest.Text(v.(kubetest.Object), "persistentVolumeClaim", "claimName")
			if name == "" {
				continue
			}
			if other, ok := by[name]; ok {
				s.t.Errorf("the claim %s is mounted by executors %d and %d", name, other, id)
			}
			by[name], out[id] = id, name
		}
	}
	return out
}

func (s *spark) claimNames() []string {
	names := []string{}
	for _, c := range s.server.List("persistentvolumeclaims") {
		names = append(names, kubetest.Text(c, "metadata", "name"))
	}
	return names
}

// E162, E163, E167, E171, E178, E179, E180: a free claim is mounted instead of a new one; the driver owns new ones.
func TestReuseE162(t *testing.T) {
	for _, tc := range []struct {
		name  string
		put   func(s *spark)
		conf  map[string]string
		mount string
	}{
		{"free E162", func(s *spark) { s.putClaim("pvc-0", "200Gi") }, nil, "pvc-0"},
		{"from the future E171", func(s *spark) {
			s.putClaim("pvc-0", "200Gi", func(o kubetest.Object) {
				o["metadata"].(kubetest.Object)["creationTimestamp"] = time.Now().Add(15 * time.Minute).UTC().Format(time.RFC3339)
			})
		}, nil, "pvc-0"},
		{"stock's age E163", func(s *spark) { s.putClaim("pvc-0", "200Gi") }, map[string]string{"spark.kubespark.stock": "claim-age"},
			podName(1) + "-pvc-0"},
		{"smallest E167", func(s *spark) { s.putClaim("a", "300Gi"); s.putClaim("b", "250Gi"); s.putClaim("c", "100Gi") }, nil, "b"},
		{"the driver's E179", func(s *spark) {
			s.putClaim("d", "200Gi")
			s.server.Update("pods", ns, "driver", func(o kubetest.Object) {
				o["spec"] = kubetest.Object{"volumes": []any{kubetest.Object{"name": "v", "persistentVolumeClaim": kubetest.Object{"claimName": "d"}}}}
			})
		}, nil, podName(1) + "-pvc-0"},
		{"being deleted E179", func(s *spark) {
			s.putClaim("pvc-0", "200Gi", func(o kubetest.Object) {
				o["metadata"].(kubetest.Object)["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
			})
		}, nil, podName(1) + "-pvc-0"},
		{"access mode E180", func(s *spark) {
			s.putClaim("m", "200Gi", func(o kubetest.Object) { o["spec"].(kubetest.Object)["accessModes"] = []any{"ReadWriteMany"} })
		}, nil, podName(1) + "-pvc-0"},
		{"reuse off", func(s *spark) { s.putClaim("pvc-0", "200Gi") },
			map[string]string{"spark.kubernetes.driver.reusePersistentVolumeClaim": "false"}, podName(1) + "-pvc-0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			within(t, claimConf(tc.conf), func(t *testing.T, s *spark) {
				tc.put(s)
				before := len(s.claimNames())
				s.launch(1)
				wait(time.Second)
				want(t, "mounted", s.mounts(), map[int]string{1: tc.mount})
				made := len(s.claimNames()) - before
				want(t, "made", made == 1, tc.mount == podName(1)+"-pvc-0")
				for _, c := range s.server.List("persistentvolumeclaims") { // E178
					if owners, _ := c["metadata"].(kubetest.Object)["ownerReferences"].([]any); made == 1 &&
						strings.HasPrefix(kubetest.Text(c, "metadata", "name"), prefix) {
						want(t, "owner", owners[0].(kubetest.Object)["name"], any("driver"))
					}
				}
				if strings.Contains(tc.name, "E180") {
					want(t, "said", s.logged("PersistentVolumeClaim m is free, but its access modes"), 1)
				}
			})
		})
	}
}

// E178: without the driver's ownership the executor's pod owns its claim, and none is reused.
func TestExecutorOwnsClaimE178(t *testing.T) {
	conf := claimConf(map[string]string{"spark.kubernetes.driver.ownPersistentVolumeClaim": "false"})
	within(t, conf, func(t *testing.T, s *spark) {
		s.putClaim("pvc-0", "200Gi")
		s.launch(1)
		wait(time.Second)
		want(t, "mounted", s.mounts(), map[int]string{1: podName(1) + "-pvc-0"})
		c := s.server.Get("persistentvolumeclaims", ns, podName(1)+"-pvc-0")
		owners, _ := c["metadata"].(kubetest.Object)["ownerReferences"].([]any)
		want(t, "owner", owners[0].(kubetest.Object)["name"], any(podName(1)))
		want(t, "lists", len(s.server.Calls("list", "persistentvolumeclaims")), 0)
	})
}

// E168, E172, E269, E270: claims of living executors are not given out, that of a dead one goes to its successor at the same
// path, and at stop all claims go, after the pods.
func TestClaimOfDeadExecutorE172(t *testing.T) {
	within(t, claimConf(nil), func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(20 * time.Minute)
		s.target(3) // E168: during a quiet second
		wait(3 * time.Second)
		want(t, "three claims", len(s.claimNames()), 3)
		held := s.mounts()[1]
		s.server.Finish(ns, podName(1), 137, "Error")
		wait(10 * time.Second)
		want(t, "executors", s.ids(), []int{2, 3, 4})
		want(t, "the successor's claim", s.mounts()[4], held)
		want(t, "claims", len(s.claimNames()), 3)
		want(t, "reuse said", s.logged("Reuse PersistentVolumeClaim "+held), 1)
		volumes, _ := s.executors()[4]["spec"].(kubetest.Object)["containers"].([]any)[0].(kubetest.Object)["volumeMounts"].([]any)
		path := slices.ContainsFunc(volumes, func(v any) bool { return v.(kubetest.Object)["mountPath"] == "/data/spark-x/executor-x" })
		want(t, "same path", path, true)
		s.stop()
		wait(2 * time.Second)
		want(t, "claims in the end", len(s.claimNames()), 0)
		want(t, "executors in the end", len(s.ids()), 0)
	})
}

// E164: without the right to list claims allocation goes on.
func TestNoRightToListClaimsE164(t *testing.T) {
	within(t, claimConf(nil), func(t *testing.T, s *spark) {
		s.server.Fail(kubetest.Fault{Verb: "list", Resource: "persistentvolumeclaims", Status: 403, Reason: "Forbidden", Message: "no"})
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(3 * time.Second)
		s.target(4)
		wait(3 * time.Second)
		want(t, "executors", len(s.ids()), 4)
		want(t, "said", s.logged("Cannot list PVC resources. Please check account permissions."), 1)
	})
}

// E165, E174: in wait mode no claim is made beyond the maximum, and waiting asks for nothing; a claim that is gone makes room.
func TestWaitModeE165E174(t *testing.T) {
	conf := claimConf(map[string]string{"spark.kubernetes.driver.waitToReusePersistentVolumeClaim": "true"})
	within(t, conf, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(5 * time.Second)
		want(t, "executors", len(s.ids()), 2)
		s.target(3)
		wait(5 * time.Second)
		calls := len(s.server.Calls("", "")) - len(s.server.Calls("watch", ""))
		wait(4 * time.Minute)
		want(t, "executors while waiting", len(s.ids()), 2)
		want(t, "calls while waiting", len(s.server.Calls("", ""))-len(s.server.Calls("watch", "")), calls)
		if n := s.logged("Wait to reuse one of the existing 2 PVCs."); n < 1 || n > 5 {
			t.Errorf("waiting was said %d times", n)
		}
		s.target(1)
		s.command("executors.kill", object{"ids": []string{"2"}, "graceMs": 1000, "issuedAt": time.Now().UnixMilli()})
		s.forget("killed", 2)
		wait(5 * time.Second)
		held := s.mounts()[1]
		for _, name := range s.claimNames() { // by hand
			if name != held {
				s.server.Remove("persistentvolumeclaims", ns, name)
			}
		}
		s.target(2)
		wait(5 * time.Second)
		want(t, "executors with a new claim", len(s.ids()), 2)
		want(t, "claims", len(s.claimNames()), 2)
	})
}

// E175: two claims each do not halve the executors.
func TestTwoClaimsEachE175(t *testing.T) {
	second := strings.Replace(volume, "dir-1", "dir-2", 1)
	conf := claimConf(map[string]string{"spark.kubernetes.driver.waitToReusePersistentVolumeClaim": "true", "spark.executor.instances": "4",
		second + "options.claimName": "OnDemand", second + "options.storageClass": "gp2", second + "options.sizeLimit": "1Gi", second + "mount.path": "/d2"})
	within(t, conf, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(4)
		wait(5 * time.Second)
		want(t, "executors", len(s.ids()), 4)
		want(t, "claims", len(s.claimNames()), 8)
	})
}

// E166, E176: a pod whose claim is refused goes again, at last also when its first delete fails.
func TestRefusedClaimE166E176(t *testing.T) {
	within(t, claimConf(nil), func(t *testing.T, s *spark) {
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "persistentvolumeclaims", Status: 403, Reason: "Forbidden",
			Message: "exceeded quota: claims", Times: 1})
		s.server.Fail(kubetest.Fault{Verb: "delete", Resource: "pods", Status: 500, Reason: "InternalError", Message: "no", Times: 1})
		s.launch(1)
		wait(500 * time.Millisecond)
		want(t, "said", s.logged("exceeded quota: claims"), 1)
		wait(30 * time.Second)
		want(t, "executors", s.ids(), []int{2})
		want(t, "claims", s.claimNames(), []string{podName(2) + "-pvc-0"})
		want(t, "exits", len(s.exits), 0)
	})
}

// E170: one free claim and two profiles in one round: one of them gets it.
func TestTwoProfilesOneClaimE170(t *testing.T) {
	within(t, claimConf(nil), func(t *testing.T, s *spark) {
		s.launch(0)
		s.putClaim("pvc-0", "200Gi")
		s.wants(map[int]int{0: 1, 7: 1})
		wait(time.Second)
		mounts := slices.Sorted(maps.Values(s.mounts()))
		want(t, "mounted", mounts, []string{mounts[0], "pvc-0"})
		want(t, "one list", len(s.server.Calls("list", "persistentvolumeclaims")), 1)
	})
}

// E173, E177: no claim is listed when none can be made; a claim of the user's is mounted by all.
func TestStaticClaimsE173E177(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.launch(2)
		wait(time.Minute)
		want(t, "lists", len(s.server.Calls("list", "persistentvolumeclaims")), 0)
	})
	data := strings.Replace(volume, "spark-local-dir-1", "data", 1)
	conf := map[string]string{volume + "options.claimName": "shared", volume + "mount.path": "/s",
		data + "options.claimName": "data-SPARK_EXECUTOR_ID", data + "mount.path": "/d"}
	within(t, conf, func(t *testing.T, s *spark) {
		s.launch(2)
		wait(time.Second)
		for id, p := range s.executors() {
			text := fmt.Sprint(p["spec"])
			if !strings.Contains(text, "claimName:shared") || !strings.Contains(text, fmt.Sprint("claimName:data-", id)) {
				t.Errorf("executor %d: %s", id, text)
			}
		}
		want(t, "claims made", len(s.claimNames()), 0)
		want(t, "lists", len(s.server.Calls("list", "persistentvolumeclaims")), 0)
	})
}

// E169, E171: while the watch lags and executors die, no claim is in two pods.
func TestLaggingWatchE169(t *testing.T) {
	conf := claimConf(map[string]string{"spark.executor.instances": "20", "spark.executor.maxNumFailures": "1000",
		"spark.kubernetes.executor.enableApiWatcher": "false", "spark.kubernetes.executor.apiPollingInterval": "60s"})
	within(t, conf, func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.launch(20)
		for i := range 10 {
			wait(20 * time.Second)
			s.server.Finish(ns, podName(i+1), 1, "Error")
			s.mounts()
		}
		wait(3 * time.Minute)
		want(t, "executors", len(s.mounts()), 20)
		if n := len(s.claimNames()); n > 30 {
			t.Errorf("%d claims", n)
		}
	})
}

// E238: the manager dies while a create with its claim is under way: nothing is given out for ten seconds, the pod that was
// made gets its claim, and none is shared.
func TestRestartWithClaimsE238(t *testing.T) {
	within(t, claimConf(nil), func(t *testing.T, s *spark) {
		s.kubelet(time.Second, time.Second)
		s.server.Fail(kubetest.Fault{Verb: "create", Resource: "persistentvolumeclaims", Delay: 500 * time.Millisecond})
		s.launch(2)
		wait(100 * time.Millisecond) // the pods are there, their claims are not
		s.crash()
		s.server.Heal()
		for _, name := range s.claimNames() {
			s.server.Remove("persistentvolumeclaims", ns, name)
		}
		s.putClaim("free", "200Gi")
		s.launch(2)
		wait(2 * time.Second)
		for _, name := range s.mounts() {
			if !slices.Contains(s.claimNames(), name) {
				t.Errorf("the claim %s does not exist", name)
			}
		}
		s.target(3)
		wait(2 * time.Second)
		if slices.Contains(slices.Collect(maps.Values(s.mounts())), "free") {
			t.Error("a claim was given out within ten seconds of a restart")
		}
		wait(10 * time.Second)
		s.target(4)
		wait(2 * time.Second)
		if !slices.Contains(slices.Collect(maps.Values(s.mounts())), "free") {
			t.Errorf("the free claim was not used: %v", s.mounts())
		}
	})
}
