//go:build e2e && contracts

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// operator is the kubeflow Spark operator in a namespace, with our spark-submit in its SPARK_HOME.
type operator struct {
	*job
	dir string
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	o := &operator{job: newJob(t)}
	// Not below the folder for temporary files: the pod has an empty one there.
	dir, err := os.MkdirTemp("/var/tmp", "kubespark-operator-")
	if err != nil {
		t.Fatal(err)
	}
	o.dir = dir
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.MkdirAll(filepath.Join(dir, "home/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for to, from := range map[string]string{"spark-operator": needEnv(t, "KUBESPARK_OPERATOR"), "kubespark": filepath.Join(cluster.bin, "kubespark"),
		"home/bin/spark-submit": filepath.Join(cluster.sparkHomes[defaultSpark], "bin/spark-submit")} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/opt/spark/jars", filepath.Join(dir, "home/jars")); err != nil {
		t.Fatal(err)
	}
	install(t, filepath.Join(dir, "kubespark"), "--spark-home", filepath.Join(dir, "home"))
	o.apply(filepath.Join(needEnv(t, "KUBESPARK_OPERATOR_MODULE"), "config/crd/bases"))
	eventually(t, time.Minute, "the server knows the operator's kinds", func() (bool, string) {
		cmd := o.kubectl(t.Context(), "get", "sparkapplications,scheduledsparkapplications,sparkconnects")
		cmd.Stderr = nil
		out, err := cmd.CombinedOutput()
		return err == nil, string(out)
	})
	manifest, err := os.ReadFile("testdata/operator.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("$NAMESPACE", o.namespace, "$DIR", dir, "$IMAGE", imageOf(defaultSpark)).Replace(string(manifest))
	file := filepath.Join(t.TempDir(), "operator.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	o.apply(file)
	o.runs("operator")
	return o
}

func (o *operator) run(args ...string) string {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), time.Minute)
	defer cancel()
	out, err := o.kubectl(ctx, args...).Output()
	if err != nil {
		o.t.Fatalf("kubectl %q: %v", args, err)
	}
	return string(out)
}

func (o *operator) apply(file string) { o.t.Helper(); o.run("apply", "--server-side", "-f", file) }

// application makes a SparkApplication; change may alter its spec.
func (o *operator) application(name string, change func(spec map[string]any)) {
	o.t.Helper()
	volumes := []any{map[string]any{"name": "apps", "hostPath": map[string]any{"path": cluster.apps}}}
	spec := map[string]any{
		"type": "Python", "mode": "cluster", "sparkVersion": defaultSpark, "image": imageOf(defaultSpark), "pythonVersion": "3",
		"mainApplicationFile": pi, "arguments": []any{"4"}, "restartPolicy": map[string]any{"type": "Never"},
		// Spark 4.2 makes a NetworkPolicy for each driver; the operator's chart does not let it.
		"sparkConf": map[string]any{"spark.kubespark.jar": "/opt/kubespark/kubespark.jar",
			"spark.kubernetes.driver.pod.excludedFeatureSteps": "org.apache.spark.deploy.k8s.features.NetworkPolicyFeatureStep"},
		"driver": map[string]any{"cores": 1, "memory": "512m", "serviceAccount": "spark", "labels": map[string]any{"team": "a"},
			"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{"from": "template"}}, "spec": map[string]any{"containers": []any{map[string]any{"name": "spark-kubernetes-driver",
				"volumeMounts": []any{map[string]any{"name": "apps", "mountPath": "/apps"}}}}, "volumes": volumes}}},
		"executor": map[string]any{"instances": 1, "cores": 1, "memory": "512m"},
	}
	if change != nil {
		change(spec)
	}
	file := filepath.Join(o.t.TempDir(), name+".json")
	text := asJSON(o.t, map[string]any{"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication",
		"metadata": map[string]any{"name": name, "namespace": o.namespace, "labels": map[string]any{"owner": "b"}}, "spec": spec})
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		o.t.Fatal(err)
	}
	o.apply(file)
}

// appStatus is what the operator says of an application.
type appStatus struct {
	ApplicationState struct{ State, ErrorMessage string }
	DriverInfo       struct{ PodName, WebUIServiceName string }
	ExecutorState    map[string]string
	SparkApplication string `json:"sparkApplicationId"`
}

