package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/kubetest"
)

const auth = "spark.kubernetes.authenticate.driver.mounted."

// E008, E013, E017, E020, E021, E024, E053, E133, C049: what ends the start, with the text, and nothing but the ConfigMap was tried.
func TestRefusedStart(t *testing.T) {
	long := strings.Repeat("a", 238)
	for _, tc := range []struct {
		name    string
		conf    map[string]string
		session object
		faults  []kubetest.Fault
		want    []string
		calls   bool // some calls are made
	}{
		{name: "two tokens E008", conf: map[string]string{auth + "oauthToken": "secret-1", auth + "oauthTokenFile": "/f"},
			want: []string{"Cannot specify OAuth token through both a file " + auth + "oauthTokenFile and a value " + auth + "oauthToken."}},
		{name: "prefix E013", session: object{"podNamePrefix": "spark_exec"}, want: []string{"spark.kubernetes.executor.podNamePrefix"}},
		{name: "long prefix E013", session: object{"podNamePrefix": long}, want: []string{"spark.kubernetes.executor.podNamePrefix"}},
		{name: "template E017", session: object{"template": "{"}, want: []string{"Could not load pod from template file."}},
		{name: "no driver pod E020", session: object{"driverPodName": "i-do-not-exist"}, calls: true,
			want: []string{"No pod was found named i-do-not-exist in the cluster in the namespace default (this was supposed to be the driver pod.)."}},
		{name: "no token C049", faults: []kubetest.Fault{{Verb: "get", Resource: "pods", Status: 401, Reason: "Unauthorized", Message: "Unauthorized"}}, calls: true,
			want: []string{"no Kubernetes credentials: the token file /var/run/secrets/kubernetes.io/serviceaccount/token is missing, and no setting " +
				strings.TrimSuffix(auth, ".") + ".* names another; let the driver pod have its service account's token (automountServiceAccountToken)"}},
		{name: "no token, anonymous users known C049", faults: []kubetest.Fault{{Verb: "get", Resource: "pods", Status: 403, Reason: "Forbidden",
			Message: `User "system:anonymous" cannot get pods`}}, calls: true, want: []string{"no Kubernetes credentials", "system:anonymous"}},
		{name: "driver pod forbidden E021", conf: map[string]string{auth + "oauthToken": "secret-1"}, faults: []kubetest.Fault{{Verb: "get", Resource: "pods", Status: 403, Reason: "Forbidden",
			Message: `User "system:serviceaccount:default:spark" cannot get pods`}}, calls: true,
			want: []string{"may not get pods", "system:serviceaccount:default:spark"}},
		{name: "ConfigMap forbidden E024", faults: []kubetest.Fault{{Verb: "create", Resource: "configmaps", Status: 403, Reason: "Forbidden", Message: "no"}},
			calls: true, want: []string{"the verb create on configmaps"}},
		{name: "reserved label E053", conf: map[string]string{"spark.kubernetes.executor.label.spark-role": "x"}, calls: true,
			want: []string{"Custom executor labels cannot contain spark-role as it is reserved for Spark."}},
		{name: "limits E133", conf: map[string]string{"spark.kubernetes.allocation.maxPendingPods": "10",
			"spark.kubernetes.allocation.maxPendingPodsPerRp": "11"},
			want: []string{"Maximum pending pods per resource profile ID (11) must be less than or equal to maximum pending pods (10)."}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			within(t, tc.conf, func(t *testing.T, s *spark) {
				s.mayFail, s.realLogin, s.session = true, true, tc.session
				for _, f := range tc.faults {
					s.server.Fail(f)
				}
				s.launch(3)
				wait(10 * time.Second)
				for _, text := range tc.want {
					if !strings.Contains(s.refusal(), text) {
						t.Errorf("the start ended with %q, not with %q", s.refusal(), text)
					}
				}
				want(t, "executors", len(s.ids()), 0)
				want(t, "calls", len(s.server.Calls("", "")) > 0, tc.calls)
				if strings.Contains(s.refusal()+s.dump(), "secret-1") {
					t.Error("a token was shown")
				}
			})
		})
	}
}

// E021: an API server that stumbles at the start is waited for.
func TestPatientStartE021(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.server.Fail(kubetest.Fault{Verb: "get", Resource: "pods", Status: 500, Reason: "InternalError", Times: 1})
		s.server.Fail(kubetest.Fault{Verb: "get", Resource: "pods", Drop: true, Times: 1})
		s.launch(2)
		wait(2 * time.Second)
		want(t, "executors", len(s.ids()), 2)
	})
}

