package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/kubetest"
)

// controller is the controller of StatefulSets and Deployments and a kubelet for their pods: what is wanted is made, runs
// at once, and asks the driver for an id, as an executor with the id EXECID does.
type controller struct {
	*spark
	resource string
	next     int // of a Deployment's pod names
	// registersNot: the pods' executors ask for nothing.
	registersNot bool
}

func (s *spark) controller(resource string) *controller {
	c := &controller{spark: s, resource: resource}
	s.server.OnChange(func(verb, changed string, obj kubetest.Object) {
		if changed != resource {
			return
		}
		if verb == "delete" {
			for _, p := range c.podsOf(kubetest.Text(obj, "metadata", "name")) {
				s.server.Remove("pods", ns, p)
			}
			return
		}
		c.reconcile(obj)
	})
	return c
}

func (c *controller) podsOf(set string) []string {
	var names []string
	for _, p := range c.server.List("pods") {
		if n := kubetest.Text(p, "metadata", "name"); strings.HasPrefix(n, set+"-") {
			names = append(names, n)
		}
	}
	// The order in which they go: the highest ordinal last; by deletion cost, the most expensive first.
	slices.SortFunc(names, func(a, b string) int { return c.rank(a) - c.rank(b) })
	return names
}

func (c *controller) rank(pod string) int {
	if c.resource == "deployments" {
		meta := c.server.Get("pods", ns, pod)["metadata"].(kubetest.Object)
		annotations, _ := meta["annotations"].(kubetest.Object)
		cost, _ := strconv.Atoi(fmt.Sprint(annotations["controller.kubernetes.io/pod-deletion-cost"]))
		return -cost
	}
	n, _ := strconv.Atoi(pod[strings.LastIndex(pod, "-")+1:])
	return n
}

func (c *controller) reconcile(set kubetest.Object) {
	spec := set["spec"].(kubetest.Object)
	name, wanted := kubetest.Text(set, "metadata", "name"), int(spec["replicas"].(float64))
	have := c.podsOf(name)
	for i := 0; len(have) < wanted; i++ {
		pod := name + "-" + strconv.Itoa(i)
		if c.resource == "deployments" {
			pod = fmt.Sprintf("%s-6f8d-%05d", name, c.next)
			c.next++
		}
		if slices.Contains(have, pod) {
			continue
		}
		have = append(have, pod)
		t := spec["template"].(kubetest.Object)
		meta := maps.Clone(t["metadata"].(kubetest.Object))
		meta["name"], meta["namespace"] = pod, ns
		c.server.Put("pods", kubetest.Object{"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": t["spec"],
			"status": kubetest.Object{"phase": "Running"}})
		if !c.registersNot {
			c.begin(pod)
		}
	}
	for len(have) > wanted {
		c.server.Remove("pods", ns, have[len(have)-1])
		have = have[:len(have)-1]
	}
}

// begin lets the pod's executor ask for an id and register.
func (c *controller) begin(pod string) string {
	c.mu.Lock()
	id := strconv.Itoa(c.spark.next)
	c.spark.next++
	c.known[id] = time.Now().UnixMilli()
	c.mu.Unlock()
	go func() {
		c.command("execId.assigned", object{"podName": pod, "id": id})
		c.notify("executor.registered", object{"id": id, "host": "h", "profile": 0, "registeredAt": time.Now().UnixMilli()})
	}()
	return id
}

// release lets Spark kill executors, as it does when they are idle: the target first.
func (s *spark) release(target int, ids ...string) {
	s.target(target)
	wait(time.Second)
	s.command("executors.kill", object{"ids": ids, "graceMs": 5000, "issuedAt": time.Now().UnixMilli()})
	for _, id := range ids {
		s.mu.Lock()
		delete(s.known, id)
		s.mu.Unlock()
		s.notify("executor.removed", object{"id": id, "reason": "killed"})
	}
}

// removedIDs are the executors that Spark was told to forget.
func (s *spark) removedIDs() []string {
	var ids []string
	for _, r := range s.removals() {
		ids = append(ids, r["id"].(string))
	}
	slices.Sort(ids)
	return ids
}

func (s *spark) replicas(resource, name string) int {
	set := s.server.Get(resource, ns, name)
	if set == nil {
		return -1
	}
	return int(set["spec"].(kubetest.Object)["replicas"].(float64))
}

func (s *spark) podOf(id string) string {
	for _, p := range s.server.List("pods") {
		if kubetest.Labels(p)["spark-exec-id"] == id {
			return kubetest.Text(p, "metadata", "name")
		}
	}
	return ""
}

const stateful, deployed = "spark-s-" + appID + "-0", "spark-d-" + appID + "-0"

