//go:build e2e && contracts

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Tests with the real programs that find us under the name spark-submit. They run by `make test-contracts`, and read
//
//	KUBESPARK_AIRFLOW_PYTHON   Python with Apache Airflow and its Spark provider
//	KUBESPARK_OPERATOR         the kubeflow Spark operator's program
//	KUBESPARK_OPERATOR_MODULE  its Go module's folder

// needEnv returns a variable that hack/contracts.sh sets.
func needEnv(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set; run the tests with `make test-contracts`", name)
	}
	return value
}

// install runs kubespark's install command.
func install(t *testing.T, kubespark string, args ...string) {
	t.Helper()
	if out, err := exec.Command(kubespark, append([]string{"install", "spark-submit"}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("install: %v\n%s", err, out)
	}
}

// hookResult is what Airflow's hook learned of a submission.
type hookResult struct {
	Pod, App, Error, Phase string
	ExitCode               *int `json:"exit_code"`
}

// airflow runs an application by Airflow's own hook, through an installed spark-submit on the PATH.
func (j *job) airflow(action string, hook map[string]any, app ...string) hookResult {
	j.t.Helper()
	bin, home := j.t.TempDir(), j.t.TempDir()
	install(j.t, filepath.Join(cluster.bin, "kubespark"), "--dir", bin)
	conf := map[string]string{}
	arguments := j.arguments()
	for i := 0; i+1 < len(arguments); i++ {
		if k, v, ok := strings.Cut(arguments[i+1], "="); ok && arguments[i] == "--conf" {
			conf[k] = v
		}
	}
	delete(conf, "spark.kubernetes.namespace") // the connection has it
	keywords := map[string]any{"conf": conf, "name": "airflow job", "num_executors": 1, "executor_cores": 1, "total_executor_cores": 1, "verbose": true}
	for k, v := range hook {
		keywords[k] = v
	}
	connection := map[string]any{"conn_type": "spark", "host": cluster.master,
		"extra": map[string]string{"deploy-mode": "cluster", "namespace": j.namespace, "queue": "root.default"}}
	cmd := exec.Command(needEnv(j.t, "KUBESPARK_AIRFLOW_PYTHON"), append([]string{"testdata/airflow_hook.py", action}, app...)...)
	cmd.Env = append(os.Environ(), "PATH="+bin+":/usr/bin:/bin", "AIRFLOW_HOME="+home, "KUBECONFIG="+cluster.kubeconfig, "SIGNALS="+j.signals,
		"AIRFLOW__KUBERNETES_EXECUTOR__IN_CLUSTER=False", "AIRFLOW__KUBERNETES_EXECUTOR__CONFIG_FILE="+cluster.kubeconfig,
		"AIRFLOW__CORE__UNIT_TEST_MODE=False", "HOOK="+asJSON(j.t, keywords), "AIRFLOW_CONN_SPARK_DEFAULT="+asJSON(j.t, connection))
	cmd.Stdout, cmd.Stderr = &j.output, &j.output
	err := cmd.Run()
	_, line, ok := strings.Cut(j.output.String(), "RESULT ")
	if err != nil || !ok {
		j.t.Fatalf("the hook's program failed: %v\n%s", err, j.output.String())
	}
	var r hookResult
	if err := json.NewDecoder(strings.NewReader(line)).Decode(&r); err != nil {
		j.t.Fatal(err)
	}
	return r
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func exitCode(r hookResult) string {
	if r.ExitCode == nil {
		return "none"
	}
	return fmt.Sprint(*r.ExitCode)
}

// The hook waits for a job, and knows driver, application and exit code.
func TestContractAirflowRuns(t *testing.T) {
	j := newJob(t)
	r := j.airflow("run", map[string]any{"env_vars": map[string]string{"GREETING": "hello"}}, pi, "4")
	driver := j.driver()
	if r.Error != "" || exitCode(r) != "0" || r.Pod != driver.Name || r.App != j.appID() {
		t.Errorf("%+v, exit code %s; the driver is %s of %s", r, exitCode(r), driver.Name, j.appID())
	}
	j.logs("Pi is roughly 3.1")
	j.leavesNothing()
}

// A failing driver fails the hook, with the exit code and the reason in its error.
func TestContractAirflowFails(t *testing.T) {
	j := newJob(t).withApps()
	r := j.airflow("run", nil, "local:///apps/fail.py", "3")
	if exitCode(r) != "3" || !strings.Contains(r.Error, "Error code is: 3. Kubernetes spark exit code is: 3") || !strings.Contains(r.Error, "the driver exited with 3") {
		t.Errorf("exit code %s, error %s", exitCode(r), r.Error)
	}
}

// The hook's kill ends submitter and driver.
func TestContractAirflowKills(t *testing.T) {
	j := newJob(t).withApps()
	r := j.airflow("kill", nil, "local:///apps/rounds.py", "/signals", "1")
	if r.Pod == "" || !strings.Contains(r.Error, "Error code is: -9") {
		t.Errorf("%+v", r)
	}
	eventually(t, time.Minute, "the driver pod and its executors are gone", func() (bool, string) {
		_, err := cluster.client.CoreV1().Pods(j.namespace).Get(t.Context(), r.Pod, metav1.GetOptions{})
		left := len(j.pods(""))
		return apierrors.IsNotFound(err) && left == 0, fmt.Sprintf("%v, %d pods", err, left)
	})
}

// Without waiting, the hook polls the driver pod that our last line names, in a namespace of any name, and deletes it.
func TestContractAirflowTracks(t *testing.T) {
	j := newJob(t)
	r := j.airflow("track", nil, pi, "2")
	if r.Error != "" || r.Phase != "Succeeded" || !strings.HasSuffix(r.Pod, "-driver") {
		t.Errorf("%+v", r)
	}
	eventually(t, time.Minute, "the driver pod is gone", func() (bool, string) {
		_, err := cluster.client.CoreV1().Pods(j.namespace).Get(t.Context(), r.Pod, metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
}

// A refused submission fails the hook with our own sentence.
func TestContractAirflowSeesARefusal(t *testing.T) {
	j := newJob(t)
	r := j.airflow("run", map[string]any{"driver_memory": "lots"}, pi)
	if !strings.Contains(r.Error, "Driver memory must be a positive number") || !strings.Contains(r.Error, "Error code is: 1") {
		t.Errorf("%+v", r)
	}
}

// The installed name hands a line to the real spark-submit, which submits it by its own means.
func TestContractRealSparkSubmit(t *testing.T) {
	j := newJob(t)
	home := t.TempDir()
	for _, name := range []string{"jars", "python", "examples"} {
		if err := os.Symlink(filepath.Join(cluster.sparkHomes[defaultSpark], name), filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(home, "bin"), os.DirFS(filepath.Join(cluster.sparkHomes[defaultSpark], "bin"))); err != nil {
		t.Fatal(err)
	}
	install(t, filepath.Join(cluster.bin, "kubespark"), "--spark-home", home)
	run := func(args ...string) string {
		cmd := exec.Command(filepath.Join(home, "bin/spark-submit"), args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.kubeconfig, "PYSPARK_PYTHON=python3")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	// Another master, without SPARK_HOME.
	if out := run("--master", "local[1]", "--conf", "spark.ui.enabled=false", filepath.Join(home, "examples/pi.py"), "1"); !strings.Contains(out, "Pi is roughly 3.1") {
		t.Error(out)
	}
	// Cluster mode with the fallback: the JVM creates the driver pod.
	j.with("spark.kubespark.submit.fallback=spark-submit")
	if out := run(j.arguments(pi, "2")...); !strings.Contains(out, "exit code: 0") {
		t.Error(out)
	}
	driver := j.driver()
	for _, f := range driver.ManagedFields {
		if strings.HasPrefix(f.Manager, "kubespark") && f.Subresource == "" {
			t.Errorf("the driver pod was written by %s", f.Manager)
		}
	}
	j.logs("Pi is roughly 3.1")
}