// E009, E010: a token file is replaced and the old token revoked: one 401 that nobody notices. No secret is in a log line.
func TestTokenFileE009E010(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("canary-1")
	conf := map[string]string{auth + "oauthTokenFile": file, "spark.kubernetes.executor.apiPollingInterval": "5s",
		"spark.ssl.keyPassword": "canary-2", "spark.executorEnv.AWS_SECRET_ACCESS_KEY": "canary-3"}
	within(t, conf, func(t *testing.T, s *spark) {
		var mu sync.Mutex
		valid, refused := "canary-1", 0
		s.server.Authorize(func(token string) bool {
			mu.Lock()
			defer mu.Unlock()
			if token != valid {
				refused++
			}
			return token == valid
		})
		s.realLogin, s.session = true, object{"authSecret": "canary-4"}
		s.kubelet(time.Second, time.Second)
		s.launch(2)
		wait(100 * time.Second)
		want(t, "refused at first", refused, 0)
		write("canary-new")
		mu.Lock()
		valid = "canary-new"
		mu.Unlock()
		wait(2 * time.Second)
		s.target(4)
		wait(5 * time.Minute)
		want(t, "executors", len(s.ids()), 4)
		if refused > 2 { // the two creates go out together, before either answer makes the file be read again
			t.Errorf("%d requests were refused", refused)
		}
		want(t, "errors", s.logged("Unauthorized"), 0)
		want(t, "canaries in the log", s.logged("canary"), 0)
	})
}

// E012: a prefix of the longest size makes pods. E014: all executors share the prefix.
func TestLongPrefixE012E014(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		long := strings.Repeat("a", 237)
		s.session = object{"podNamePrefix": long}
		s.launch(2)
		wait(time.Second)
		for id, p := range s.executors() {
			if name := kubetest.Text(p, "metadata", "name"); !strings.HasPrefix(name, long+"-exec-") {
				t.Errorf("executor %d is called %s", id, name)
			}
		}
		want(t, "executors", len(s.ids()), 2)
	})
}

// E016, E019: the container of the template that the pod is built on is the one whose exit code counts, whatever its name.
// E018: the template comes once, with the session.
func TestTemplateContainerE016E018E019(t *testing.T) {
	template := "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: foo\n  - name: side\n"
	for container, named := range map[string]string{"foo": "", "side": "side", "foo ": "does-not-exist"} {
		conf := map[string]string{}
		if named != "" {
			conf["spark.kubernetes.executor.podTemplateContainerName"] = named
		}
		within(t, conf, func(t *testing.T, s *spark) {
			s.session = object{"template": template}
			s.kubelet(time.Second, time.Second)
			s.launch(100)
			wait(5 * time.Second)
			want(t, "executors", len(s.ids()), 100)
			s.server.Update("pods", ns, podName(1), func(o kubetest.Object) {
				st := o["status"].(kubetest.Object)
				st["phase"], st["containerStatuses"] = "Failed", []any{
					kubetest.Object{"name": "other", "state": kubetest.Object{"terminated": kubetest.Object{"exitCode": 0}}},
					kubetest.Object{"name": strings.TrimSpace(container), "state": kubetest.Object{"terminated": kubetest.Object{"exitCode": 52}}}}
			})
			wait(time.Second)
			want(t, "code", s.removals()[0]["code"], any(52.0))
			want(t, "fall-back said", s.logged("specified container does-not-exist not found on pod template, falling back to taking the first container"),
				boolInt(named == "does-not-exist"))
		})
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// E026: without a driver pod nothing waits, and nothing has an owner.
func TestNoDriverPodE026(t *testing.T) {
	within(t, map[string]string{"spark.kubernetes.driver.pod.name": ""}, func(t *testing.T, s *spark) {
		delete(s.conf, "spark.kubernetes.driver.pod.name")
		s.session = object{"driverPodName": "", "deployMode": "client"}
		s.launch(2)
		wait(100 * time.Millisecond)
		want(t, "executors", len(s.ids()), 2)
		for _, o := range append(s.server.List("configmaps"), s.executors()[1]) {
			want(t, "owners", o["metadata"].(kubetest.Object)["ownerReferences"], nil)
		}
		want(t, "said", s.logged("No driver pod is named"), 1)
	})
}

// E277: a driver pod that is not the one we run in is said, and executors come all the same.
func TestForeignDriverPodE277(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.server.Put("pods", object{"kind": "Pod", "apiVersion": "v1", "metadata": object{"name": "elsewhere", "namespace": ns},
			"status": object{"phase": "Running", "conditions": []any{object{"type": "Ready", "status": "True"}}}})
		s.session = object{"driverPodName": "elsewhere", "deployMode": "client"}
		s.launch(1)
		wait(time.Second)
		want(t, "said", s.logged("but this driver does not run in it"), 1)
		want(t, "executors", len(s.ids()), 1)
	})
}

