package sparkpod

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func load(t *testing.T, text, container string) (*Template, []string) {
	t.Helper()
	tpl, warnings, err := LoadTemplate([]byte(text), container)
	if err != nil {
		t.Fatalf("LoadTemplate: %v", err)
	}
	return tpl, warnings
}

func rendered(t *testing.T, s *SparkPod) map[string]any {
	t.Helper()
	pod, rest := s.Assemble()
	body, err := Render(pod, rest)
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(body, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestTemplateRefused(t *testing.T) { // PT2, P137, P138
	for name, text := range map[string]string{
		"no spec":        "kind: Pod\nmetadata: {name: a}",
		"null spec":      "spec:",
		"two documents":  "spec: {}\n---\nspec: {}",
		"list":           "kind: List\nitems: [{spec: {}}]",
		"pod template":   "kind: PodTemplate\ntemplate: {spec: {}}",
		"deployment":     "kind: Deployment\nspec: {}",
		"broken":         "spec: {a: [",
		"plain text":     "pod-template-contents",
		"wrong type":     "spec: {containers: 5}",
		"bad quantity":   "spec: {containers: [{name: a, resources: {limits: {cpu: x}}}]}",
		"a list":         "[1, 2]",
		"spec is a text": "spec: x",
	} {
		tpl, _, err := LoadTemplate([]byte(text), "")
		var te *TemplateError
		if tpl != nil || !errors.As(err, &te) || !strings.HasPrefix(err.Error(), "Could not load pod from template file.") {
			t.Errorf("%s: %v, %v", name, tpl, err)
		}
	}
}

func TestTemplateAccepted(t *testing.T) { // PT2, P137
	for name, text := range map[string]string{
		"empty spec":       "spec: {}",
		"json":             `{"spec": {"containers": [{"name": "a"}]}}`,
		"leading mark":     "---\nspec: {}\n",
		"comments around":  "# a\n---\n# b\nspec: {}\n---\n# nothing\n",
		"no kind":          "apiVersion: v1\nspec: {}",
		"unknown anywhere": "spec: {zzz: {a: [1]}}",
	} {
		if tpl, _ := load(t, text, ""); tpl == nil {
			t.Errorf("%s: no template", name)
		}
	}
	for _, text := range []string{"", "  \n", "{}", "# only a comment\n", "---\n"} {
		if tpl, _ := load(t, text, ""); tpl != nil {
			t.Errorf("%q is a template", text)
		}
	}
}

func TestTemplateContainer(t *testing.T) { // PT3, P136
	const two = "spec: {hostname: h, containers: [{name: first}, {name: second}]}"
	for _, tc := range []struct {
		text, want string
		chosen     string
		rest       []string
		warns      string
	}{
		{two, "second", "second", []string{"first"}, ""},
		{two, "", "first", []string{"second"}, "the first, \"first\", becomes the Spark container"},
		{two, "does-not-exist", "first", []string{"second"},
			"specified container does-not-exist not found on pod template, falling back to taking the first container"},
		{"spec: {containers: [{name: a}, {name: x}, {name: x}]}", "x", "a", []string{"x", "x"}, "not found"},
		{"spec: {hostname: h}", "x", "", nil, ""},
		{"spec: {containers: [{name: a}, {name: spark-kubernetes-driver}]}", "a", "a", []string{"spark-kubernetes-driver"},
			`has a container called spark-kubernetes-driver, but "a" becomes the Spark container`},
		{"spec: {containers: [{name: only}]}", "", "only", nil, ""},
	} {
		tpl, warnings := load(t, tc.text, tc.want)
		s := tpl.New()
		var rest []string
		for _, c := range s.Pod.Spec.Containers {
			rest = append(rest, c.Name)
		}
		if s.Container.Name != tc.chosen || !cmp.Equal(rest, tc.rest) {
			t.Errorf("%s, %q: chose %q beside %v", tc.text, tc.want, s.Container.Name, rest)
		}
		if got := strings.Join(warnings, "\n"); !strings.Contains(got, tc.warns) || (tc.warns == "") != (got == "") {
			t.Errorf("%s, %q: warnings %q", tc.text, tc.want, got)
		}
	}
}

func TestUnknownFieldsSurvive(t *testing.T) { // B5, P006, P007
	tpl, _ := load(t, `
metadata: {name: pod, creationTimestamp: null}
status: {phase: Running}
spec:
  fooBar: 12
  hostNetwork: false
  initContainers: [{name: i, newThing: 5}]
  containers:
  - {name: chosen, mine: {deep: [1, {x: w}]}, resources: {requests: {cpu: 1000m}}}
  - {name: side, brandNew: {x: 1}, env: [{name: A, value: 5}, {name: B, value: true, odd: 1.50}]}
  volumes: [{name: v, emptyDir: {}}, {name: w, futureVolume: {a: null}}]
`, "chosen")
	tree := rendered(t, tpl.New())
	var want map[string]any
	if err := json.Unmarshal([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod"},"spec":{
		"fooBar":12,"hostNetwork":false,"initContainers":[{"name":"i","newThing":5}],
		"containers":[
		 {"name":"side","brandNew":{"x":1},"env":[{"name":"A","value":"5"},{"name":"B","value":"true","odd":1.5}]},
		 {"name":"chosen","mine":{"deep":[1,{"x":"w"}]},"resources":{"requests":{"cpu":"1000m"}}}],
		"volumes":[{"name":"v","emptyDir":{}},{"name":"w","futureVolume":{}}]}}`), &want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, tree); d != "" {
		t.Errorf("rendered (-want +got):\n%s", d)
	}
}

func TestRestYieldsToSteps(t *testing.T) {
	tpl, _ := load(t, `spec: {hostname: "", containers: [{name: c, tty: false, resources: {limits: {cpu: 2000m}, requests: {memory: 1024Mi}}}]}`, "")
	s := tpl.New()
	s.Pod.Spec.Hostname = "set"
	s.Container.TTY = true
	s.DropInContainer("resources")
	s.Container.Resources = corev1.ResourceRequirements{}
	s.SetInContainer("x", "unknown")
	spec := rendered(t, s)["spec"].(map[string]any)
	c := spec["containers"].([]any)[0].(map[string]any)
	want := map[string]any{"name": "c", "tty": true, "unknown": "x"}
	if d := cmp.Diff(want, c); d != "" || spec["hostname"] != "set" {
		t.Errorf("container (-want +got):\n%s; host name %v", d, spec["hostname"])
	}
}

func TestTemplateIsNotChanged(t *testing.T) {
	tpl, _ := load(t, "spec: {x: 1, containers: [{name: c, env: [{name: A}]}]}", "")
	first := rendered(t, tpl.New())
	s := tpl.New()
	s.Pod.Spec.Hostname = "h"
	s.Container.Env[0].Name = "changed"
	s.SetInPod("y", "spec", "x2")
	s.SetInContainer("y", "z")
	rendered(t, s)
	if d := cmp.Diff(first, rendered(t, tpl.New())); d != "" {
		t.Errorf("the template changed (-before +after):\n%s", d)
	}
}

func TestEmptyPodRendersWithoutEmptyParts(t *testing.T) { // B3, P004
	got := rendered(t, New())
	want := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{},
		"spec": map[string]any{"containers": []any{map[string]any{}}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestTemplateScalars(t *testing.T) { // as a stock submitter resolves them
	tpl, _ := load(t, `
metadata:
  annotations: {a: n, b: yes, c: on, d: 0x10, e: 012, g: 1_000, h: ~, i: .5, j: 2026-01-01, k: True, l: No, m: 1.50, o: 0o17, p: 12, q: true, r: "5", s: !!str 6}
spec:
  unknown: {a: n, d: 0x10, e: 012, h: ~, k: True, m: 1.50, p: 12, em: {}, li: []}
`, "")
	got := rendered(t, tpl.New())
	annotations := map[string]any{"a": "n", "b": "yes", "c": "on", "d": "0x10", "e": "012", "g": "1_000", "h": "~", "i": ".5",
		"j": "2026-01-01", "k": "True", "l": "No", "m": "1.5", "o": "0o17", "p": "12", "q": "true", "r": "5", "s": "6"}
	unknown := map[string]any{"a": "n", "d": "0x10", "e": "012", "h": "~", "k": "True", "m": 1.5, "p": 12.0,
		"em": map[string]any{}, "li": []any{}}
	if d := cmp.Diff(annotations, got["metadata"].(map[string]any)["annotations"]); d != "" {
		t.Errorf("annotations (-want +got):\n%s", d)
	}
	if d := cmp.Diff(unknown, got["spec"].(map[string]any)["unknown"]); d != "" {
		t.Errorf("unknown (-want +got):\n%s", d)
	}
}

func TestNumbersOfJSONKeepTheirDigits(t *testing.T) { // B5, as a stock submitter reads a template in JSON
	tpl, _ := load(t, `{"metadata": {"annotations": {"a": 1.50, "b": 1e3, "c": 7}}, "spec": {}}`, "")
	got := rendered(t, tpl.New())["metadata"].(map[string]any)["annotations"]
	if d := cmp.Diff(map[string]any{"a": "1.50", "b": "1e3", "c": "7"}, got); d != "" {
		t.Errorf("annotations (-want +got):\n%s", d)
	}
}