var statefulConf = map[string]string{"spark.kubernetes.allocation.pods.allocator": "statefulset"}

func deploymentConf(more ...string) map[string]string {
	conf := map[string]string{"spark.kubernetes.allocation.pods.allocator": "org.apache.spark.scheduler.cluster.k8s.DeploymentPodsAllocator",
		"spark.kubernetes.executor.podDeletionCost": "-7"}
	for i := 0; i+1 < len(more); i += 2 {
		conf[more[i]] = more[i+1]
	}
	return conf
}

// E003, E193, E194: a StatefulSet per profile, scaled by one call each, deleted at the end; no pod is posted.
func TestStatefulSetsE193E194(t *testing.T) {
	within(t, statefulConf, func(t *testing.T, s *spark) {
		s.controller("statefulsets")
		s.launch(10)
		wait(5 * time.Second)
		want(t, "replicas", s.replicas("statefulsets", stateful), 10)
		set := s.server.Get("statefulsets", ns, stateful)
		spec := set["spec"].(kubetest.Object)
		want(t, "podManagementPolicy", spec["podManagementPolicy"], any("Parallel"))
		want(t, "restartPolicy", kubetest.Text(spec, "template", "spec", "restartPolicy"), "Always")
		want(t, "id in the template", kubetest.Text(spec, "template", "metadata", "labels", "spark-exec-id"), "EXECID")
		want(t, "selector", spec["selector"], any(kubetest.Object{"matchLabels": kubetest.Object{"spark-app-selector": appID,
			"spark-role": "executor", "spark-exec-resourceprofile-id": "0"}}))
		want(t, "posted pods", len(s.server.Calls("create", "pods")), 0)
		want(t, "executors", len(s.ids()), 10)
		s.command("targets.set", object{"totals": object{"0": 20, "420": 2}, "profiles": []any{profileOf(420)}})
		wait(5 * time.Second)
		want(t, "replicas", s.replicas("statefulsets", stateful), 20)
		want(t, "replicas of the other profile", s.replicas("statefulsets", "spark-s-"+appID+"-420"), 2)
		want(t, "creates", len(s.server.Calls("create", "statefulsets")), 2)
		want(t, "scale calls", len(s.server.Calls("patch", "statefulsets")), 1)
		calls := len(s.server.Calls("", ""))
		wait(10 * time.Minute)
		want(t, "calls of an idle driver beside the watch", len(s.server.Calls("", ""))-len(s.server.Calls("watch", ""))-calls+1, 0)
		want(t, "removals", len(s.removals()), 0) // E207: and nobody is denied
		want(t, "left", s.stop(), 0)
		want(t, "sets at the end", len(s.server.List("statefulsets")), 0)
		want(t, "executors at the end", len(s.ids()), 0)
	})
}

// E202: a StatefulSet gives back only its highest ordinals.
func TestOrdinalsE202(t *testing.T) {
	within(t, statefulConf, func(t *testing.T, s *spark) {
		s.controller("statefulsets")
		s.launch(10)
		wait(5 * time.Second)
		id := func(ordinal int) string {
			return kubetest.Labels(s.server.Get("pods", ns, stateful+"-"+strconv.Itoa(ordinal)))["spark-exec-id"]
		}
		two := id(2)
		nine := id(9)
		s.release(8, two, nine)
		wait(time.Second)
		want(t, "replicas", s.replicas("statefulsets", stateful), 9)
		want(t, "INFO", s.logged("INFO StatefulSet "+stateful+" keeps 9 replicas, 8 would do: ordinals 2 are released and wait"), 1)
		want(t, "removed", s.removedIDs(), []string{nine})
	})
}

// E201, E200: a Deployment shrinks once Spark has released executors and their pods carry the cost.
func TestDeletionCostE200E201(t *testing.T) {
	within(t, deploymentConf(), func(t *testing.T, s *spark) {
		s.controller("deployments")
		s.launch(10)
		wait(5 * time.Second)
		s.target(8)
		wait(time.Minute)
		want(t, "replicas before the kill", s.replicas("deployments", deployed), 10)
		victims := []string{s.podOf("3"), s.podOf("7")}
		s.server.Fail(kubetest.Fault{Verb: "patch", Resource: "pods", Name: victims[0], Status: http.StatusInternalServerError, Reason: "InternalError", Times: 1})
		s.release(8, "3", "7")
		wait(100 * time.Millisecond)
		want(t, "replicas while a pod has no cost", s.replicas("deployments", deployed), 10)
		wait(5 * time.Second)
		want(t, "replicas", s.replicas("deployments", deployed), 8)
		for _, v := range victims {
			if s.server.Get("pods", ns, v) != nil {
				t.Errorf("pod %s is still there", v)
			}
		}
		want(t, "INFO", s.logged("INFO Annotating executor pod(s) 3,7 with deletion cost -7"), 1)
		want(t, "removed", s.removedIDs(), []string{"3", "7"})
	})
}

