package cli

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kubespark/kubespark/internal/kubetest"
)

// airflow is what SparkSubmitHook knows of a submission after reading its merged output.
type airflow struct {
	pod, namedPod, app string
	exitCode           int // -1: none
	tail               []string
}

// readAsAirflow searches each stripped line for the hook's patterns; later matches win.
func readAsAirflow(output string) airflow {
	podName := regexp.MustCompile(`\s*pod name: ((.+?)-([a-z0-9]+)-driver$)`)
	submission := regexp.MustCompile(`(?:^|\s)submission ID spark:([a-z0-9](?:[-a-z0-9]*[a-z0-9])?-driver)(?:\s|$)`)
	selector := regexp.MustCompile(`\s*spark-app-selector -> (spark-([a-z0-9]+)), `)
	exitCode := regexp.MustCompile(`\s*[eE]xit code: (\d+)`)
	a := airflow{exitCode: -1}
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if m := podName.FindStringSubmatch(line); m != nil {
			a.pod = m[1]
		}
		if m := submission.FindStringSubmatch(line); m != nil {
			a.namedPod = m[1]
		}
		if m := selector.FindStringSubmatch(line); m != nil {
			a.app = m[1]
		}
		if m := exitCode.FindStringSubmatch(line); m != nil {
			a.exitCode, _ = strconv.Atoi(m[1])
		}
		a.tail = append(a.tail, line)
	}
	a.tail = a.tail[max(0, len(a.tail)-20):]
	return a
}

// The hook finds driver, application and exit code in the lines, whatever else runs in the pod and whatever the API's own
// texts hold.
func TestAirflowReadsTheOutput(t *testing.T) {
	const spark = "spark-kubernetes-driver"
	tests := []struct {
		name     string
		status   kubetest.Object
		code     int
		exitCode int
		cause    string // in the last lines
	}{
		{"success", kubetest.Object{"phase": "Succeeded", "containerStatuses": []any{terminatedContainer(spark, 0)}}, 0, 0, "finished"},
		{"success, a sidecar sorted behind was killed", kubetest.Object{"phase": "Failed",
			"containerStatuses": []any{terminatedContainer("a", 1), terminatedContainer(spark, 0), terminatedContainer("z", 137)}}, 0, 0, "finished"},
		{"failure, sidecars ended well", kubetest.Object{"phase": "Failed",
			"containerStatuses": []any{terminatedContainer("a", 0), terminatedContainer(spark, 3), terminatedContainer("z", 0)}}, 3, 3, "the driver exited with 3"},
		{"evicted", kubetest.Object{"phase": "Failed", "reason": "Evicted", "message": "node is full; exit code: 0"}, 1, -1, "the driver pod failed: Evicted: node is full"},
		{"the reason is a foreign text", kubetest.Object{"phase": "Failed", "containerStatuses": []any{kubetest.Object{"name": spark, "image": "i",
			"state": kubetest.Object{"terminated": kubetest.Object{"exitCode": 1, "reason": "Exit code: 0"}}}}}, 1, 1, "the driver exited with 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, url := apiServer(t)
			driverEnds(s, "spark", tt.status)
			r := sparkSubmit()
			code := r.do(submitTo(url, "--conf", "spark.kubernetes.namespace=spark")[1:]...)
			a := readAsAirflow(r.stderr.String())
			if code != tt.code || a.exitCode != tt.exitCode {
				t.Errorf("exit %d, in the output %d, want %d and %d\n%s", code, a.exitCode, tt.code, tt.exitCode, r.stderr.String())
			}
			name := kubetest.Text(s.List("pods")[0], "metadata", "name")
			label := kubetest.Text(s.List("pods")[0], "metadata", "labels", "spark-app-selector")
			if a.pod != name || a.namedPod != name || a.app != label || label == "" {
				t.Errorf("read %+v, want %s and %s", a, name, label)
			}
			if !strings.Contains(strings.Join(a.tail, "\n"), tt.cause) {
				t.Errorf("%q is not in the last lines: %q", tt.cause, a.tail)
			}
		})
	}
}

