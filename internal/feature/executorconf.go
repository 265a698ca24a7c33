package feature

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/internal/sparkpod"
)

// ExecutorConfigMap makes the ConfigMap that executors mount: the driver's configuration files by name, and the namespace.
// owner is the driver pod, nil for none. It answers to KubernetesClusterSchedulerBackend.setUpExecutorConfigMap.
func ExecutorConfigMap(name, namespace, appID string, files map[string]string, owner *metav1.OwnerReference) *corev1.ConfigMap {
	data := map[string]string{
		propertiesFile: PropertiesText(name, map[string]string{namespaceKey: namespace}),
		namespaceKey:   namespace,
	}
	maps.Copy(data, files)
	cm := configMap(name, data)
	cm.Namespace = namespace
	cm.Labels = map[string]string{sparkpod.LabelAppSelector: appID, sparkpod.LabelRole: string(sparkpod.Executor)}
	if owner != nil {
		cm.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return cm
}
