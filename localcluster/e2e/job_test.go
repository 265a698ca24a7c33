//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// job is one Spark application in a namespace of its own, with the service account and role that kubespark ships.
type job struct {
	t         *testing.T
	namespace string
	version   string
	signals   string // folder shared with the application, see testdata/rounds.py
	conf      []string
	env       []string

	cmd    *exec.Cmd
	output syncBuffer
	exited chan struct{}
}

// newJob makes the namespace; labels are put on it ("key=value").
func newJob(t *testing.T, labels ...string) *job {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-", Labels: map[string]string{}}}
	for _, l := range labels {
		k, v, _ := strings.Cut(l, "=")
		ns.Labels[k] = v
	}
	made, err := cluster.client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	j := &job{t: t, namespace: made.Name, version: defaultSpark, signals: t.TempDir()}
	for dir := j.signals; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(j.cleanUp)
	j.applyRole()
	return j
}

// applyRole makes the objects of deploy/driver-rbac.yaml, so that every test runs with the shipped permissions.
func (j *job) applyRole() {
	j.t.Helper()
	text, err := os.ReadFile("../../deploy/driver-rbac.yaml")
	if err != nil {
		j.t.Fatal(err)
	}
	var account corev1.ServiceAccount
	var role rbacv1.Role
	var binding rbacv1.RoleBinding
	for i, doc := range strings.Split(string(text), "\n---\n") {
		if err := yaml.Unmarshal([]byte(doc), []any{&account, &role, &binding}[i]); err != nil {
			j.t.Fatal(err)
		}
	}
	binding.Subjects[0].Namespace = j.namespace
	ctx, c := j.t.Context(), cluster.client
	_, err1 := c.CoreV1().ServiceAccounts(j.namespace).Create(ctx, &account, metav1.CreateOptions{})
	_, err2 := c.RbacV1().Roles(j.namespace).Create(ctx, &role, metav1.CreateOptions{})
	_, err3 := c.RbacV1().RoleBindings(j.namespace).Create(ctx, &binding, metav1.CreateOptions{})
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			j.t.Fatal(err)
		}
	}
}

