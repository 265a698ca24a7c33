//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A pod of a priority class gets its number at admission.
func TestPriorityClasses(t *testing.T) {
	j := newJob(t)
	p := shellPod("critical", "true")
	p.Spec.PriorityClassName = "system-node-critical"
	if made := j.create(p); made.Spec.Priority == nil || *made.Spec.Priority != 2000001000 {
		t.Errorf("priority %v", made.Spec.Priority)
	}
	j.ended("critical")
}

// A pod that asks for more than the node says it has waits; --cpus says what that is, whatever the machine has.
func TestCapacity(t *testing.T) {
	j := newJob(t)
	node, err := cluster.client.CoreV1().Nodes().Get(t.Context(), "local", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cpus := node.Status.Allocatable.Cpu().Value()
	for name, n := range map[string]int64{"fits": cpus - 1, "too-big": cpus + 1} {
		p := shellPod(name, "true")
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(n, resource.DecimalSI)}
		j.create(p)
	}
	j.ended("fits")
	eventually(t, 10*time.Second, "the scheduler says why the other waits", func() (bool, string) {
		for _, c := range j.pod("too-big").Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return strings.Contains(c.Message, "Insufficient cpu"), c.Message
			}
		}
		return false, "no condition"
	})
}

// What an owner has goes with it, and a namespace with all that is in it is gone within 10 s.
func TestOwnersAndNamespaces(t *testing.T) {
	j := newJob(t)
	ctx := t.Context()
	owner := j.create(shellPod("owner", "sleep 60"))
	owned := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: owner.Name, UID: owner.UID}}
	p := shellPod("owned", "sleep 60")
	p.OwnerReferences = owned
	j.create(p)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: owned}}
	if _, err := cluster.client.CoreV1().ConfigMaps(j.namespace).Create(ctx, settings, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	j.runs("owned")
	j.deletePod("owner", 0)
	eventually(t, 20*time.Second, "what the pod owned is gone", func() (bool, string) {
		_, err := cluster.client.CoreV1().ConfigMaps(j.namespace).Get(ctx, "owned", metav1.GetOptions{})
		pods := j.pods("app=owned")
		return err != nil && (len(pods) == 0 || pods[0].DeletionTimestamp != nil), fmt.Sprintf("ConfigMap: %v, %d pods", err, len(pods))
	})

	ns, err := cluster.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	other := &job{t: t, namespace: ns.Name}
	for i := range 5 {
		other.create(shellPod(fmt.Sprintf("p%d", i), "trap 'exit 0' TERM; echo up; while :; do sleep 0.05; done"))
	}
	for i := range 5 {
		other.says(fmt.Sprintf("p%d", i), "up")
	}
	began := time.Now()
	if err := cluster.client.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "the namespace is gone", func() (bool, string) {
		n, err := cluster.client.CoreV1().Namespaces().Get(ctx, ns.Name, metav1.GetOptions{})
		return err != nil, fmt.Sprintf("%+v", n.Status)
	})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

// Many pods at once: none waits for another's end.
func TestManyPodsAtOnce(t *testing.T) {
	j := newJob(t)
	began := time.Now()
	const n = 40
	for i := range n { // each waits until all run, so that a node with few workers would never end this
		p := shellPod(fmt.Sprintf("many-%d", i), fmt.Sprintf("touch /signals/%d; until [ $(ls /signals | wc -l) = %d ]; do sleep 0.2; done", i, n))
		p.Labels["set"] = "many"
		j.create(j.withSignals(p))
	}
	eventually(t, time.Minute, "all have ended", func() (bool, string) {
		done := 0
		for _, p := range j.pods("set=many") {
			if p.Status.Phase == corev1.PodSucceeded {
				done++
			}
		}
		return done == n, fmt.Sprintf("%d of %d", done, n)
	})
	t.Logf("%d pods in %.1f s", n, time.Since(began).Seconds())
}

// The limits of a running container change without a restart, its cgroup and its status follow, and the metrics API says what it uses.
func TestResizeAndMetrics(t *testing.T) {
	j := newJob(t)
	p := shellPod("grows", `cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max
		exec python3 -c "x = bytearray(40 << 20)
while True: pass"`)
	limit := func(q string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(q)}
	}
	p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: limit("64Mi"), Limits: limit("64Mi")}
	j.create(p)
	j.runs("grows")
	j.resize("grows", "96Mi")
	eventually(t, 10*time.Second, "the status has the new limit", func() (bool, string) {
		s := j.pod("grows").Status.ContainerStatuses[0]
		return s.Resources != nil && s.Resources.Limits.Memory().String() == "96Mi" && s.RestartCount == 0, fmt.Sprintf("%+v", s.Resources)
	})
	out, err := j.kubectl(t.Context(), "exec", "grows", "--", "sh", "-c", "cat /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null || cat /sys/fs/cgroup/memory.max").Output()
	if err != nil || strings.TrimSpace(string(out)) != fmt.Sprint(96<<20) {
		t.Errorf("the cgroup's limit is %q, %v", out, err)
	}
	eventually(t, 20*time.Second, "the metrics show the container's memory and CPU", func() (bool, string) {
		text, err := cluster.client.CoreV1().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/namespaces/" + j.namespace + "/pods/grows").DoRaw(t.Context())
		var m struct {
			Containers []struct {
				Name  string
				Usage map[corev1.ResourceName]resource.Quantity
			}
		}
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil || len(m.Containers) != 1 {
			return false, fmt.Sprint(err, string(text))
		}
		cpu, memory := m.Containers[0].Usage[corev1.ResourceCPU], m.Containers[0].Usage[corev1.ResourceMemory]
		return memory.Value() > 40<<20 && memory.Value() < 96<<20 && cpu.MilliValue() > 0, string(text)
	})
	if out, err := j.kubectl(t.Context(), "top", "pod", "grows").Output(); err != nil || !strings.Contains(string(out), "grows") {
		t.Errorf("kubectl top: %v\n%s", err, out)
	}
	j.deletePod("grows", 0)
}

