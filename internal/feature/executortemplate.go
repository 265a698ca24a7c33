package feature

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/conf"
)

// executorTemplate ships the executors' pod template to the driver. It answers to PodTemplateConfigMapStep.
func executorTemplate(b *build) error {
	if !conf.ExecutorTemplateFile.IsSet(b.conf) {
		return nil
	}
	const key, volume = "podspec-configmap-key", "pod-template-volume"
	name := b.prefix + "-driver-podspec-conf-map"
	b.objects = append(b.objects, configMap(name, map[string]string{key: b.driver.ExecutorTemplateText}))
	b.addVolume(volume, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name},
		Items:                []corev1.KeyToPath{{Key: key, Path: executorTemplFile}}}})
	b.addMount(volume, executorTemplDir)
	b.props[conf.ExecutorTemplateFile.Key()] = executorTemplDir + "/" + executorTemplFile
	return nil
}
