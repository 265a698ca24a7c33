// Package sparkpod has the values that pod building works on: the pod and its Spark container, the application's names and
// labels, and resource profiles. The feature steps (internal/feature) transform them; submit and the executor allocator
// post the result.
//
// It answers to Spark's SparkPod, KubernetesConf and ResourceProfile.
package sparkpod

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SparkPod is a pod under construction. The Spark container stands apart and is appended to the pod's other containers at
// the end (Assemble), as in org.apache.spark.deploy.k8s.SparkPod.
type SparkPod struct {
	Pod       *corev1.Pod
	Container *corev1.Container

	podRest       Rest
	containerRest Rest
}

// Role says whose pod is built. Where the two differ, the difference is data looked up by Role.
type Role string

// The two roles, as the label spark-role has them.
const (
	Driver   Role = "driver"
	Executor Role = "executor"
)

// Labels that Spark puts on its objects (org.apache.spark.deploy.k8s.Constants).
const (
	LabelVersion         = "spark-version"
	LabelAppSelector     = "spark-app-selector"
	LabelAppName         = "spark-app-name"
	LabelRole            = "spark-role"
	LabelExecutorID      = "spark-exec-id"
	LabelResourceProfile = "spark-exec-resourceprofile-id"
	LabelInactive        = "spark-exec-inactive"
)

// New returns the pod that building starts from when there is no template: everything empty.
func New() *SparkPod {
	return &SparkPod{
		Pod:       &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}},
		Container: &corev1.Container{},
	}
}

// SetInPod records, for Render, a value that the typed pod cannot carry: an unknown field, a false or empty value that
// is to appear, the text of a quantity. The path's elements are field names and list indices.
func (s *SparkPod) SetInPod(value any, path ...any) { s.podRest = s.podRest.with(value, path) }

// SetInContainer is SetInPod for the Spark container.
func (s *SparkPod) SetInContainer(value any, path ...any) {
	s.containerRest = s.containerRest.with(value, path)
}

// DropInContainer forgets what SetInContainer or the template recorded below a field of the Spark container, because the
// field has been replaced.
func (s *SparkPod) DropInContainer(field string) {
	m, _ := s.containerRest.tree.(map[string]any)
	if _, ok := m[field]; ok {
		m = maps.Clone(m)
		delete(m, field)
		s.containerRest = Rest{m}
	}
}

// Assemble appends the Spark container to the pod's other containers and returns the pod with what Render has to add to
// it. The SparkPod must not be used afterwards.
func (s *SparkPod) Assemble() (*corev1.Pod, Rest) {
	at := len(s.Pod.Spec.Containers)
	s.Pod.Spec.Containers = append(s.Pod.Spec.Containers, *s.Container)
	rest := s.podRest
	if !s.containerRest.Empty() {
		rest = rest.with(s.containerRest.tree, []any{"spec", "containers", at})
	}
	return s.Pod, rest
}
