//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const hostImage = "kubespark/host:latest"

// shellPod runs a shell script in a pod of the host's own image.
func shellPod(name, script string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "main", Image: hostImage, Command: []string{"/bin/sh", "-c", script},
			}},
		},
	}
}

func (j *job) create(p *corev1.Pod) *corev1.Pod {
	j.t.Helper()
	made, err := cluster.client.CoreV1().Pods(j.namespace).Create(j.t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		j.t.Fatal(err)
	}
	return made
}

// ended waits for the pod's end and returns its state and log.
func (j *job) ended(name string) (*corev1.Pod, string) {
	j.t.Helper()
	var pod *corev1.Pod
	eventually(j.t, time.Minute, "pod "+name+" ends", func() (bool, string) {
		p, err := cluster.client.CoreV1().Pods(j.namespace).Get(j.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		pod = p
		return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed, string(p.Status.Phase)
	})
	return pod, podLog(j.t.Context(), pod)
}

func (j *job) runs(name string) {
	j.t.Helper()
	eventually(j.t, time.Minute, "pod "+name+" runs", func() (bool, string) {
		p, err := cluster.client.CoreV1().Pods(j.namespace).Get(j.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return p.Status.Phase == corev1.PodRunning, string(p.Status.Phase)
	})
}

// kubectl runs the cluster's own kubectl.
func (j *job) kubectl(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(cluster.bin, "kubespark-cluster"),
		append([]string{"--state-dir", cluster.stateDir, "kubectl", "-n", j.namespace}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestExitCodesAndOOM(t *testing.T) {
	j := newJob(t)
	j.create(shellPod("seven", "exit 7"))
	hog := shellPod("hog", `exec python3 -c 'b = [bytearray(1 << 20) for _ in range(4096)]'`)
	hog.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
	j.create(hog)
	for _, want := range []struct {
		pod    string
		code   int32
		reason string
	}{{"seven", 7, "Error"}, {"hog", 137, "OOMKilled"}} {
		pod, log := j.ended(want.pod)
		state := pod.Status.ContainerStatuses[0].State.Terminated
		if state == nil || state.ExitCode != want.code || state.Reason != want.reason || pod.Status.Phase != corev1.PodFailed {
			t.Errorf("%s: phase %s, state %+v, expected %d %s; log %s", want.pod, pod.Status.Phase, state, want.code, want.reason, log)
		}
	}
}

func TestTerminationGrace(t *testing.T) {
	j := newJob(t)
	j.create(shellPod("polite", `trap 'echo got TERM; exit 0' TERM; echo ready; while :; do sleep 0.1; done`))
	stubborn := shellPod("stubborn", `trap '' TERM; echo ready; while :; do sleep 0.1; done`)
	grace := int64(2)
	stubborn.Spec.TerminationGracePeriodSeconds = &grace
	j.create(stubborn)
	j.says("polite", "ready") // before that SIGTERM does nothing to a first process
	j.says("stubborn", "ready")
	for _, name := range []string{"polite", "stubborn"} {
		began := time.Now()
		if err := cluster.client.CoreV1().Pods(j.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, 20*time.Second, name+" is gone", func() (bool, string) {
			return len(j.pods("app="+name)) == 0, "still there"
		})
		took := time.Since(began)
		if name == "polite" && took > 10*time.Second || name == "stubborn" && took < 2*time.Second {
			t.Errorf("%s took %s to go", name, took)
		}
	}
}

// The volumes that Spark uses, seen from inside.
func TestVolumes(t *testing.T) {
	j := newJob(t)
	ctx, c := t.Context(), cluster.client.CoreV1()
	if _, err := c.ConfigMaps(j.namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"a": "A", "b": "B"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Secrets(j.namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "password"}, StringData: map[string]string{"p": "hush"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	j.signal("from-host")
	p := shellPod("volumes", `set -e
		echo "configMap $(ls /settings) $(cat /settings/x) $(stat -Lc %a /settings/x)"
		echo "secret $(cat /password/p) $SECRET"
		echo "hostPath $(ls /host)"
		echo "downward $(cat /info/labels) $POD_NAME"
		echo "token $(wc -c < /var/run/secrets/kubernetes.io/serviceaccount/token | awk '$1 > 100 {print "long"}') $(cat /var/run/secrets/kubernetes.io/serviceaccount/namespace)"
		echo "scratch $(stat -c '%g %a' /scratch) $(df -P /fast | awk 'END {print $1}')"
		touch /scratch/new /fast/new`)
	mode := int32(0o440)
	group := int64(4242)
	p.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
	p.Spec.Volumes = []corev1.Volume{
		{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"},
			Items:                []corev1.KeyToPath{{Key: "a", Path: "x", Mode: &mode}}}}},
		{Name: "password", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "password"}}},
		{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: j.signals}}},
		{Name: "info", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}}}}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "fast", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
	}
	main := &p.Spec.Containers[0]
	for _, v := range p.Spec.Volumes {
		main.VolumeMounts = append(main.VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
	}
	main.Env = []corev1.EnvVar{
		{Name: "SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "password"}, Key: "p"}}},
		{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
	}
	j.create(p)
	_, log := j.ended("volumes")
	for _, want := range []string{
		"configMap x A 440", "secret hush hush", "hostPath from-host", `downward app="volumes" volumes`,
		"token long " + j.namespace, "scratch 4242 2777 tmpfs",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the pod's log lacks %q:\n%s", want, log)
		}
	}
}

// What the node honours of a security context.
func TestSecurityContext(t *testing.T) {
	j := newJob(t)
	p := shellPod("secured", `
		echo "user $(id -u):$(id -g)"
		touch /new 2>/dev/null && echo "root is writable" || echo "root is read-only"
		grep CapEff /proc/self/status | tr -s '\t' ' '
		grep NoNewPrivs /proc/self/status | tr -s '\t' ' '`)
	uid, yes, no := int64(185), true, false
	p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		RunAsUser: &uid, RunAsGroup: &uid, RunAsNonRoot: &yes, ReadOnlyRootFilesystem: &yes, AllowPrivilegeEscalation: &no,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	j.create(p)
	_, log := j.ended("secured")
	for _, want := range []string{"user 185:185", "root is read-only", "CapEff: 0000000000000000", "NoNewPrivs: 1"} {
		if !strings.Contains(log, want) {
			t.Errorf("the pod's log lacks %q:\n%s", want, log)
		}
	}
}

// kubectl as people use it: logs -f, exec, describe, delete.
func TestKubectl(t *testing.T) {
	j := newJob(t)
	j.create(shellPod("talker", `i=0; while [ ! -e /tmp/stop ]; do echo line $i; i=$((i+1)); sleep 0.1; done; echo last`))
	j.runs("talker")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	follow := j.kubectl(ctx, "logs", "-f", "talker")
	var followed syncBuffer
	follow.Stdout = &followed
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "logs -f follows", func() (bool, string) {
		return strings.Contains(followed.String(), "line 5"), followed.String()
	})
	out, err := j.kubectl(ctx, "exec", "talker", "--", "sh", "-c", "touch /tmp/stop; hostname; exit 0").Output()
	if err != nil || strings.TrimSpace(string(out)) != "talker" {
		t.Errorf("exec printed %q, error %v", out, err)
	}
	if err := follow.Wait(); err != nil || !strings.Contains(followed.String(), "last") {
		t.Errorf("logs -f ended with %v, last lines %q", err, tail(followed.String(), 3))
	}
	out, err = j.kubectl(ctx, "describe", "pod", "talker").Output()
	if err != nil || !strings.Contains(string(out), "Started") || !strings.Contains(string(out), "Completed") {
		t.Errorf("describe: %v\n%s", err, out)
	}
	if out, err := j.kubectl(ctx, "delete", "pod", "talker").Output(); err != nil || !strings.Contains(string(out), "deleted") {
		t.Errorf("delete: %v %s", err, out)
	}
}

// A name of a headless Service resolves to the pods behind it, from another pod.
func TestServiceNames(t *testing.T) {
	j := newJob(t)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app": "server"}, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := cluster.client.CoreV1().Services(j.namespace).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	j.create(shellPod("server", "sleep 60"))
	j.runs("server")
	j.create(shellPod("asker", "getent hosts web."+j.namespace+".svc; getent hosts kubernetes.default.svc"))
	_, log := j.ended("asker")
	ip := j.pods("app=server")[0].Status.PodIP
	if ip == "" || !strings.Contains(log, ip) || strings.Count(strings.TrimSpace(log), "\n") != 1 {
		t.Errorf("server has IP %q, the other pod sees:\n%s", ip, log)
	}
}
