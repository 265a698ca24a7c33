// Package sparkpod has the values that pod building works on: the pod and its Spark container, the application's names and
// labels, and resource profiles. The feature steps (internal/feature) transform them; submit and the executor allocator
// post the result.
//
// It answers to Spark's SparkPod, KubernetesConf and ResourceProfile.
package sparkpod

import corev1 "k8s.io/api/core/v1"

// SparkPod is a pod under construction. The Spark container stands apart and is appended to the pod's other containers at
// the end (Assemble), as in org.apache.spark.deploy.k8s.SparkPod.
type SparkPod struct {
	Pod       *corev1.Pod
	Container *corev1.Container
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