// E197: the Deployment's shape.
func TestDeploymentE197(t *testing.T) {
	within(t, deploymentConf(), func(t *testing.T, s *spark) {
		s.controller("deployments")
		s.launch(3)
		wait(5 * time.Second)
		template := s.server.Get("deployments", ns, deployed)["spec"].(kubetest.Object)["template"].(kubetest.Object)
		want(t, "cost", kubetest.Text(template, "metadata", "annotations", "controller.kubernetes.io/pod-deletion-cost"), "0")
		want(t, "restartPolicy", kubetest.Text(template, "spec", "restartPolicy"), "Always")
		want(t, "containers", len(template["spec"].(kubetest.Object)["containers"].([]any)), 1)
		s.target(7)
		wait(5 * time.Second)
		want(t, "replicas", s.replicas("deployments", deployed), 7)
		want(t, "left", s.stop(), 0)
		want(t, "sets at the end", len(s.server.List("deployments")), 0)
	})
}

// E204: a container that restarts in place takes a new id, and the old one is over within a second.
func TestRestartInPlaceE204(t *testing.T) {
	within(t, statefulConf, func(t *testing.T, s *spark) {
		c := s.controller("statefulsets")
		s.launch(4)
		wait(5 * time.Second)
		pod := s.podOf("4")
		id := c.begin(pod)
		wait(time.Second)
		want(t, "removals", len(s.removals()), 1)
		want(t, "removed", s.removals()[0]["id"], any("4"))
		want(t, "text", s.removals()[0]["text"], any("The executor with id 4 ended; its container was started again as executor "+id+"."))
		want(t, "pod of the new id", s.podOf(id), pod)
		wait(2 * time.Minute) // E206: nothing is declared missing later
		want(t, "removals later", len(s.removals()), 1)
		want(t, "deleted pods", len(s.server.Calls("delete", "pods")), 0)
	})
}

// E205, E206: the label is tried until it holds, and the executor is not missing meanwhile.
func TestLabelE206(t *testing.T) {
	conf := maps.Clone(statefulConf)
	conf["spark.kubernetes.executor.apiPollingInterval"] = "10s"
	within(t, conf, func(t *testing.T, s *spark) {
		s.controller("statefulsets")
		s.server.Fail(kubetest.Fault{Verb: "patch", Resource: "pods", Status: http.StatusInternalServerError, Reason: "InternalError", Times: 10})
		s.launch(1)
		wait(3 * time.Minute)
		want(t, "removals", len(s.removals()), 0)
		want(t, "pod of executor 1", s.podOf("1"), stateful+"-0")
		want(t, "journal", len(s.journal), 0)
	})
}

// E248: after a crash the set is found, adopted and scaled.
func TestSetSurvivesE248(t *testing.T) {
	within(t, statefulConf, func(t *testing.T, s *spark) {
		s.controller("statefulsets")
		s.launch(4)
		wait(5 * time.Second)
		s.crash()
		s.launch(4)
		wait(5 * time.Second)
		want(t, "executors", len(s.ids()), 4)
		s.target(6)
		wait(5 * time.Second)
		want(t, "replicas", s.replicas("statefulsets", stateful), 6)
		want(t, "removals", len(s.removals()), 0)
		s.crash()
		s.onlyOpen = true
		s.launch(6)
		want(t, "left", s.stop(), 0)
		want(t, "sets at the end", len(s.server.List("statefulsets")), 0)
	})
}

// left puts a set into the cluster as an earlier life of the driver left it: with replicas and an owner.
func (s *spark) left(resource, name string, replicas int, ownerUID string) {
	kind := map[string]string{"statefulsets": "StatefulSet", "deployments": "Deployment"}[resource]
	labels := object{"spark-app-selector": appID, "spark-role": "executor", "spark-exec-resourceprofile-id": "0", "spark-exec-id": "EXECID"}
	s.server.Put(resource, object{"kind": kind, "apiVersion": "apps/v1", "metadata": object{"name": name, "namespace": ns, "labels": labels,
		"ownerReferences": []any{object{"apiVersion": "v1", "kind": "Pod", "name": "driver", "uid": ownerUID, "controller": true}}},
		"spec": object{"replicas": float64(replicas), "template": object{"metadata": object{"labels": labels},
			"spec": object{"containers": []any{object{"name": "of-before"}}}}}})
}

