package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubespark/kubespark/internal/kubetest"
)

// Tests of what other tools read from a spark-submit. Each is named after the tool.

// sparkSubmit is a call under the name spark-submit, against an API server.
func sparkSubmit(environ ...string) *run {
	return &run{name: "/opt/spark/bin/spark-submit", environ: append([]string{"KUBECONFIG=/nowhere"}, environ...)}
}

// driverEnds lets each driver pod reach this status as soon as it may be scheduled.
func driverEnds(s *kubetest.Server, namespace string, status kubetest.Object) {
	s.OnChange(func(verb, resource string, obj kubetest.Object) {
		if verb == "update" && resource == "pods" && kubetest.Text(obj, "status", "phase") == "Pending" {
			s.Update("pods", namespace, kubetest.Text(obj, "metadata", "name"), func(o kubetest.Object) { o["status"] = status })
		}
	})
}

func terminatedContainer(name string, code int) kubetest.Object {
	return kubetest.Object{"name": name, "image": "i", "state": kubetest.Object{"terminated": kubetest.Object{"exitCode": code, "reason": "Completed"}}}
}

// renderPods are the driver and an executor of a submission.
func renderPods(t *testing.T, more ...string) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	for _, doc := range rendered(t, more...) {
		var p corev1.Pod
		if err := yaml.Unmarshal([]byte(doc), &p); err != nil {
			t.Fatal(err)
		}
		if p.Kind == "Pod" {
			pods = append(pods, p)
		}
	}
	if len(pods) != 2 {
		t.Fatalf("%d pods", len(pods))
	}
	return pods
}

func rendered(t *testing.T, more ...string) []string {
	t.Helper()
	r := &run{environ: []string{"KUBECONFIG=/nowhere"}}
	args := append([]string{"render", "--master", "k8s://h", "--name", "app", "--conf", "spark.kubernetes.container.image=i"}, more...)
	if code := r.do(append(args, "local:///x.py")...); code != 0 {
		t.Fatal(r.stderr.String())
	}
	return strings.Split(r.stdout.String(), "---\n")[1:]
}

func hasLabels(t *testing.T, p corev1.Pod, want ...string) {
	t.Helper()
	for _, kv := range want {
		if k, v, _ := strings.Cut(kv, "="); p.Labels[k] != v {
			t.Errorf("%s: label %s is %q, want %q", p.Name, k, p.Labels[k], v)
		}
	}
}

// Kyuubi takes the first line with an exception's name as the cause of a failed engine; output streams are merged.
func TestKyuubiFindsTheCause(t *testing.T) {
	cause := func(output string) string {
		for line := range strings.Lines(output) {
			line = strings.TrimRight(line, "\n")
			lower := strings.ToLower(line)
			if (strings.Contains(lower, "exception:") || strings.Contains(lower, "exception in thread")) && !strings.Contains(line, "at ") && !strings.HasPrefix(line, "Caused by:") {
				return line
			}
		}
		return ""
	}
	for _, tt := range []struct{ args, want string }{
		{"--master k8s://h --deploy-mode cluster local:///x.py", `Exception in thread "main" org.apache.spark.SparkException: Must specify the driver container image`},
		{"--master k8s://h --deploy-mode cluster --driver-memory x local:///x.py", `Exception in thread "main" org.apache.spark.SparkException: Driver memory must be a positive number`},
		{"--master nobody local:///x.py", `Exception in thread "main" org.apache.spark.SparkException: Master must either be yarn or start with spark, k8s, or local`},
	} {
		r := sparkSubmit()
		if r.do(strings.Fields(tt.args)...); cause(r.stderr.String()) != tt.want {
			t.Errorf("%s: %q", tt.args, cause(r.stderr.String()))
		}
	}
}

