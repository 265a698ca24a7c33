package feature

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// ExecutorInput is all that an executor pod depends on.
type ExecutorInput struct {
	Conf          *conf.Conf
	AppID         string
	Namespace     string
	ExecutorID    string // positive integer as text, or EXECID
	PodNamePrefix string
	Profile       sparkpod.Profile
	Driver        *metav1.OwnerReference // nil: no driver pod
	ConfigMapName string                 // executor ConfigMap, empty when disabled
	ConfFiles     []string               // keys of it that are mounted
	Template      *sparkpod.Template     // nil: none
	UserName      string                 // SPARK_USER
	AuthSecret    string                 // _SPARK_AUTH_SECRET, empty: none
	LocalDirs     string                 // SPARK_LOCAL_DIRS of the building process, empty: unset
}

// ExecutorSpec is what BuildExecutor makes: the pod as it is posted, and what goes with it.
type ExecutorSpec struct {
	Pod           *corev1.Pod
	ContainerName string                          // of the Spark container, whose state decides the executor's
	Claims        []*corev1.PersistentVolumeClaim // to create beside the pod
}
