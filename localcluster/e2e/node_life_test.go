//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// withSignals mounts the test's own folder at /signals in all containers of the pod.
func (j *job) withSignals(p *corev1.Pod) *corev1.Pod {
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "signals", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: j.signals}}})
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			list[i].VolumeMounts = append(list[i].VolumeMounts, corev1.VolumeMount{Name: "signals", MountPath: "/signals"})
		}
	}
	return p
}

func (j *job) signalText(name string) string {
	text, err := os.ReadFile(filepath.Join(j.signals, name))
	if err != nil && !os.IsNotExist(err) {
		j.t.Fatal(err)
	}
	return string(text)
}

func (j *job) pod(name string) *corev1.Pod {
	j.t.Helper()
	p, err := cluster.client.CoreV1().Pods(j.namespace).Get(j.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		j.t.Fatal(err)
	}
	return p
}

// events are the pod's events, one a line.
func (j *job) events(pod string) string {
	j.t.Helper()
	list, err := cluster.client.CoreV1().Events(j.namespace).List(j.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + pod})
	if err != nil {
		j.t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range list.Items {
		fmt.Fprintf(&b, "%s: %s\n", e.Reason, e.Message)
	}
	return b.String()
}

func (j *job) deletePod(name string, grace int64) {
	j.t.Helper()
	if err := cluster.client.CoreV1().Pods(j.namespace).Delete(j.t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &grace}); err != nil {
		j.t.Fatal(err)
	}
}

// says waits for a text in the pod's log.
func (j *job) says(pod, text string) {
	j.t.Helper()
	eventually(j.t, time.Minute, "pod "+pod+" says "+text, func() (bool, string) {
		log := podLog(j.t.Context(), j.pod(pod))
		return strings.Contains(log, text), log
	})
}

func (j *job) gone(name string) {
	j.t.Helper()
	eventually(j.t, 20*time.Second, "pod "+name+" is gone", func() (bool, string) { return len(j.pods("app="+name)) == 0, "still there" })
}

// Hooks: the container counts as running when its postStart hook has ended; its preStop hook comes before SIGTERM. Both by exec and by
// HTTP.
func TestHooks(t *testing.T) {
	j := newJob(t)
	p := shellPod("hooked", `cat > /tmp/s.py <<'END'
import http.server, os, signal, socket
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open("/signals/told", "a").write(self.path + " ")
        self.send_response(200); self.end_headers()
def end(*_):
    open("/signals/told", "a").write("TERM"); os._exit(0)
signal.signal(signal.SIGTERM, end)
http.server.HTTPServer((socket.gethostbyname(socket.gethostname()), 8000), H).serve_forever()
END
exec python3 /tmp/s.py`)
	c := &p.Spec.Containers[0]
	c.Ports = []corev1.ContainerPort{{Name: "ear", ContainerPort: 8000}}
	c.Lifecycle = &corev1.Lifecycle{
		PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "until python3 -c 'import urllib.request as u, socket; u.urlopen(\"http://%s:8000/up\" % socket.gethostbyname(socket.gethostname()))' 2>/dev/null; do sleep 0.1; done"}}},
		PreStop:   &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/bye", Port: intstr.FromString("ear")}},
	}
	j.create(j.withSignals(p))
	j.runs("hooked")
	if told := j.signalText("told"); told != "/up " {
		t.Errorf("the pod runs, and its hook has said %q", told)
	}
	j.deletePod("hooked", 10)
	j.gone("hooked")
	if told := j.signalText("told"); told != "/up /bye TERM" {
		t.Errorf("the container was told %q", told)
	}
}

// A container whose postStart hook fails is killed.
func TestFailedPostStartHook(t *testing.T) {
	j := newJob(t)
	p := shellPod("unhooked", "exec sleep 60")
	grace := int64(1)
	p.Spec.TerminationGracePeriodSeconds = &grace
	p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c", "echo no luck; exit 3"}}}}
	j.create(p)
	if pod, _ := j.ended("unhooked"); pod.Status.Phase != corev1.PodFailed || pod.Status.ContainerStatuses[0].State.Terminated.ExitCode < 128 {
		t.Errorf("%s, %+v", pod.Status.Phase, pod.Status.ContainerStatuses[0].State)
	}
	eventually(t, 5*time.Second, "the event says why", func() (bool, string) {
		text := j.events("unhooked")
		return strings.Contains(text, "FailedPostStartHook: PostStartHook failed: command") && strings.Contains(text, "exited with 3: no luck"), text
	})
}