// Kyuubi makes the UI's address from the driver's Service: it looks for its own tag and the application's id in the
// selector, and for the port by name.
func TestKyuubiFindsTheUI(t *testing.T) {
	docs := rendered(t, "--conf", "spark.kubernetes.driver.label.kyuubi-unique-tag=tag")
	i := slices.IndexFunc(docs, func(d string) bool { return strings.Contains(d, "kind: Service\n") })
	var svc corev1.Service
	if err := yaml.Unmarshal([]byte(docs[i]), &svc); err != nil {
		t.Fatal(err)
	}
	if svc.Spec.Selector["kyuubi-unique-tag"] != "tag" || !strings.HasPrefix(svc.Spec.Selector["spark-app-selector"], "spark-") {
		t.Error(svc.Spec.Selector)
	}
	var ports []string
	for _, p := range svc.Spec.Ports {
		ports = append(ports, p.Name)
	}
	if diff := cmp.Diff([]string{"driver-rpc-port", "blockmanager", "spark-ui"}, ports[:3]); diff != "" {
		t.Error(diff)
	}
}

// Livy asks for the version at its start and takes the first match in the merged output.
func TestLivyReadsTheVersion(t *testing.T) {
	home := sparkHome(t)
	writeFile(t, home, "jars/spark-core_2.13-4.1.1.jar", "")
	r := sparkSubmit("SPARK_HOME=" + home)
	code := r.do("--version")
	m := regexp.MustCompile(`version (.*)`).FindStringSubmatch(r.stderr.String())
	if code != 0 || r.stdout.Len() > 0 || m == nil || m[1] != "4.1.1" {
		t.Errorf("%d %q: %s", code, m, r.stderr.String())
	}
	for _, start := range []string{"Using Scala version", "Branch", "Compiled by user", "Revision", "Url", "Type --help for more information."} {
		if !strings.Contains(r.stderr.String(), "\n"+start) {
			t.Errorf("no line %q", start)
		}
	}
}

// Livy finds pods by labels, and the UI by the driver's name.
func TestLivyFindsPodsAndUI(t *testing.T) {
	pods := renderPods(t, "--conf", "spark.kubernetes.driver.label.spark-app-tag=livy-1", "--conf", "spark.kubernetes.executor.label.spark-app-tag=livy-1")
	driver, executor := pods[0], pods[1]
	hasLabels(t, driver, "spark-role=driver", "spark-app-tag=livy-1")
	hasLabels(t, executor, "spark-role=executor", "spark-app-tag=livy-1", "spark-exec-id=1", "spark-app-selector="+driver.Labels["spark-app-selector"])
	docs := rendered(t)
	service := regexp.MustCompile(`(?s)kind: Service\n.*?\n  name: (\S+)\n`)
	name := regexp.MustCompile(`(?s)kind: Pod\n.*?\n  name: (\S+)\n`).FindStringSubmatch(docs[0])[1]
	if m := service.FindStringSubmatch(strings.Join(docs, "")); m == nil || m[1] != name+"-svc" {
		t.Errorf("%q beside %s", m, name)
	}
}

// SparkLauncher's own variables do no harm and reach neither pods nor their companions; the real spark-submit gets them.
func TestSparkLauncherVariables(t *testing.T) {
	s, url := apiServer(t)
	driverEnds(s, "default", kubetest.Object{"phase": "Succeeded", "containerStatuses": []any{terminatedContainer("spark-kubernetes-driver", 0)}})
	launcher := []string{"_SPARK_LAUNCHER_PORT=45678", "_SPARK_LAUNCHER_SECRET=s3cr3t0"}
	r := sparkSubmit(launcher...)
	if code := r.do(submitTo(url)[1:]...); code != 0 {
		t.Fatal(r.stderr.String())
	}
	all := ""
	for _, resource := range []string{"pods", "configmaps", "services", "secrets", "networkpolicies"} {
		body, err := json.Marshal(s.List(resource))
		if err != nil {
			t.Fatal(err)
		}
		all += string(body)
	}
	for _, word := range []string{"LAUNCHER", "45678", "s3cr3t0"} {
		if strings.Contains(all, word) || strings.Contains(r.stderr.String(), word) {
			t.Errorf("%s got out", word)
		}
	}
	r = sparkSubmit(append(launcher, "SPARK_HOME="+sparkHome(t))...)
	if r.do("--master", "yarn", "a.jar"); !slices.Contains(r.execEnv, launcher[0]) || !slices.Contains(r.execEnv, launcher[1]) {
		t.Error(r.execEnv)
	}
}