// S073: without waiting the driver's name is the last line, in every namespace.
func TestAirflowTracksWithoutWaiting(t *testing.T) {
	s, url := apiServer(t)
	r := sparkSubmit()
	if code := r.do(submitTo(url, "--conf", "spark.kubernetes.namespace=elsewhere", "--conf", "spark.kubernetes.submission.waitAppCompletion=false")[1:]...); code != 0 {
		t.Fatal(r.stderr.String())
	}
	name := kubetest.Text(s.List("pods")[0], "metadata", "name")
	if a := readAsAirflow(r.stderr.String()); a.pod != name || !strings.HasSuffix(r.lastLine(), " pod name: "+name) {
		t.Errorf("%+v, want %s; last line %q", a, name, r.lastLine())
	}
}

// The hook's whole argument list in its own order, Kubernetes' meaningless options included.
func TestAirflowArguments(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "p.conf", "spark.a=b\n")
	for _, f := range []string{"f.txt", "m.py", "a.zip", "j.jar"} {
		writeFile(t, dir, f, "")
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	r := &run{}
	code := r.do("render", "--master", "k8s://h", "--conf", "spark.kubernetes.container.image=i", "--conf", "spark.kubernetes.file.upload.path="+in("up"),
		"--conf", "spark.kubernetes.driverEnv.K=v=w", "--conf", "spark.kubernetes.namespace=ns", "--properties-file", in("p.conf"), "--files", in("f.txt"),
		"--py-files", in("m.py"), "--archives", in("a.zip"), "--driver-class-path", "/x/*", "--jars", in("j.jar"), "--packages", "g:a:1",
		"--exclude-packages", "g:b", "--repositories", "https://repo", "--num-executors", "2", "--total-executor-cores", "4", "--executor-cores", "1",
		"--executor-memory", "1g", "--driver-memory", "1g", "--proxy-user", "u", "--name", "arrow", "--class", "C", "--verbose", "--queue", "root.q",
		"--deploy-mode", "cluster", "local:///x.py", "--queue", "x")
	if code != 0 || !strings.Contains(r.stdout.String(), "- --queue\n") || !strings.Contains(r.stdout.String(), "namespace: ns") {
		t.Error(code, r.stdout.String(), r.stderr.String())
	}
}

// A refusal's cause is among the last twenty lines, also behind the usage text.
func TestAirflowSeesTheCause(t *testing.T) {
	s, url := apiServer(t)
	s.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Status: 403, Reason: "Forbidden", Message: "exceeded quota: q"})
	for _, args := range [][]string{{"--frob"}, submitTo(url)[1:], {"--master", "k8s://h", "--deploy-mode", "cluster", "a.jar"}} {
		r := sparkSubmit()
		code := r.do(args...)
		tail := readAsAirflow(r.stderr.String()).tail
		if code != 1 || !strings.HasPrefix(tail[len(tail)-1], "E") {
			t.Errorf("%d %q", code, tail)
		}
	}
}

// The labels of Airflow's custom-resource operator arrive on the driver; its log container has its name.
func TestAirflowFindsPodsByLabel(t *testing.T) {
	pods := renderPods(t, "--conf", "spark.kubernetes.driver.label.dag_id=d", "--conf", "spark.kubernetes.driver.label.task_id=t",
		"--conf", "spark.kubernetes.driver.label.run_id=r", "--conf", "spark.kubernetes.driver.label.try_number=1",
		"--conf", "spark.kubernetes.driver.label.spark_kubernetes_operator=True")
	hasLabels(t, pods[0], "dag_id=d", "task_id=t", "run_id=r", "try_number=1", "spark_kubernetes_operator=True", "spark-role=driver")
	if pods[0].Spec.Containers[0].Name != "spark-kubernetes-driver" {
		t.Error(pods[0].Spec.Containers[0].Name)
	}
}
