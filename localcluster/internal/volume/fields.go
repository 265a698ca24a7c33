package volume

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// FieldValue is the text of a pod field as the downward API gives it, to files and to environment variables.
func FieldValue(pod *corev1.Pod, path string) (string, error) {
	if name, key, ok := subscript(path); ok {
		switch name {
		case "metadata.labels":
			return pod.Labels[key], nil
		case "metadata.annotations":
			return pod.Annotations[key], nil
		}
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return quoted(pod.Labels), nil
	case "metadata.annotations":
		return quoted(pod.Annotations), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return pod.Status.HostIP, nil
	case "status.podIP", "status.podIPs":
		return pod.Status.PodIP, nil
	}
	return "", fmt.Errorf("unsupported fieldPath: %s", path)
}

// subscript takes metadata.labels['key'] apart.
func subscript(path string) (name, key string, ok bool) {
	name, rest, ok := strings.Cut(path, "['")
	if !ok || !strings.HasSuffix(rest, "']") {
		return "", "", false
	}
	return name, strings.TrimSuffix(rest, "']"), true
}

func quoted(m map[string]string) string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var lines []string
	for _, k := range keys {
		lines = append(lines, k+"="+strconv.Quote(m[k]))
	}
	return strings.Join(lines, "\n")
}

func resourceOf(pod *corev1.Pod, sel *corev1.ResourceFieldSelector) (string, error) {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == sel.ContainerName {
			return ResourceValue(&pod.Spec.Containers[i], sel)
		}
	}
	return "", fmt.Errorf("container %s not found", sel.ContainerName)
}

// ResourceValue is the text of a container's request or limit in units of the selector's divisor, rounded up.
func ResourceValue(c *corev1.Container, sel *corev1.ResourceFieldSelector) (string, error) {
	from, name, ok := strings.Cut(sel.Resource, ".")
	list := c.Resources.Limits
	if from == "requests" {
		list = c.Resources.Requests
	}
	if !ok || from != "requests" && from != "limits" {
		return "", fmt.Errorf("unsupported container resource: %s", sel.Resource)
	}
	q := list[corev1.ResourceName(name)]
	div := sel.Divisor
	if div.IsZero() {
		div = resource.MustParse("1")
	}
	if name == string(corev1.ResourceCPU) {
		return strconv.FormatInt(ceilDiv(q.MilliValue(), div.MilliValue()), 10), nil
	}
	return strconv.FormatInt(ceilDiv(q.Value(), div.Value()), 10), nil
}

func ceilDiv(a, b int64) int64 { return int64(math.Ceil(float64(a) / float64(b))) }