// The kubeflow operator looks at stderr and the exit code; code=409 says that the driver pod exists.
func TestKubeflowDriverPodExists(t *testing.T) {
	_, url := apiServer(t)
	args := submitTo(url, "--conf", "spark.kubernetes.driver.pod.name=app-driver", "--conf", "spark.kubernetes.submission.waitAppCompletion=false")[1:]
	r := sparkSubmit()
	if code := r.do(args...); code != 0 {
		t.Fatal(r.stderr.String())
	}
	r = sparkSubmit()
	code := r.do(args...)
	if code != 1 || r.stdout.Len() > 0 || !strings.Contains(r.lastLine(), "(code=409, reason=AlreadyExists)") {
		t.Error(code, r.stderr.String())
	}
}

// The operator's arguments: its labels arrive, a blank template is none, and the driver pod is there when we return.
func TestKubeflowArguments(t *testing.T) {
	s, url := apiServer(t)
	dir := t.TempDir()
	writeFile(t, dir, "driver.yaml", "")
	writeFile(t, dir, "executor.yaml", "{}\n")
	confDir := t.TempDir()
	writeFile(t, confDir, "spark-defaults.conf", "spark.kubernetes.driver.label.from=defaults\n")
	writeFile(t, dir, "p.conf", "")
	r := sparkSubmit("SPARK_CONF_DIR=" + confDir)
	args := submitTo(url, "--load-spark-defaults", "--properties-file", filepath.Join(dir, "p.conf"))[1:]
	options := []string{
		"spark.kubernetes.namespace=jobs", "spark.kubernetes.submission.waitAppCompletion=false", "spark.kubernetes.driver.pod.name=app-driver",
		"spark.kubernetes.driver.podTemplateFile=" + filepath.Join(dir, "driver.yaml"), "spark.kubernetes.driver.podTemplateContainerName=spark-kubernetes-driver",
		"spark.kubernetes.executor.podTemplateFile=" + filepath.Join(dir, "executor.yaml"), "spark.kubernetes.executor.podTemplateContainerName=executor",
	}
	for _, role := range []string{"driver", "executor"} {
		for _, l := range []string{"app-name=app", "launched-by-spark-operator=true", "mutated-by-spark-operator=true", "submission-id=1-2"} {
			options = append(options, "spark.kubernetes."+role+".label.sparkoperator.k8s.io/"+l)
		}
	}
	for _, o := range options {
		args = slices.Insert(args, len(args)-1, "--conf", o)
	}
	if code := r.do(args...); code != 0 {
		t.Fatal(r.stderr.String())
	}
	pod := s.Get("pods", "jobs", "app-driver")
	if pod == nil {
		t.Fatal("no driver pod")
	}
	labels := kubetest.Labels(pod)
	for _, kv := range []string{"app-name=app", "launched-by-spark-operator=true", "mutated-by-spark-operator=true", "submission-id=1-2"} {
		if k, v, _ := strings.Cut(kv, "="); labels["sparkoperator.k8s.io/"+k] != v {
			t.Errorf("%s: %v", kv, labels)
		}
	}
	if labels["from"] != "defaults" {
		t.Error(labels)
	}
}

