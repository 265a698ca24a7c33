package submit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/internal/kubetest"
)

const app = "spark-abababababab4bababababababababab"

// writes are the changing calls, as "verb resource".
func writes(s *kubetest.Server) []string {
	var out []string
	for _, c := range s.Calls("", "") {
		switch c.Verb {
		case "create", "patch", "delete", "update":
			out = append(out, c.Verb+" "+c.Resource)
		}
	}
	return out
}

func left(s *kubetest.Server) []string {
	var out []string
	for _, r := range []string{"pods", "services", "configmaps", "networkpolicies", "secrets", "persistentvolumeclaims"} {
		for _, o := range s.List(r) {
			out = append(out, r+"/"+kubetest.Text(o, "metadata", "name"))
		}
	}
	return out
}

// S059 to S063, C001: with the gate, no schedulable driver pod ever names an object that is not there.
func TestCreateLeavesNoWindow(t *testing.T) {
	for _, tt := range []struct {
		name  string
		props map[string]string
		deny  bool // patching pods
		order []string
	}{
		{name: "gate", order: []string{"create pods", "create +", "create +", "create +", "patch pods"}},
		{name: "no right to patch pods", deny: true,
			order: []string{"create pods", "create +", "create +", "create +", "patch pods", "patch +", "patch +", "patch +", "delete pods", "create pods",
				"patch +", "patch +", "patch +"}},
		{name: "stock order", props: map[string]string{"spark.kubespark.stock": "create-order"},
			order: []string{"create pods", "patch services", "patch networkpolicies", "patch configmaps"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := kubetest.New()
			window := false
			s.OnChange(func(verb, resource string, _ kubetest.Object) {
				for _, pod := range s.List("pods") {
					spec := pod["spec"].(kubetest.Object)
					if spec["schedulingGates"] == nil && verb != "delete" && len(s.List("configmaps")) == 0 {
						window = true
					}
				}
			})
			if tt.deny {
				s.Fail(forbidden("patch", "pods"))
			}
			c, _ := newTestClient(t, s)
			p := mustPlan(t, piArgs(tt.props), testEnv(t, nil))
			if err := c.Create(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			got := writes(s)
			for i, w := range got {
				if i < len(tt.order) && strings.HasSuffix(tt.order[i], "+") && !strings.HasSuffix(w, " pods") {
					got[i] = strings.Fields(w)[0] + " +"
				}
			}
			if diff := cmp.Diff(tt.order, got); diff != "" {
				t.Error(diff)
			}
			if stock := tt.name == "stock order"; window != stock {
				t.Errorf("window: %v", window)
			}
			checkOwned(t, s, p)
		})
	}
}

func checkOwned(t *testing.T, s *kubetest.Server, p *Plan) {
	t.Helper()
	pod := s.Get("pods", "spark", p.PodName)
	if pod == nil {
		t.Fatal("no driver pod")
	}
	if pod["spec"].(kubetest.Object)["schedulingGates"] != nil {
		t.Error("the gate is still there")
	}
	want := []any{kubetest.Object{"apiVersion": "v1", "kind": "Pod", "name": p.PodName, "uid": pod["metadata"].(kubetest.Object)["uid"], "controller": true}}
	n := 0
	for _, r := range []string{"services", "configmaps", "networkpolicies"} {
		for _, o := range s.List(r) {
			n++
			if diff := cmp.Diff(want, o["metadata"].(kubetest.Object)["ownerReferences"]); diff != "" {
				t.Errorf("S060: owner of a %s: %s", r, diff)
			}
		}
	}
	if n != 3 {
		t.Errorf("%d companions: %q", n, left(s))
	}
}

// S057, S064, S065, S067: a failure at any call leaves nothing and reports the first error.
func TestCreateCleansUp(t *testing.T) {
	const noPatch = "no right to patch pods"
	for _, order := range []string{"", "create-order", noPatch} {
		for _, at := range []kubetest.Fault{forbidden("create", "pods"), forbidden("create", "services"), forbidden("create", "configmaps"),
			forbidden("create", "networkpolicies"), forbidden("patch", "configmaps"), forbidden("patch", "services")} {
			t.Run(strings.Join([]string{order, at.Verb, at.Resource}, " "), func(t *testing.T) {
				s := kubetest.New()
				s.Fail(at)
				props := map[string]string{"spark.kubespark.stock": order}
				if order == noPatch {
					s.Fail(forbidden("patch", "pods"))
					props = nil
				}
				c, log := newTestClient(t, s)
				err := c.Create(t.Context(), mustPlan(t, piArgs(props), testEnv(t, nil)))
				used := slices.ContainsFunc(s.Calls(at.Verb, at.Resource), func(c kubetest.Call) bool { return c.Status == 403 })
				if used != (err != nil) {
					t.Fatalf("call made: %v, error: %v", used, err)
				}
				if !used {
					return
				}
				if !strings.Contains(err.Error(), "cannot "+at.Verb+` resource "`+at.Resource+`"`) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error: %v", err)
				}
				collect(s)
				if l := left(s); len(l) > 0 {
					t.Errorf("left: %q", l)
				}
				if at.Verb == "create" && at.Resource == "pods" {
					log.has(t, `ERROR Please check "kubectl auth can-i create pod" first. It should be yes.`)
				}
			})
		}
	}
}