// E250: a set that an earlier life of the driver left in the same pod is deleted with its pods and made anew: its template
// has the old driver's port and secret. One of another driver is not touched; once it is gone with that driver, ours is made.
func TestSetOfEarlierLifeE250(t *testing.T) {
	for _, tc := range []struct {
		resource, name string
		conf           map[string]string
	}{{"statefulsets", stateful, statefulConf}, {"deployments", deployed, deploymentConf()}} {
		t.Run(tc.resource, func(t *testing.T) {
			within(t, tc.conf, func(t *testing.T, s *spark) {
				driver := kubetest.Text(s.server.Get("pods", ns, "driver"), "metadata", "uid")
				c := s.controller(tc.resource)
				c.registersNot = true // the executors of before know another driver
				s.left(tc.resource, tc.name, 7, driver)
				c.reconcile(s.server.Get(tc.resource, ns, tc.name))
				c.registersNot = false
				before := s.server.List("pods")
				want(t, "pods of before, and the driver", len(before), 8)
				s.launch(3)
				wait(20 * time.Second)
				want(t, "replicas", s.replicas(tc.resource, tc.name), 3)
				want(t, "executors", len(s.ids()), 3)
				want(t, "removals", len(s.removals()), 0)
				want(t, "exits", len(s.exits), 0)
				for _, p := range s.server.List("pods") {
					if strings.Contains(fmt.Sprint(p["spec"]), "of-before") {
						t.Errorf("pod %s has the template of before", kubetest.Text(p, "metadata", "name"))
					}
				}
				want(t, "left", s.stop(), 0)
				want(t, "sets at the end", len(s.server.List(tc.resource)), 0)
			})
			within(t, tc.conf, func(t *testing.T, s *spark) {
				s.left(tc.resource, tc.name, 7, "another")
				s.launch(3)
				wait(time.Minute)
				want(t, "replicas", s.replicas(tc.resource, tc.name), 7)
				want(t, "deletes", len(s.server.Calls("delete", tc.resource)), 0)
				want(t, "warnings", s.logged("belongs to another driver: delete it, or give this application an id of its own"), 1)
				s.controller(tc.resource)
				s.server.Remove(tc.resource, ns, tc.name) // with its driver
				wait(2 * time.Minute)
				want(t, "executors", len(s.ids()), 3)
				want(t, "exits", len(s.exits), 0)
			})
		})
	}
}

// E203: a scale call that hangs holds nothing up.
func TestSlowScaleE203(t *testing.T) {
	within(t, statefulConf, func(t *testing.T, s *spark) {
		s.controller("statefulsets")
		s.launch(2)
		wait(5 * time.Second)
		s.server.Fail(kubetest.Fault{Verb: "patch", Resource: "statefulsets", Delay: 5 * time.Second, Times: 1})
		s.target(4)
		wait(time.Second)
		began := time.Now()
		s.target(5)
		got := s.call("ping", object{})
		want(t, "ping", got["error"], any(nil))
		want(t, "the answer took", time.Since(began), time.Duration(0))
		wait(10 * time.Second)
		want(t, "replicas", s.replicas("statefulsets", stateful), 5)
	})
}

// E198, E199, E208: what the manager refuses to open or to start with.
func TestRefusedAllocators(t *testing.T) {
	for _, tc := range []struct {
		name string
		conf map[string]string
		code float64
		text string
	}{
		{"claim E198", deploymentConf("spark.kubernetes.executor.volumes.persistentVolumeClaim.data.options.claimName", "shared",
			"spark.kubernetes.executor.volumes.persistentVolumeClaim.data.mount.path", "/data"), -32002,
			"PersistentVolumeClaims are not supported with the deployment allocator. Please remove PVC requirements or choose a different pods allocator."},
		{"cost E199", map[string]string{"spark.kubernetes.allocation.pods.allocator": "deployment", "spark.dynamicAllocation.enabled": "true"}, -32002,
			"Dynamic allocation with the deployment pods allocator requires 'spark.kubernetes.executor.podDeletionCost' to be configured."},
		{"class E208", map[string]string{"spark.kubernetes.allocation.pods.allocator": "org.example.Allocator"}, -32003,
			"spark.kubernetes.allocation.pods.allocator: class org.example.Allocator needs the stock manager"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			within(t, tc.conf, func(t *testing.T, s *spark) {
				s.mayFail = true
				s.launch(2)
				err := s.refused
				want(t, "code", err["code"], any(tc.code))
				want(t, "text", err["message"], any(tc.text))
				want(t, "writes", len(s.server.Calls("create", "")), 0)
			})
		})
	}
}
