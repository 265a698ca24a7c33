package sparkpod

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

// Template is a parsed pod template, split into the Spark container and the rest of the pod. It is immutable and may be
// used by several goroutines. It answers to KubernetesUtils.loadPodFromTemplate.
type Template struct {
	pod           *corev1.Pod
	container     *corev1.Container
	podRest       Rest
	containerRest Rest
}

// TemplateError says why a pod template cannot be used.
type TemplateError struct {
	Reason string
	Err    error // may be nil
}

func (e *TemplateError) Error() string {
	return "Could not load pod from template file. " + e.Reason
}

func (e *TemplateError) Unwrap() error { return e.Err }

// DefaultContainerName is the name of the Spark container of a role unless its template has another.
func DefaultContainerName(role Role) string {
	return "spark-kubernetes-" + string(role)
}

// LoadTemplate parses a pod template, one YAML or JSON pod, and picks its Spark container: the one called containerName,
// or the first if that is empty or not found. A blank text or {} is no template: the result is nil. The warnings are for
// the log. A text that is no pod gives a *TemplateError.
func LoadTemplate(text []byte, containerName string) (*Template, []string, error) {
	tree, err := parseYAML(text)
	if err != nil || len(tree) == 0 {
		return nil, nil, err
	}
	if kind, ok := tree["kind"]; ok && kind != "Pod" {
		return nil, nil, &TemplateError{Reason: fmt.Sprintf("Its kind is %v, not Pod.", kind)}
	}
	if _, ok := tree["spec"].(map[string]any); !ok {
		return nil, nil, &TemplateError{Reason: "It has no spec."}
	}
	delete(tree, "status")
	pod, err := typed(tree, bytes.HasPrefix(bytes.TrimSpace(text), []byte{'{'}))
	if err != nil {
		return nil, nil, &TemplateError{Reason: fmt.Sprintf("It is not a pod: %v.", err), Err: err}
	}
	pod.Status = corev1.PodStatus{}
	pod.APIVersion, pod.Kind = "v1", "Pod"
	rest, err := restOf(tree, pod)
	if err != nil {
		return nil, nil, &TemplateError{Reason: fmt.Sprintf("It is not a pod: %v.", err), Err: err}
	}
	at, warnings := chooseContainer(pod.Spec.Containers, containerName)
	if other := betterNamed(pod.Spec.Containers, at); other != "" {
		warnings = append(warnings, fmt.Sprintf("The pod template has a container called %s, but %q becomes the Spark container; "+
			"set podTemplateContainerName if that is not meant.", other, pod.Spec.Containers[at].Name))
	}
	t := &Template{pod: pod, container: &corev1.Container{}, podRest: rest}
	if at >= 0 {
		t.takeOut(at)
	}
	return t, warnings, nil
}

// typed fits the tree to the API and reads it as a pod. Numbers out of JSON keep their digits where the API has text.
func typed(tree map[string]any, isJSON bool) (*corev1.Pod, error) {
	conform(tree, reflect.TypeFor[corev1.Pod](), isJSON)
	body, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	return pod, json.Unmarshal(body, pod)
}

// restOf returns what the tree has beyond the typed pod made from it.
func restOf(tree map[string]any, pod *corev1.Pod) (Rest, error) {
	body, err := json.Marshal(pod)
	if err != nil {
		return Rest{}, err
	}
	known, err := decodeTree(body)
	if err != nil {
		return Rest{}, err
	}
	return Rest{difference(tree, known)}, nil
}

// chooseContainer returns the index of the Spark container, -1 without containers.
func chooseContainer(containers []corev1.Container, name string) (int, []string) {
	if len(containers) == 0 {
		return -1, nil
	}
	if name == "" {
		if len(containers) > 1 {
			return 0, []string{fmt.Sprintf("The pod template has %d containers and no podTemplateContainerName is set: "+
				"the first, %q, becomes the Spark container.", len(containers), containers[0].Name)}
		}
		return 0, nil
	}
	found, n := 0, 0
	for i := range containers {
		if containers[i].Name == name {
			found = i
			n++
		}
	}
	if n != 1 {
		return 0, []string{fmt.Sprintf(
			"specified container %s not found on pod template, falling back to taking the first container", name)}
	}
	return found, nil
}

// betterNamed returns the name of a container that is called as a Spark container is without a template, when the chosen
// one is not.
func betterNamed(containers []corev1.Container, at int) string {
	isSpark := func(name string) bool {
		return name == DefaultContainerName(Driver) || name == DefaultContainerName(Executor)
	}
	if at < 0 || isSpark(containers[at].Name) {
		return ""
	}
	for i := range containers {
		if isSpark(containers[i].Name) {
			return containers[i].Name
		}
	}
	return ""
}

// takeOut moves the container at the index, with its part of the rest, out of the pod.
func (t *Template) takeOut(at int) {
	cs := t.pod.Spec.Containers
	t.container = cs[at].DeepCopy()
	others := make([]corev1.Container, 0, len(cs)-1)
	others = append(append(others, cs[:at]...), cs[at+1:]...)
	t.pod.Spec.Containers = others
	if len(others) == 0 {
		t.pod.Spec.Containers = nil
	}
	root, _ := t.podRest.tree.(map[string]any)
	spec, _ := root["spec"].(map[string]any)
	old, ok := spec["containers"].(elements)
	if !ok {
		return
	}
	moved := elements{}
	for i, v := range old {
		switch {
		case i < at:
			moved[i] = v
		case i > at:
			moved[i-1] = v
		default:
			t.containerRest = Rest{v}
		}
	}
	t.podRest = t.podRest.with(moved, []any{"spec", "containers"})
}

// New returns a fresh pod to build on: a copy of the template, or an empty pod for nil.
func (t *Template) New() *SparkPod {
	if t == nil {
		return New()
	}
	return &SparkPod{
		Pod:           t.pod.DeepCopy(),
		Container:     t.container.DeepCopy(),
		podRest:       t.podRest,
		containerRest: t.containerRest,
	}
}

// ContainerName returns the name that the template gives its Spark container; empty if none.
func (t *Template) ContainerName() string {
	if t == nil {
		return ""
	}
	return t.container.Name
}