// collect is the garbage collector: it removes what a gone pod owned.
func collect(s *kubetest.Server) {
	for _, r := range []string{"services", "configmaps", "networkpolicies"} {
		for _, o := range s.List(r) {
			owners, _ := o["metadata"].(kubetest.Object)["ownerReferences"].([]any)
			for _, ref := range owners {
				if s.Get("pods", "spark", ref.(kubetest.Object)["name"].(string)) == nil {
					s.Remove(r, "spark", kubetest.Text(o, "metadata", "name"))
				}
			}
		}
	}
}

// S067, C004: clean-up goes on past its own failures, and the first error is the one reported.
func TestCleanUpFailure(t *testing.T) {
	s := kubetest.New()
	s.Fail(kubetest.Fault{Verb: "create", Resource: "configmaps", Status: 403, Reason: "Forbidden", Message: "no ConfigMaps"})
	s.Fail(kubetest.Fault{Verb: "delete", Resource: "pods", Status: 403, Reason: "Forbidden", Message: "no deletes"})
	c, log := newTestClient(t, s)
	err := c.Create(t.Context(), mustPlan(t, piArgs(nil), testEnv(t, nil)))
	if err == nil || !strings.Contains(err.Error(), "no ConfigMaps") {
		t.Error(err)
	}
	log.has(t, "WARN the driver pod spark:spark-pi-ababab8bcfe56800-driver could not be removed after the failure: no deletes")
}

// S068, C005: a pod of another application has the fixed name.
func TestPodNameTaken(t *testing.T) {
	s := kubetest.New()
	s.Put("pods", kubetest.Object{"apiVersion": "v1", "kind": "Pod", "metadata": kubetest.Object{"name": "x", "namespace": "spark",
		"labels": kubetest.Object{"spark-app-selector": "spark-old"}}, "status": kubetest.Object{"phase": "Succeeded"}})
	c, _ := newTestClient(t, s)
	err := c.Create(t.Context(), mustPlan(t, piArgs(map[string]string{"spark.kubernetes.driver.pod.name": "x"}), testEnv(t, nil)))
	want := "the driver pod spark/x exists already (phase Succeeded, application id spark-old): delete it or set another spark.kubernetes.driver.pod.name (code=409, reason=AlreadyExists)"
	if errorText(err) != want {
		t.Errorf("error: %v", err)
	}
	if diff := cmp.Diff([]string{"pods/x"}, left(s)); diff != "" {
		t.Error(diff)
	}
}

// S057, S069, C006: answers lost at any call are settled, and the pod is made once.
func TestLostAnswers(t *testing.T) {
	for _, at := range []kubetest.Fault{
		{Verb: "create", Resource: "pods", Drop: true, Times: 1}, {Verb: "create", Resource: "pods", Drop: true},
		{Verb: "create", Resource: "configmaps", Drop: true, Times: 1}, {Verb: "patch", Resource: "pods", Drop: true, Times: 2},
		{Verb: "create", Resource: "services", Status: 500, Times: 3}, {Verb: "create", Resource: "pods", Status: 429, RetryAfter: 1, Times: 2},
	} {
		t.Run(fmt.Sprintf("%s %s %d times, status %d", at.Verb, at.Resource, at.Times, at.Status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := kubetest.New()
				s.Fail(at)
				c, _ := newTestClient(t, s)
				p := mustPlan(t, piArgs(nil), testEnv(t, nil))
				if err := c.Create(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				if n := len(s.List("pods")); n != 1 {
					t.Errorf("%d pods", n)
				}
				checkOwned(t, s, p)
			})
		})
	}
}

// S057: four tries, then the server's text.
func TestServerErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kubetest.New()
		s.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Status: 500, Reason: "InternalError", Message: "etcd is away"})
		c, _ := newTestClient(t, s)
		err := c.Create(t.Context(), mustPlan(t, piArgs(nil), testEnv(t, nil)))
		if n := len(s.Calls("create", "pods")); n != 4 || !strings.Contains(errorText(err), "etcd is away") {
			t.Errorf("%d tries, %v", n, err)
		}
	})
}

