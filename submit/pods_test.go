package submit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/kubetest"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// S055: the submitter has timeouts of its own.
func TestTimeouts(t *testing.T) {
	const k = "spark.kubernetes.submission."
	c := conf.New(map[string]string{k + "connectionTimeout": "1234", k + "requestTimeout": "2345",
		"spark.kubernetes.driver.connectionTimeout": "1", "spark.kubernetes.driver.requestTimeout": "2"})
	o, err := options(c, "https://h", func(string) (string, bool) { return "", false })
	if err != nil || o.ConnectTimeout != 1234*time.Millisecond || o.RequestTimeout != 2345*time.Millisecond {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = options(conf.New(nil), "https://h", nil)
	if err != nil || o.ConnectTimeout != 10*time.Second || o.RequestTimeout != 10*time.Second {
		t.Errorf("%+v, %v", o, err)
	}
}

// C046: the executors' template is a file of the submitter, which the driver finds in a ConfigMap.
func TestExecutorTemplateIsShipped(t *testing.T) {
	env := testEnv(t, nil)
	const text = "spec: {containers: [{name: e}]}\n"
	write(t, env.Files.(OSFiles).Dir, map[string]string{"t.yaml": text})
	key := conf.ExecutorTemplateFile.Key()
	p := mustPlan(t, piArgs(map[string]string{key: "t.yaml"}), env)
	shipped := false
	for _, o := range p.Objects {
		if cm, ok := o.(*corev1.ConfigMap); ok && strings.HasSuffix(cm.Name, "-driver-podspec-conf-map") {
			for _, v := range cm.Data {
				shipped = shipped || v == text
			}
		}
	}
	if got := properties(t, p)[key]; !shipped || got != "/opt/spark/pod-template/pod-spec-template.yml" {
		t.Errorf("shipped %v, %s", shipped, got)
	}
	if _, err := NewPlan(piArgs(map[string]string{key: "nope.yaml"}), env); err == nil {
		t.Error("a missing file is accepted")
	}
}

// C054: a volume mounted at two sub-paths is one volume with two mounts.
func TestOneVolumeMountedTwice(t *testing.T) {
	env := testEnv(t, nil)
	write(t, env.Files.(OSFiles).Dir, map[string]string{"t.yaml": `
spec:
  volumes: [{name: v, emptyDir: {}}]
  containers: [{name: c, volumeMounts: [{name: v, mountPath: /a, subPath: a}, {name: v, mountPath: /b, subPath: b}]}]
`})
	pod := mustPlan(t, piArgs(map[string]string{"spark.kubernetes.driver.podTemplateFile": "t.yaml"}), env).DriverPod()
	volumes, mounts := 0, 0
	for _, v := range pod.Spec.Volumes {
		if v.Name == "v" {
			volumes++
		}
	}
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		if m.Name == "v" {
			mounts++
		}
	}
	if volumes != 1 || mounts != 2 {
		t.Errorf("%d volumes, %d mounts", volumes, mounts)
	}
	const k = "spark.kubernetes.driver.volumes.emptyDir.v.mount.path"
	if _, err := NewPlan(piArgs(map[string]string{"spark.kubernetes.driver.podTemplateFile": "t.yaml", k: "/c"}), env); err == nil || !strings.Contains(err.Error(), "v") {
		t.Errorf("a second volume of the name: %v", err)
	}
}

// C058: what batch schedulers read passes through.
func TestBatchSchedulerSettings(t *testing.T) {
	p := mustPlan(t, piArgs(map[string]string{"spark.kubernetes.scheduler.name": "yunikorn", "spark.kubernetes.driver.label.queue": "root.a",
		"spark.kubernetes.driver.annotation.yunikorn.apache.org/task-group-name": "driver", "spark.kubernetes.executor.label.queue": "root.a"}), testEnv(t, nil))
	pod := p.DriverPod()
	want := []string{"yunikorn", "root.a", "driver"}
	if diff := cmp.Diff(want, []string{pod.Spec.SchedulerName, pod.Labels["queue"], pod.Annotations["yunikorn.apache.org/task-group-name"]}); diff != "" {
		t.Error(diff)
	}
	executor, err := p.SampleExecutor()
	if err != nil || !strings.Contains(string(executor), `"schedulerName":"yunikorn"`) || !strings.Contains(string(executor), `"queue":"root.a"`) {
		t.Errorf("%v %s", err, executor)
	}
}

// P145: a custom allocator is the driver's matter; the submission goes on.
func TestCustomAllocatorAtSubmission(t *testing.T) {
	p := mustPlan(t, piArgs(map[string]string{"spark.kubernetes.allocation.pods.allocator": "com.foo.Alloc"}), testEnv(t, nil))
	if got := properties(t, p)["spark.kubernetes.allocation.pods.allocator"]; got != "com.foo.Alloc" {
		t.Error(got)
	}
	if !slices.ContainsFunc(p.Notices, func(n Notice) bool { return strings.Contains(n.Text, "com.foo.Alloc") }) {
		t.Errorf("no word on it: %v", p.Notices)
	}
}

// P100: two unique texts make two names for the executors' ConfigMap.
func TestExecutorConfigMapName(t *testing.T) {
	a, b := sparkpod.ExecutorConfigMapName("1"), sparkpod.ExecutorConfigMapName("2")
	if a == b || a != "spark-exec-1-conf-map" {
		t.Error(a, b)
	}
}

// C002: a driver that a template binds to a node keeps its node: no gate is put on it, and its companions come first.
func TestPinnedDriverPlan(t *testing.T) {
	env := testEnv(t, nil)
	write(t, env.Files.(OSFiles).Dir, map[string]string{"t.yaml": "spec: {nodeName: n1}"})
	pod := mustPlan(t, piArgs(map[string]string{"spark.kubernetes.driver.podTemplateFile": "t.yaml"}), env).DriverPod()
	if pod.Spec.NodeName != "n1" || pod.Spec.NodeSelector != nil || pod.Spec.SchedulingGates != nil {
		t.Errorf("%+v", pod.Spec)
	}
}

// P144: Volcano's step makes a pod group before the pod, and both pods name it.
func TestVolcano(t *testing.T) {
	const step = "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"
	p := mustPlan(t, piArgs(map[string]string{"spark.kubernetes.scheduler.name": "volcano", "spark.kubernetes.driver.pod.featureSteps": step,
		"spark.kubernetes.executor.pod.featureSteps": step, conf.PodGroupTemplateJSON.Key(): `{"spec":{"minMember":3}}`}), testEnv(t, nil))
	s := kubetest.New()
	c, _ := newTestClient(t, s)
	if err := c.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	gang := s.Get("podgroups", "spark", app+"-podgroup")
	if gang == nil || gang["spec"].(object)["minMember"] != 3.0 || gang["metadata"].(object)["ownerReferences"] == nil {
		t.Errorf("%v", gang)
	}
	if got := p.DriverPod().Annotations["scheduling.k8s.io/group-name"]; got != app+"-podgroup" {
		t.Errorf("annotation %q", got)
	}
	executor, err := p.SampleExecutor()
	if err != nil || !strings.Contains(string(executor), `"scheduling.k8s.io/group-name":"`+app+`-podgroup"`) {
		t.Errorf("%v %s", err, executor)
	}
	if n := len(s.List("podgroups")); n != 1 {
		t.Errorf("%d pod groups", n)
	}
}