// reaches waits until the operator reports a state.
func (o *operator) reaches(name, state string) appStatus {
	o.t.Helper()
	var app struct{ Status appStatus }
	eventually(o.t, 3*time.Minute, name+" is "+state, func() (bool, string) {
		text := o.run("get", "sparkapplication", name, "-o", "json")
		app.Status = appStatus{}
		if err := json.Unmarshal([]byte(text), &app); err != nil {
			return false, err.Error()
		}
		time.Sleep(time.Second) // a kubectl process a second is enough
		return app.Status.ApplicationState.State == state, fmt.Sprintf("%+v", app.Status)
	})
	return app.Status
}

// The operator runs an application through our spark-submit, follows it and its executors, and says how it ended.
func TestContractKubeflowOperator(t *testing.T) {
	o := newOperator(t)
	pods := o.watchPods()
	o.application("pi", nil)
	status := o.reaches("pi", "COMPLETED")
	driver, err := cluster.client.CoreV1().Pods(o.namespace).Get(t.Context(), "pi-driver", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"sparkoperator.k8s.io/app-name": "pi", "sparkoperator.k8s.io/launched-by-spark-operator": "true", "team": "a", "owner": "b", "spark-role": "driver"} {
		if driver.Labels[k] != v {
			t.Errorf("the driver's label %s is %q, want %q", k, driver.Labels[k], v)
		}
	}
	if driver.Annotations["from"] != "template" {
		t.Errorf("the template's annotation is missing: %v", driver.Annotations)
	}
	if status.DriverInfo.PodName != "pi-driver" || status.SparkApplication != driver.Labels["spark-app-selector"] {
		t.Errorf("%+v", status)
	}
	for name, state := range status.ExecutorState {
		if state != "COMPLETED" {
			t.Errorf("executor %s is %s", name, state)
		}
	}
	if len(status.ExecutorState) != 1 {
		t.Errorf("the operator saw these executors: %v", status.ExecutorState)
	}
	if log := podLog(t.Context(), driver); !strings.Contains(log, "Pi is roughly 3.1") {
		t.Error(tail(log, 20))
	}
	createdBy(t, pods(), "kubespark")
	if f := driver.ManagedFields[0]; !strings.HasPrefix(f.Manager, "kubespark") {
		t.Errorf("the driver was created by %s", f.Manager)
	}

	t.Run("a right that is missing", func(t *testing.T) {
		o.application("forbidden", func(spec map[string]any) { spec["sparkConf"] = map[string]any{} })
		if s := o.reaches("forbidden", "FAILED"); !strings.Contains(s.ApplicationState.ErrorMessage, `cannot create resource "networkpolicies"`) {
			t.Errorf("%+v", s)
		}
		if pods := o.pods("sparkoperator.k8s.io/app-name=forbidden"); len(pods) > 0 {
			t.Errorf("%d pods of a submission that failed", len(pods))
		}
	})
	t.Run("a driver that fails", func(t *testing.T) {
		o.application("bad", func(spec map[string]any) {
			spec["mainApplicationFile"], spec["arguments"] = "local:///apps/fail.py", []any{"3"}
		})
		if s := o.reaches("bad", "FAILED"); !strings.Contains(s.ApplicationState.ErrorMessage, "3") {
			t.Errorf("%+v", s)
		}
	})
	t.Run("a submission that is refused", func(t *testing.T) {
		o.application("refused", func(spec map[string]any) { delete(spec, "image") })
		if s := o.reaches("refused", "FAILED"); !strings.Contains(s.ApplicationState.ErrorMessage, "Must specify the driver container image") {
			t.Errorf("%+v", s)
		}
	})
	t.Run("a driver pod that is there already", func(t *testing.T) {
		taken := shellPod("taken-driver", "sleep 300")
		o.create(taken)
		o.application("taken", nil)
		if s := o.reaches("taken", "FAILED"); !strings.Contains(s.ApplicationState.ErrorMessage, "driver pod already exist") {
			t.Errorf("%+v", s)
		}
	})
}