// Names that dashboards, log collectors and operators look for.
func TestKeptNames(t *testing.T) {
	pods := renderPods(t, "--conf", "spark.ui.proxyBase=/p", "--conf", "spark.ui.proxyRedirectUri=http://g")
	for i, role := range []string{"driver", "executor"} {
		c := pods[i].Spec.Containers[0]
		if c.Name != "spark-kubernetes-"+role {
			t.Error(c.Name)
		}
		hasLabels(t, pods[i], "spark-role="+role, "spark-app-name=app", "spark-version=4.2.0")
	}
	var ports []string
	for _, p := range pods[0].Spec.Containers[0].Ports {
		ports = append(ports, p.Name)
	}
	if diff := cmp.Diff([]string{"driver-rpc-port", "blockmanager", "spark-ui"}, ports[:3]); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(pods[0].Spec.Containers[0].Args, "/opt/spark/conf/spark.properties") {
		t.Error(pods[0].Spec.Containers[0].Args)
	}
	for _, line := range []string{"spark.ui.proxyBase=/p\n", `spark.ui.proxyRedirectUri=http\://g`} {
		if !strings.Contains(strings.ReplaceAll(strings.Join(rendered(t, "--conf", "spark.ui.proxyBase=/p", "--conf", "spark.ui.proxyRedirectUri=http://g"), ""), "    ", ""), line) {
			t.Errorf("%q is missing", line)
		}
	}
}

// YuniKorn and Kueue read labels that only users set.
func TestYuniKornAndKueueLabels(t *testing.T) {
	for _, p := range renderPods(t) {
		for k := range p.Labels {
			if strings.Contains(k, "yunikorn") || strings.Contains(k, "kueue") || k == "applicationId" || k == "queue" {
				t.Errorf("%s has a label %s that nobody asked for", p.Name, k)
			}
		}
	}
	users := []string{"kueue.x-k8s.io/queue-name=q", "yunikorn.apache.org/app-id=a", "queue=root.q", "applicationId=x"}
	var more []string
	for _, role := range []string{"driver", "executor"} {
		for _, l := range users {
			more = append(more, "--conf", "spark.kubernetes."+role+".label."+l)
		}
	}
	more = append(more, "--conf", "spark.kubernetes.executor.annotation.kueue.x-k8s.io/pod-suspending-parent=spark-driver")
	pods := renderPods(t, more...)
	hasLabels(t, pods[0], users...)
	hasLabels(t, pods[1], users...)
	if pods[1].Annotations["kueue.x-k8s.io/pod-suspending-parent"] != "spark-driver" {
		t.Error(pods[1].Annotations)
	}
}

// L14: log lines have Spark's default pattern, and nothing is on stdout.
func TestLogLinesHaveSparksPattern(t *testing.T) {
	s, url := apiServer(t)
	driverEnds(s, "default", kubetest.Object{"phase": "Succeeded", "containerStatuses": []any{terminatedContainer("spark-kubernetes-driver", 0)}})
	r := sparkSubmit("NO_COLOR=", "TERM=xterm")
	if code := r.do(submitTo(url)[1:]...); code != 0 || r.stdout.Len() > 0 {
		t.Fatal(code, r.stdout.String())
	}
	record := regexp.MustCompile(`^\d\d/\d\d/\d\d \d\d:\d\d:\d\d (TRACE|DEBUG|INFO|WARN|ERROR) \w+: `)
	for line := range strings.Lines(r.stderr.String()) {
		if !record.MatchString(line) && !strings.HasPrefix(line, "\t") && line != "\n" {
			t.Errorf("%q", line)
		}
		if strings.ContainsRune(line, 0x1b) || strings.ContainsRune(line, '\r') {
			t.Errorf("a terminal's sequence: %q", line)
		}
	}
}

// An unwritable home and working folder, and no folder for temporary files, do not matter.
func TestSubmitNeedsNoFolder(t *testing.T) {
	_, url := apiServer(t)
	empty := t.TempDir()
	t.Chdir(empty)
	r := sparkSubmit("HOME=/nowhere", "TMPDIR=/nowhere")
	if code := r.do(submitTo(url, "--conf", "spark.kubernetes.submission.waitAppCompletion=false")[1:]...); code != 0 {
		t.Fatal(r.stderr.String())
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}
