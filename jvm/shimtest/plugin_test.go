//go:build spark

package shimtest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// small is an API server with one executor pod, its claim and its memory metrics. It keeps what it was asked, without
// queries.
type small struct {
	mu    sync.Mutex
	asked []string
}

func (s *small) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+storage(body)))
	s.mu.Unlock()
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"exec-1","namespace":"default","labels":{"spark-exec-id":"1"}},"spec":{` +
		`"containers":[{"name":"spark-kubernetes-executor","resources":{"limits":{"memory":"1000Mi"}},"volumeMounts":[{"name":` +
		`"spark-local-dir-1","mountPath":"/data"}]}],"volumes":[{"name":"spark-local-dir-1","persistentVolumeClaim":{"claimName":"claim-1"}}]}}`
	claim := `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"claim-1","namespace":"default"},"spec":{"resources":` +
		`{"requests":{"storage":"1Gi"}}},"status":{"capacity":{"storage":"1Gi"}}}`
	answers := map[string]string{
		"/api/v1/namespaces/default/pods":                           `{"apiVersion":"v1","kind":"PodList","items":[` + pod + `]}`,
		"/api/v1/namespaces/default/pods/exec-1":                    pod,
		"/api/v1/namespaces/default/pods/exec-1/resize":             pod,
		"/api/v1/namespaces/default/persistentvolumeclaims/claim-1": claim,
		"/apis/metrics.k8s.io/v1beta1/namespaces/default/pods/exec-1": `{"apiVersion":"metrics.k8s.io/v1beta1","kind":"PodMetrics","metadata":` +
			`{"name":"exec-1"},"containers":[{"name":"spark-kubernetes-executor","usage":{"memory":"990Mi"}}]}`,
	}
	w.Header().Set("Content-Type", "application/json")
	text, ok := answers[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		text = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404}`
	}
	_, _ = io.WriteString(w, text) // the client may have gone
}

// storage is the size that a patch asks for: of a claim, or of a container's memory.
func storage(body []byte) string {
	var p struct {
		Spec struct {
			Resources  struct{ Requests map[string]string }
			Containers []struct {
				Resources struct{ Limits map[string]string }
			}
		}
	}
	if json.Unmarshal(body, &p) != nil {
		return ""
	}
	if size := p.Spec.Resources.Requests["storage"]; size != "" {
		return size
	}
	for _, c := range p.Spec.Containers {
		return c.Resources.Limits["memory"]
	}
	return ""
}

func (s *small) has(line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.asked, line)
}

// resizing runs Spark's two resize plug-ins under an allocator.
func resizing(t *testing.T, version, allocator string) (*running, *small, func()) {
	t.Helper()
	s := &small{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	finish := filepath.Join(t.TempDir(), "finish")
	k8s := "org.apache.spark.scheduler.cluster.k8s."
	r := start(t, app{version: version, master: "k8s://" + server.URL, script: "idle", program: []string{"resize.py", finish}, conf: props{
		"spark.plugins": k8s + "ExecutorResizePlugin," + k8s + "ExecutorPVCResizePlugin",
		"spark.kubernetes.executor.resizeInterval":     "1s",
		"spark.kubernetes.allocation.pods.allocator":   allocator,
		"spark.kubernetes.authenticate.oauthToken":     "plug-in",
		"spark.kubernetes.executor.podDeletionCost":    "1",
		"spark.kubernetes.executor.pvc.resizeFactor":   "1.0",
		"spark.kubernetes.executor.pvc.resizeInterval": "5min",
	}})
	return r, s, func() {
		t.Helper()
		if err := os.WriteFile(finish, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if code := r.wait(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

// E262: Spark's own resize plug-ins find a working API client on our backend, and enlarge a container and a claim.
func TestResizePluginsE262(t *testing.T) {
	for _, version := range slices.Sorted(maps.Keys(made.homes)) {
		if version < "4.2" {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r, s, finish := resizing(t, version, "direct")
			wanted := []string{
				"PATCH /api/v1/namespaces/default/pods/exec-1/resize Bearer plug-in " + fmt.Sprint(1153433600), // 1000Mi and a tenth
				"PATCH /api/v1/namespaces/default/persistentvolumeclaims/claim-1 Bearer plug-in " + fmt.Sprint(2<<30),
			}
			for _, line := range wanted {
				for deadline := time.Now().Add(90 * time.Second); !s.has(line); time.Sleep(50 * time.Millisecond) {
					if time.Now().After(deadline) || r.cmd.ProcessState != nil {
						t.Fatalf("no %q among %q", line, s.asked)
					}
				}
			}
			finish()
		})
	}
}

// E262: under another allocator the plug-ins decline by themselves.
func TestResizePluginsDeclineE262(t *testing.T) {
	t.Parallel()
	r, s, finish := resizing(t, base, "statefulset")
	finish()
	r.expect("the claims were looked at")
	for _, plugin := range []string{"ExecutorResize", "ExecutorPVCResize"} {
		if !slices.ContainsFunc(strings.Split(r.output.String(), "\n"), func(l string) bool {
			return strings.Contains(l, "WARN "+plugin) && strings.Contains(l, "statefulset")
		}) {
			t.Errorf("%s does not decline", plugin)
		}
	}
	if len(s.asked) > 0 {
		t.Errorf("the API server was asked %q", s.asked)
	}
}

// E272: what executors tell of themselves reaches Spark as they said it.
func TestAttributesE272(t *testing.T) {
	for _, version := range slices.Sorted(maps.Keys(made.homes)) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := start(t, app{version: version, env: []string{"SPARK_EXECUTOR_ATTRIBUTE_TEAM=blue", "SPARK_EXECUTOR_ATTRIBUTE_HOSTNAME=mine",
				"SPARK_LOG_URL_STDOUT=http://logs/a?b=c&d"}, program: []string{"attributes.py"}})
			if code := r.wait(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			n := 0
			for line := range strings.Lines(r.output.String()) {
				text, ok := strings.CutPrefix(strings.TrimSpace(line), "EXECUTOR ")
				if !ok {
					continue
				}
				n++
				var e struct{ Attributes, Logs map[string]string }
				if err := json.Unmarshal([]byte(text), &e); err != nil {
					t.Fatal(err)
				}
				// Later Sparks add some of their own: they come the same way.
				if diff := cmp.Diff(map[string]string{"TEAM": "blue", "HOSTNAME": "mine"}, e.Attributes); diff != "" {
					t.Error("attributes:", diff)
				}
				if diff := cmp.Diff(map[string]string{"stdout": "http://logs/a?b=c&d"}, e.Logs); diff != "" {
					t.Error("log URLs:", diff)
				}
			}
			if n != 2 {
				t.Errorf("%d executors", n)
			}
		})
	}
}

// E273: without dynamic allocation a profile of task resources alone has no target and no pod; its tasks run on the
// default executors.
func TestTaskOnlyProfileE273(t *testing.T) {
	for _, version := range slices.Sorted(maps.Keys(made.homes)) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := start(t, app{version: version, program: []string{"taskonly.py"}})
			if code := r.wait(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			r.expect("profile 1: sum is 140, on executors ")
			for _, n := range only(r.notes(), "targets.set") {
				if totals := params[struct{ Totals map[string]int }](t, n).Totals; len(totals) != 1 || totals["0"] != 2 {
					t.Errorf("targets %v", totals)
				}
			}
			if n := r.count("targets.set"); n != 1 {
				t.Errorf("%d × targets.set", n)
			}
			if n := r.count("executor.registered"); n > 2 {
				t.Errorf("%d executors registered", n)
			}
		})
	}
}