// E030: a file that joins the configuration directory later changes no pod.
func TestLateConfFileE030(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("a=b"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("log4j2.properties")
	within(t, nil, func(t *testing.T, s *spark) {
		s.session = object{"confDir": dir}
		s.kubelet(time.Second, time.Second)
		s.launch(1)
		wait(3 * time.Second)
		write("later.xml")
		s.server.Finish(ns, podName(1), 1, "Error")
		wait(3 * time.Second)
		cm := s.server.List("configmaps")[0]["data"].(kubetest.Object)
		want(t, "keys", sortedNames(cm), []string{"log4j2.properties", "spark.kubernetes.namespace", "spark.properties"})
		for _, p := range s.executors() {
			volumes := p["spec"].(kubetest.Object)["volumes"].([]any)
			for _, v := range volumes {
				v := v.(kubetest.Object)
				if v["name"] != "spark-conf-volume-exec" {
					continue
				}
				items := v["configMap"].(kubetest.Object)["items"].([]any)
				want(t, "files", len(items), 1)
			}
		}
	})
}

func sortedNames(o kubetest.Object) []string {
	var names []string
	for k := range o {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}

// P100: each run of a driver makes the executors' ConfigMap under the name that the JVM drew for it, immutable, found by the
// application, owned by the driver pod; pods of the run mount that one.
func TestConfigMapOfEachRunP100(t *testing.T) {
	within(t, map[string]string{"spark.kubernetes.executor.deleteOnTermination": "false"}, func(t *testing.T, s *spark) {
		uid := kubetest.Text(s.server.Get("pods", ns, "driver"), "metadata", "uid")
		names := []string{"spark-exec-a-conf-map", "spark-exec-b-conf-map"}
		for i, name := range names {
			s.session = object{"configMapName": name}
			s.launch(1)
			wait(time.Second)
			cm := s.server.Get("configmaps", ns, name)
			if cm == nil {
				t.Fatalf("run %d made no %s", i+1, name)
			}
			want(t, "immutable", cm["immutable"], any(true))
			want(t, "labels", kubetest.Labels(cm), map[string]string{"spark-app-selector": appID, "spark-role": "executor"})
			want(t, "owners", cm["metadata"].(kubetest.Object)["ownerReferences"], any([]any{object{"apiVersion": "v1", "kind": "Pod", "name": "driver", "uid": uid, "controller": true}}))
			mounted := 0
			for _, p := range s.executors() {
				if strings.Contains(fmt.Sprint(p), name) {
					mounted++
				}
			}
			want(t, "pods that mount it", mounted, 1)
			s.stop()
			s.crash()
			s.mu.Lock()
			s.starts, s.known, s.next = 0, map[string]int64{}, 10
			s.mu.Unlock()
		}
		want(t, "ConfigMaps", len(s.server.List("configmaps")), 2)
	})
}

// E031: a ConfigMap that an earlier context of the application left is taken.
func TestKeptConfigMapE031(t *testing.T) {
	within(t, map[string]string{"spark.kubernetes.executor.deleteOnTermination": "false"}, func(t *testing.T, s *spark) {
		s.launch(1)
		wait(time.Second)
		s.stop()
		s.crash()
		want(t, "kept", len(s.server.List("configmaps")), 1)
		s.mu.Lock()
		s.starts, s.known = 0, map[string]int64{}
		s.mu.Unlock()
		s.launch(1)
		wait(time.Second)
		want(t, "ConfigMaps", len(s.server.List("configmaps")), 1)
	})
}

// E157: with a target of zero there is nothing, and no error.
func TestTargetZeroE157(t *testing.T) {
	within(t, nil, func(t *testing.T, s *spark) {
		s.launch(0)
		wait(10 * time.Minute)
		want(t, "executors", len(s.ids()), 0)
		want(t, "warnings", s.logged("WARN")+s.logged("ERROR"), 0)
	})
}

// E278: executors that die while the driver's name does not resolve are not to blame.
func TestDriverNotReadyE278(t *testing.T) {
	conf := map[string]string{"spark.executor.maxNumFailures": "6", "spark.kubespark.stock": "start-delay"}
	within(t, conf, func(t *testing.T, s *spark) {
		ready := func(conditions ...any) {
			s.server.Update("pods", ns, "driver", func(o kubetest.Object) { o["status"].(kubetest.Object)["conditions"] = conditions })
		}
		ready()
		s.registers = false
		s.kubelet(100*time.Millisecond, 100*time.Millisecond)
		s.launch(2)
		for range 20 {
			wait(2 * time.Second)
			for _, id := range s.ids() {
				s.server.Finish(ns, podName(id), 1, "Error")
			}
		}
		if n := len(s.removals()); n < 20 {
			t.Errorf("only %d executors died", n)
		}
		want(t, "exits", len(s.exits), 0)
		s.registers = true
		ready(object{"type": "Ready", "status": "True"})
		wait(time.Minute)
		want(t, "executors", len(s.ids()), 2)
		want(t, "exits in the end", len(s.exits), 0)
	})
}