// C006: the same submission id finds the same pod, and completes what is missing.
func TestSubmissionIDIsIdempotent(t *testing.T) {
	s := kubetest.New()
	c, _ := newTestClient(t, s)
	args := piArgs(map[string]string{"spark.kubespark.submissionId": "run-42"})
	for i := range 2 {
		env := testEnv(t, nil)
		env.Random = constant(byte(i))
		if err := c.Create(t.Context(), mustPlan(t, args, env)); err != nil {
			t.Fatal(err)
		}
	}
	p := mustPlan(t, args, testEnv(t, nil))
	if n := len(s.List("pods")); n != 1 || kubetest.Text(s.List("pods")[0], "metadata", "labels", LabelSubmissionID) != "run-42" {
		t.Errorf("%d pods", n)
	}
	checkOwned(t, s, p)
	// A failing repetition leaves the running driver alone.
	s.Fail(kubetest.Fault{Verb: "create", Resource: "configmaps", Status: 403, Reason: "Forbidden", Message: "no"})
	if err := c.Create(t.Context(), p); err == nil || len(s.List("pods")) != 1 {
		t.Errorf("%v, %d pods", err, len(s.List("pods")))
	}
	other := mustPlan(t, piArgs(map[string]string{"spark.kubespark.submissionId": "run-43"}), testEnv(t, nil))
	if other.PodName == p.PodName || other.AppID == p.AppID {
		t.Error("another id has the same names")
	}
}

// C002: a pod bound to a node has no gate; its companions come first.
func TestNodeNameHasNoGate(t *testing.T) {
	s := kubetest.New()
	c, _ := newTestClient(t, s)
	env := testEnv(t, nil)
	write(t, env.Files.(OSFiles).Dir, map[string]string{"t.yaml": "spec: {nodeName: n1, newField: {deep: 1}}"})
	p := mustPlan(t, piArgs(map[string]string{"spark.kubernetes.driver.podTemplateFile": "t.yaml"}), env)
	if err := c.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	calls := writes(s)
	if calls[3] != "create pods" || slices.Contains(calls, "patch pods") {
		t.Errorf("calls: %q", calls)
	}
	var body struct{ Metadata, Spec map[string]any }
	if err := json.Unmarshal([]byte(s.Calls("create", "pods")[0].Body), &body); err != nil {
		t.Fatal(err)
	}
	if body.Spec["nodeName"] != "n1" || body.Spec["newField"] == nil || body.Metadata["namespace"] != nil {
		t.Errorf("pod: %v", body)
	}
}

// S070: a claim whose name the user fixed is used as it is.
func TestExistingClaimIsNotTakenOver(t *testing.T) {
	s := kubetest.New()
	s.Put("persistentvolumeclaims", kubetest.Object{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": kubetest.Object{"name": "mine", "namespace": "spark"}})
	c, log := newTestClient(t, s)
	const v = "spark.kubernetes.driver.volumes.persistentVolumeClaim.data."
	p := mustPlan(t, piArgs(map[string]string{v + "mount.path": "/data", v + "options.claimName": "mine", v + "options.storageClass": "s", v + "options.sizeLimit": "1Gi"}), testEnv(t, nil))
	if err := c.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if s.Get("persistentvolumeclaims", "spark", "mine")["metadata"].(kubetest.Object)["ownerReferences"] != nil {
		t.Error("the claim is owned")
	}
	log.has(t, "the claim mine exists already and is used as it is")
}

// A Role made for stock Spark may neither patch pods nor delete companions: what a failure leaves goes to the garbage
// collector.
func TestCleanUpWithoutDeleteRights(t *testing.T) {
	s := kubetest.New()
	s.Fail(kubetest.Fault{Verb: "create", Resource: "networkpolicies", Status: 403, Reason: "Forbidden", Message: "no policies"})
	for _, r := range []string{"services", "configmaps"} {
		s.Fail(kubetest.Fault{Verb: "delete", Resource: r, Status: 403, Reason: "Forbidden", Message: "no deletes"})
	}
	s.Fail(forbidden("patch", "pods"))
	c, log := newTestClient(t, s)
	err := c.Create(t.Context(), mustPlan(t, piArgs(nil), testEnv(t, nil)))
	if !strings.Contains(errorText(err), "no policies") || strings.Contains(log.String(), "WARN") {
		t.Errorf("%v\n%s", err, log)
	}
	collect(s)
	if l := left(s); len(l) > 0 {
		t.Errorf("left: %q", l)
	}
}

// An interrupt at any call leaves nothing, even when the call was carried out.
func TestInterruptedCreate(t *testing.T) {
	for _, at := range []kubetest.Fault{{Verb: "create", Resource: "pods"}, {Verb: "create", Resource: "configmaps"}, {Verb: "patch", Resource: "pods"}} {
		for _, mayPatch := range []bool{true, false} {
			if !mayPatch && at.Verb == "patch" {
				continue
			}
			t.Run(fmt.Sprint(at.Verb, " ", at.Resource, " ", mayPatch), func(t *testing.T) {
				s := kubetest.New()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s.OnChange(func(verb, resource string, _ kubetest.Object) {
					if resource == at.Resource && (verb == "create" || at.Verb == "patch") {
						cancel()
					}
				})
				if !mayPatch {
					s.Fail(forbidden("patch", "pods"))
				}
				c, _ := newTestClient(t, s)
				err := c.Create(ctx, mustPlan(t, piArgs(nil), testEnv(t, nil)))
				collect(s)
				if l := left(s); err != nil && len(l) > 0 || err == nil && len(l) != 4 { // the last answer may have come in time
					t.Errorf("%v, left: %q", err, l)
				}
			})
		}
	}
}