func (j *job) cleanUp() {
	if j.cmd != nil && j.cmd.ProcessState == nil {
		_ = j.cmd.Process.Kill()
		<-j.exited
	}
	if j.t.Failed() {
		j.dump()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := cluster.client.CoreV1().Namespaces().Delete(ctx, j.namespace, metav1.DeleteOptions{}); err != nil {
		j.t.Errorf("namespace %s: %v", j.namespace, err)
	}
}

// dump shows what a failed test leaves to look at.
func (j *job) dump() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	j.t.Logf("--- output of submit\n%s", j.output.String())
	pods, err := cluster.client.CoreV1().Pods(j.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		j.t.Log(err)
		return
	}
	for _, p := range pods.Items {
		j.t.Logf("--- pod %s: %s %s %+v\n%s", p.Name, p.Status.Phase, p.Status.Reason, p.Status.ContainerStatuses, tail(podLog(ctx, &p), 120))
	}
	events, err := cluster.client.CoreV1().Events(j.namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		for _, e := range events.Items {
			j.t.Logf("event %s %s: %s %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
}

// with adds --conf settings, "key=value".
func (j *job) with(conf ...string) *job {
	j.conf = append(j.conf, conf...)
	return j
}

// spark takes another Spark version than the default.
func (j *job) spark(version string) *job {
	j.version = version
	return j
}

// withApps mounts the test applications at /apps and the signals folder at /signals in the driver and the executors.
func (j *job) withApps() *job {
	for _, role := range []string{"driver", "executor"} {
		for name, path := range map[string]string{"apps": cluster.apps, "signals": j.signals} {
			volume := fmt.Sprintf("spark.kubernetes.%s.volumes.hostPath.%s.", role, name)
			j.with(volume+"mount.path=/"+name, volume+"options.path="+path)
		}
	}
	return j
}

// arguments is the command line in cluster mode for an application and its arguments.
func (j *job) arguments(app ...string) []string {
	args := []string{"--master", cluster.master, "--deploy-mode", "cluster"}
	settings := append([]string{
		"spark.kubernetes.namespace=" + j.namespace,
		"spark.kubernetes.container.image=" + imageOf(j.version),
		"spark.kubernetes.authenticate.driver.serviceAccountName=spark",
		"spark.kubespark.jar=/opt/kubespark/kubespark.jar",
		"spark.kubespark.sparkVersion=" + j.version,
		"spark.executor.instances=2",
		"spark.executor.memory=512m",
		"spark.driver.memory=512m",
	}, j.conf...)
	for _, s := range settings {
		args = append(args, "--conf", s)
	}
	return append(args, app...)
}

// submit starts `kubespark submit` in cluster mode.
func (j *job) submit(app ...string) *job {
	j.t.Helper()
	return j.start("submit", j.arguments(app...)...)
}

// start runs a kubespark command in the background.
func (j *job) start(command string, args ...string) *job {
	j.t.Helper()
	j.cmd = exec.Command(filepath.Join(cluster.bin, "kubespark"), append([]string{command}, args...)...)
	j.cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.kubeconfig)
	j.cmd.Env = append(j.cmd.Env, j.env...)
	j.cmd.Stdout, j.cmd.Stderr = &j.output, &j.output
	if err := j.cmd.Start(); err != nil {
		j.t.Fatal(err)
	}
	j.exited = make(chan struct{})
	go func() {
		_ = j.cmd.Wait() // the exit code is read from ProcessState
		close(j.exited)
	}()
	return j
}

// exits waits for the command's end and checks its exit code.
func (j *job) exits(code int) *job {
	j.t.Helper()
	select {
	case <-j.exited:
	case <-time.After(5 * time.Minute):
		j.t.Fatalf("kubespark is still running after 5 minutes")
	}
	if got := j.cmd.ProcessState.ExitCode(); got != code {
		j.t.Fatalf("exit code %d, expected %d", got, code)
	}
	return j
}

// prints checks that the command's output contains the text.
func (j *job) prints(text string) *job {
	j.t.Helper()
	if !strings.Contains(j.output.String(), text) {
		j.t.Errorf("output lacks %q", text)
	}
	return j
}

// driver is the application's driver pod.
func (j *job) driver() *corev1.Pod {
	j.t.Helper()
	pods := j.pods("spark-role=driver")
	if len(pods) != 1 {
		j.t.Fatalf("%d driver pods, expected one", len(pods))
	}
	return &pods[0]
}

func (j *job) appID() string { return j.driver().Labels["spark-app-selector"] }

func (j *job) pods(selector string) []corev1.Pod {
	j.t.Helper()
	list, err := cluster.client.CoreV1().Pods(j.namespace).List(j.t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		j.t.Fatal(err)
	}
	return list.Items
}

func (j *job) executors() []corev1.Pod { return j.pods("spark-role=executor") }

// executor is the pod of one executor id.
func (j *job) executor(id int) *corev1.Pod {
	j.t.Helper()
	pods := j.pods("spark-role=executor,spark-exec-id=" + strconv.Itoa(id))
	if len(pods) != 1 {
		j.t.Fatalf("%d pods of executor %d, expected one", len(pods), id)
	}
	return &pods[0]
}

func (j *job) driverLog() string {
	j.t.Helper()
	return podLog(j.t.Context(), j.driver())
}

func podLog(ctx context.Context, p *corev1.Pod) string {
	text, err := cluster.client.CoreV1().Pods(p.Namespace).GetLogs(p.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// logs checks that the driver's log contains the text.
func (j *job) logs(text string) *job {
	j.t.Helper()
	if !strings.Contains(j.driverLog(), text) {
		j.t.Errorf("driver's log lacks %q", text)
	}
	return j
}

// signal makes a file that the application looks for.
func (j *job) signal(name string) {
	j.t.Helper()
	if err := os.WriteFile(filepath.Join(j.signals, name), nil, 0o666); err != nil {
		j.t.Fatal(err)
	}
}

// waitForSignal waits for a file that the application makes.
func (j *job) waitForSignal(name string) {
	j.t.Helper()
	eventually(j.t, 4*time.Minute, "the application says "+name, func() (bool, string) {
		if j.cmd.ProcessState != nil {
			j.t.Fatalf("the application ended before it said %s", name)
		}
		_, err := os.Stat(filepath.Join(j.signals, name))
		return err == nil, fmt.Sprint(err)
	})
}

// said are the files of the signals folder that match.
func (j *job) said(pattern string) []string {
	j.t.Helper()
	files, err := filepath.Glob(filepath.Join(j.signals, pattern))
	if err != nil {
		j.t.Fatal(err)
	}
	return files
}

// registered is the number of executors that Spark knows, as the application reports it.
func (j *job) registered() string {
	text, err := os.ReadFile(filepath.Join(j.signals, "executors"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// createdBy checks who wrote the pods: the field manager of the creation.
func createdBy(t *testing.T, pods []corev1.Pod, manager string) {
	t.Helper()
	if len(pods) == 0 {
		t.Error("no executor pod was seen")
	}
	for _, p := range pods {
		if len(p.ManagedFields) == 0 {
			t.Fatalf("pod %s has no managed fields", p.Name)
		}
		first := p.ManagedFields[0]
		for _, f := range p.ManagedFields {
			if f.Time.Before(first.Time) {
				first = f
			}
		}
		if !strings.HasPrefix(first.Manager, manager) {
			t.Errorf("pod %s was created by %q, expected %q", p.Name, first.Manager, manager)
		}
	}
}

func tail(text string, lines int) string {
	all := strings.Split(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// syncBuffer is a bytes.Buffer that a process writes while a test reads.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf.Reset()
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
