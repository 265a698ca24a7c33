package feature

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/internal/sparkpod"
)

// secretMounts mounts the Secrets of the role's family. It answers to MountSecretsFeatureStep.
func secretMounts(b *build) error {
	family := b.conf.Family(b.secrets)
	for _, name := range sorted(family) {
		volume := name + "-volume"
		if !sparkpod.IsDNSLabel(volume) {
			return fmt.Errorf("%s%s: the volume's name %s is not a DNS label (at most 63 of a-z, 0-9 and -)", b.secrets, name, volume)
		}
		b.addVolume(volume, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}})
		b.addMount(volume, family[name])
	}
	return nil
}

// secretEnv adds environment variables out of Secrets. It answers to EnvSecretsFeatureStep.
func secretEnv(b *build) error {
	family := b.conf.Family(b.secretKeyRefs)
	for _, name := range sorted(family) {
		parts := strings.Split(family[name], ":")
		if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
			return fmt.Errorf("%s%s: requirement failed: SecretKeyRef must be in the form name:key.", b.secretKeyRefs, name) //nolint:staticcheck // Spark's own text
		}
		b.sp.Container.Env = append(b.sp.Container.Env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: parts[0]}, Key: parts[1]}}})
	}
	return nil
}
