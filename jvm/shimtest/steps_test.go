//go:build spark

package shimtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// compile makes a jar of the Java sources in a folder of testdata, against a Spark's jars.
func compile(t *testing.T, version, folder string) string {
	t.Helper()
	dir := t.TempDir()
	sources, err := filepath.Glob(filepath.Join("testdata", folder, "*.java"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources in testdata/%s: %v", folder, err)
	}
	classes := filepath.Join(dir, "classes")
	javac := exec.Command("javac", append([]string{"--release", "17", "-d", classes, "-cp", made.homes[version] + "/jars/*"}, sources...)...)
	if out, err := javac.CombinedOutput(); err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	jar := filepath.Join(dir, folder+".jar")
	if out, err := exec.Command("jar", "--create", "--file", jar, "-C", classes, ".").CombinedOutput(); err != nil {
		t.Fatalf("jar: %v\n%s", err, out)
	}
	return jar
}

// PX2, E191: the user's own executor feature steps run on what the manager has built; unknown fields survive.
func TestUserStepsE191(t *testing.T) {
	t.Parallel()
	jar := compile(t, base, "steps")
	r := start(t, app{script: "build", args: []string{"--jars", jar},
		conf:    map[string]string{"spark.kubernetes.executor.pod.featureSteps": "org.example.ExampleStep", "spark.app.id": "app-1"},
		program: []string{"rounds.py", os.DevNull}})
	var got struct {
		Pod struct {
			Metadata struct{ Labels map[string]string }
			Spec     map[string]any
		}
		Container struct {
			Name, NewField string
			Env            []struct{ Name, Value string }
			Resources      struct{ Limits map[string]string }
		}
		Objects []struct {
			Kind     string
			Metadata struct{ Name string }
		}
	}
	if err := json.Unmarshal(r.await("built", 1).Params, &got); err != nil {
		t.Fatal(err)
	}
	if got.Pod.Metadata.Labels["example"] != "of-1" || got.Pod.Metadata.Labels["a"] != "b" || got.Pod.Spec["newPodField"] == nil {
		t.Errorf("pod: %+v", got.Pod)
	}
	c := got.Container
	if c.Name != "spark" || c.NewField != "kept" || len(c.Env) != 1 || c.Env[0].Value != "app-1" || c.Resources.Limits["memory"] != "1408Mi" {
		t.Errorf("container: %+v", c)
	}
	if len(got.Objects) != 1 || got.Objects[0].Kind != "Secret" || got.Objects[0].Metadata.Name != "example-1" {
		t.Errorf("objects: %+v", got.Objects)
	}
	if text := string(r.await("not built", 1).Params); !strings.Contains(text, `"message":"the step has no pod for executor 2"`) {
		t.Errorf("the error of executor 2: %s", text)
	}
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// PX2: a class that is missing, or no feature step, ends the start before a manager runs; an excluded one does not.
func TestBadUserSteps(t *testing.T) {
	for name, class := range map[string]string{"missing": "org.example.Missing", "no step": "java.lang.Object"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, app{conf: map[string]string{"spark.kubernetes.executor.pod.featureSteps": class + ",org.example.Excluded",
				"spark.kubernetes.executor.pod.excludedFeatureSteps": "org.example.Excluded"}, program: []string{"idle.py"}})
			if code := r.wait(); code == 0 {
				t.Error("exit code 0")
			}
			r.expect("Failed to initialize feature step: " + class + ", please make sure your executor side feature steps are implemented by " +
				"`KubernetesExecutorCustomFeatureConfigStep` or `KubernetesFeatureConfigStep`.")
			if got := r.notes(); len(got) != 0 {
				t.Errorf("a manager was started: %v", kinds(got))
			}
		})
	}
}