// resize sets the memory of the pod's container by the resize subresource.
func (j *job) resize(pod, memory string) {
	j.t.Helper()
	patch := fmt.Sprintf(`{"spec":{"containers":[{"name":"main","resources":{"requests":{"memory":%q},"limits":{"memory":%q}}}]}}`, memory, memory)
	_, err := cluster.client.CoreV1().Pods(j.namespace).Patch(j.t.Context(), pod, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "resize")
	if err != nil {
		j.t.Fatal(err)
	}
}

// A limit cannot go below what the container uses: the pod says so, and has the limit as soon as it uses less.
func TestResizeThatHasToWait(t *testing.T) {
	j := newJob(t)
	p := shellPod("full", `exec python3 -c "
import os, time
x = bytearray(60 << 20)
print('filled', flush=True)
while not os.path.exists('/signals/less'): time.sleep(0.1)
del x
time.sleep(60)"`)
	limit := func(q string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(q)}
	}
	p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: limit("96Mi"), Limits: limit("96Mi")}
	j.create(j.withSignals(p))
	j.says("full", "filled")
	condition := func(reason string) {
		t.Helper()
		eventually(t, 10*time.Second, "the reason of the resize is "+reason, func() (bool, string) {
			for _, c := range j.pod("full").Status.Conditions {
				if c.Type == corev1.PodResizeInProgress {
					return c.Reason == reason, fmt.Sprintf("%+v", c)
				}
			}
			return reason == "", "no such condition"
		})
	}
	j.resize("full", "32Mi")
	condition(corev1.PodReasonError)
	j.signal("less")
	eventually(t, 20*time.Second, "the limit is lowered", func() (bool, string) {
		s := j.pod("full").Status.ContainerStatuses[0]
		return s.Resources.Limits.Memory().String() == "32Mi" && s.RestartCount == 0 && s.State.Running != nil, fmt.Sprintf("%+v", s)
	})
	condition("")
	j.deletePod("full", 0)
}

// More than one node: the scheduler spreads pods over them, pods of one reach pods of the other by IP and by name, logs and metrics come
// from both, and `down` removes both.
func TestTwoNodes(t *testing.T) {
	c := spare(t)
	if out, code := c.run("up", "--state-dir", c.stateDir, "--port", secondPort, "--network", secondNetwork, "--nodes", "2", "--cpus", "2"); code != 0 {
		t.Fatalf("up: exit %d\n%s", code, out)
	}
	defer func() {
		if out, code := c.run("down", "--state-dir", c.stateDir); code != 0 {
			t.Errorf("down: exit %d\n%s", code, out)
		}
		c.nothingLeft(t)
	}()
	kubectl := func(args ...string) string {
		t.Helper()
		out, code := c.run(append([]string{"--state-dir", c.stateDir, "kubectl"}, args...)...)
		if code != 0 {
			t.Fatalf("kubectl %q: exit %d\n%s", args, code, out)
		}
		return out
	}
	server := `import http.server, socket; http.server.HTTPServer((socket.gethostbyname(socket.gethostname()), 8000), http.server.SimpleHTTPRequestHandler).serve_forever()`
	overrides := func(node, command string) string {
		return fmt.Sprintf(`--overrides={"spec":{"nodeName":%q,"containers":[{"name":"main","image":%q,"command":["sh","-c",%q]}]}}`, node, hostImage, command)
	}
	kubectl("run", "web", "--image", hostImage, "--restart=Never", "--labels=app=web", overrides("local-2", "exec python3 -c '"+server+"'"))
	kubectl("create", "service", "clusterip", "web", "--clusterip=None", "--tcp=8000")
	kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=30s")
	kubectl("run", "asks", "--image", hostImage, "--restart=Never", overrides("local",
		"until python3 -c 'import urllib.request as u; print(u.urlopen(\"http://web:8000/\").status)' 2>/dev/null; do sleep 0.2; done; sleep 30"))
	eventually(t, 30*time.Second, "a pod of one node reaches a pod of the other by name", func() (bool, string) {
		out, _ := c.run("--state-dir", c.stateDir, "kubectl", "logs", "asks")
		return out == "200\n", out
	})
	if out := kubectl("exec", "web", "--", "hostname"); out != "web\n" {
		t.Errorf("exec on the second node: %q", out)
	}
	eventually(t, 30*time.Second, "metrics come from both nodes", func() (bool, string) {
		out, code := c.run("--state-dir", c.stateDir, "kubectl", "top", "pod", "--no-headers")
		return code == 0 && strings.Count(out, "\n") == 2, out
	})
	kubectl("delete", "pod", "asks", "web", "--grace-period=0", "--force")
}