// Init containers run one after the other; a sidecar among them has started before the next one, runs beside the containers and ends
// after them.
func TestInitContainersAndSidecars(t *testing.T) {
	j := newJob(t)
	p := shellPod("crew", `echo main >> /signals/order; sleep 0.3`)
	always := corev1.ContainerRestartPolicyAlways
	p.Spec.InitContainers = []corev1.Container{
		{Name: "first", Image: hostImage, Command: []string{"sh", "-c", "sleep 0.3; echo first >> /signals/order"}},
		{Name: "beside", Image: hostImage, RestartPolicy: &always, Command: []string{"sh", "-c", `trap 'echo beside ends >> /signals/order; exit 0' TERM; sleep 0.3; echo beside >> /signals/order; touch /tmp/up; while :; do sleep 0.05; done`},
			StartupProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"test", "-e", "/tmp/up"}}}, PeriodSeconds: 1, FailureThreshold: 30}},
		{Name: "last", Image: hostImage, Command: []string{"sh", "-c", "echo last >> /signals/order"}},
	}
	j.create(j.withSignals(p))
	if pod, _ := j.ended("crew"); pod.Status.Phase != corev1.PodSucceeded {
		t.Errorf("phase %s", pod.Status.Phase)
	}
	if got := j.signalText("order"); got != "first\nbeside\nlast\nmain\nbeside ends\n" {
		t.Errorf("order:\n%s", got)
	}
}

// A container that fails again and again starts again at once, then after waits that double from 10 s; a pod that never restarts ends
// with its failed init container.
func TestRestartPolicies(t *testing.T) {
	j := newJob(t)
	loop := shellPod("crashes", "exit 1")
	loop.Spec.RestartPolicy = corev1.RestartPolicyAlways
	j.create(loop)
	never := shellPod("never", "true")
	never.Spec.InitContainers = []corev1.Container{{Name: "broken", Image: hostImage, Command: []string{"sh", "-c", "exit 5"}}}
	j.create(never)
	if pod, _ := j.ended("never"); pod.Status.Phase != corev1.PodFailed || pod.Status.InitContainerStatuses[0].State.Terminated.ExitCode != 5 {
		t.Errorf("never: %s, %+v", pod.Status.Phase, pod.Status.InitContainerStatuses)
	}
	eventually(t, 20*time.Second, "the pod waits before its third start", func() (bool, string) {
		s := j.pod("crashes").Status.ContainerStatuses
		if len(s) == 0 || s[0].State.Waiting == nil {
			return false, fmt.Sprintf("%+v", s)
		}
		return s[0].RestartCount == 1 && s[0].State.Waiting.Reason == "CrashLoopBackOff" && strings.Contains(s[0].State.Waiting.Message, "back-off 10s") &&
			s[0].LastTerminationState.Terminated.ExitCode == 1, fmt.Sprintf("%+v", s[0])
	})
	j.deletePod("crashes", 0)
}

// Probes: a container is started when its startup probe says so, ready while its readiness probe does, and starts anew when its liveness
// probe fails. By exec, HTTP and TCP.
func TestProbes(t *testing.T) {
	j := newJob(t)
	p := shellPod("probed", `mkdir -p /tmp/www && cd /tmp/www && touch live && exec python3 -m http.server 8000 --bind $(hostname -i | cut -d' ' -f1)`)
	p.Spec.RestartPolicy = corev1.RestartPolicyAlways
	grace := int64(1)
	c := &p.Spec.Containers[0]
	probe := func(h corev1.ProbeHandler, failures int32) *corev1.Probe {
		return &corev1.Probe{ProbeHandler: h, PeriodSeconds: 1, FailureThreshold: failures}
	}
	c.StartupProbe = probe(corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8000)}}, 30)
	c.ReadinessProbe = probe(corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"test", "-e", "/signals/ready"}}}, 1)
	c.LivenessProbe = probe(corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/live", Port: intstr.FromInt32(8000)}}, 2)
	c.LivenessProbe.TerminationGracePeriodSeconds = &grace
	j.create(j.withSignals(p))
	status := func(what string, ok func(corev1.ContainerStatus) bool) {
		t.Helper()
		eventually(t, 20*time.Second, what, func() (bool, string) {
			s := j.pod("probed").Status.ContainerStatuses
			return len(s) == 1 && ok(s[0]), fmt.Sprintf("%+v", s)
		})
	}
	status("it has started and is not ready", func(s corev1.ContainerStatus) bool { return s.Started != nil && *s.Started && !s.Ready })
	eventually(t, 10*time.Second, "an event tells of it", func() (bool, string) {
		text := j.events("probed")
		return strings.Contains(text, "Unhealthy: Readiness probe failed: command"), text
	})
	j.signal("ready")
	status("it is ready", func(s corev1.ContainerStatus) bool { return s.Ready })
	if out, err := j.kubectl(t.Context(), "exec", "probed", "--", "rm", "/tmp/www/live").Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	status("it has started again and is ready", func(s corev1.ContainerStatus) bool { return s.RestartCount == 1 && s.Ready })
	for _, want := range []string{"Unhealthy: Liveness probe failed: HTTP probe failed with statuscode: 404",
		"Killing: Container main failed liveness probe, will be restarted"} {
		if text := j.events("probed"); !strings.Contains(text, want) {
			t.Errorf("no event %q in\n%s", want, text)
		}
	}
	j.deletePod("probed", 0)
}
