package sparkpod

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rest is what a typed pod cannot carry but the posted one has: fields of newer API versions, explicit false and empty
// values, quantities in the words they came in. The zero Rest is empty. It is immutable.
type Rest struct {
	tree any // map[string]any, elements, or a value; nil: nothing
}

// elements are the additions to single elements of a list.
type elements map[int]any

// Empty says that the typed pod is the whole pod.
func (r Rest) Empty() bool { return r.tree == nil }

// with returns a Rest that has value at path, too. Only the nodes along the path are copied.
func (r Rest) with(value any, path []any) Rest { return Rest{insert(r.tree, value, path)} }

func insert(node, value any, path []any) any {
	if len(path) == 0 {
		return value
	}
	switch key := path[0].(type) {
	case string:
		old, _ := node.(map[string]any)
		m := maps.Clone(old)
		if m == nil {
			m = map[string]any{}
		}
		m[key] = insert(m[key], value, path[1:])
		return m
	case int:
		old, _ := node.(elements)
		l := maps.Clone(old)
		if l == nil {
			l = elements{}
		}
		l[key] = insert(l[key], value, path[1:])
		return l
	default:
		panic(fmt.Sprintf("sparkpod: path element %v is neither a field name nor an index", path[0]))
	}
}

// wirePod is a pod without its status, which no writer sends.
type wirePod struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Spec            corev1.PodSpec    `json:"spec"`
}

// Render returns the JSON body to post: the typed pod with rest put in, without status and without the empty resources
// and name that a typed container always has. Where both have a value the typed one wins, unless it is the same quantity in other
// words.
func Render(pod *corev1.Pod, rest Rest) ([]byte, error) {
	body, err := json.Marshal(wirePod{pod.TypeMeta, pod.ObjectMeta, pod.Spec})
	if err != nil {
		return nil, fmt.Errorf("pod %s cannot be written as JSON: %w", pod.Name, err)
	}
	if rest.Empty() && !hasEmptyResources(pod) {
		return body, nil
	}
	tree, err := decodeTree(body)
	if err != nil {
		return nil, fmt.Errorf("pod %s cannot be written as JSON: %w", pod.Name, err)
	}
	dropEmptyResources(tree)
	body, err = json.Marshal(merge(tree, rest.tree))
	if err != nil {
		return nil, fmt.Errorf("pod %s cannot be written as JSON: %w", pod.Name, err)
	}
	return body, nil
}

// RenderObject returns the JSON body of an object that goes with a pod, without the status that a typed object always has.
func RenderObject(object any) ([]byte, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("a %T cannot be written as JSON: %w", object, err)
	}
	tree, err := decodeTree(body)
	if err != nil {
		return nil, fmt.Errorf("a %T cannot be written as JSON: %w", object, err)
	}
	delete(tree, "status")
	return json.Marshal(tree)
}

// decodeTree reads JSON keeping numbers as they are written.
func decodeTree(body []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var tree map[string]any
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	return tree, nil
}

func hasEmptyResources(pod *corev1.Pod) bool {
	empty := func(cs []corev1.Container) bool {
		for i := range cs {
			r := &cs[i].Resources
			if r.Limits == nil && r.Requests == nil && r.Claims == nil || cs[i].Name == "" {
				return true
			}
		}
		return false
	}
	return empty(pod.Spec.Containers) || empty(pod.Spec.InitContainers) || len(pod.Spec.EphemeralContainers) > 0
}

func dropEmptyResources(tree map[string]any) {
	spec, _ := tree["spec"].(map[string]any)
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		cs, _ := spec[list].([]any)
		for _, c := range cs {
			if m, ok := c.(map[string]any); ok {
				if m["name"] == "" { // only when the basic step is excluded
					delete(m, "name")
				}
				if r, ok := m["resources"].(map[string]any); ok && len(r) == 0 {
					delete(m, "resources")
				}
			}
		}
	}
}

// merge puts rest into typed, which it changes, and returns the result.
func merge(typed, rest any) any {
	switch r := rest.(type) {
	case map[string]any:
		m, ok := typed.(map[string]any)
		if !ok {
			return typed
		}
		for k, v := range r {
			if have, ok := m[k]; ok {
				m[k] = merge(have, v)
			} else if v = plain(v); v != nil {
				m[k] = v
			}
		}
	case elements:
		if l, ok := typed.([]any); ok {
			for i, v := range r {
				if i < len(l) {
					l[i] = merge(l[i], v)
				}
			}
		}
	case string:
		if t, ok := typed.(string); ok && sameQuantity(t, r) {
			return r
		}
	}
	return typed
}

// plain turns a piece of a Rest into JSON values: additions to a list that is gone have no place any more.
func plain(v any) any {
	switch v := v.(type) {
	case elements:
		return nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			if e = plain(e); e != nil {
				m[k] = e
			}
		}
		return m
	default:
		return v
	}
}

func sameQuantity(a, b string) bool {
	if a == b {
		return true
	}
	qa, err := resource.ParseQuantity(a)
	if err != nil {
		return false
	}
	qb, err := resource.ParseQuantity(b)
	return err == nil && qa.Cmp(qb) == 0
}

// difference returns what whole has beyond known, as the tree of a Rest; nil for nothing. Nulls and empty lists do not
// count.
func difference(whole, known any) any {
	switch w := whole.(type) {
	case map[string]any:
		return mapDifference(w, known)
	case []any:
		return listDifference(w, known)
	case string:
		if w != known {
			return w
		}
	}
	return nil
}

func mapDifference(whole map[string]any, known any) any {
	k, ok := known.(map[string]any)
	if !ok {
		return nil
	}
	out := map[string]any{}
	for key, v := range whole {
		if have, ok := k[key]; !ok {
			if v != nil && sizeOfList(v) != 0 {
				out[key] = v
			}
		} else if d := difference(v, have); d != nil {
			out[key] = d
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// sizeOfList returns the length of a list, -1 for anything else.
func sizeOfList(v any) int {
	if l, ok := v.([]any); ok {
		return len(l)
	}
	return -1
}

func listDifference(whole []any, known any) any {
	k, _ := known.([]any)
	out := elements{}
	for i, v := range whole {
		if i >= len(k) {
			break
		}
		if d := difference(v, k[i]); d != nil {
			out[i] = d
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
