package feature

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/conf"
)

// Where the image of spark.kubespark.image puts its files in the Spark container.
const (
	shimDir       = "/opt/kubespark"
	ShimJarPath   = shimDir + "/kubespark.jar"     // ShimJarPath is kubespark.jar, for the driver's class path.
	ManagerPath   = shimDir + "/kubespark-manager" // ManagerPath is the manager's binary.
	shimVolume    = "kubespark"
	shimContainer = "kubespark-install"
	shimUser      = 65532 // the image's own user
)

// checkShimImage refuses what would hide the files of spark.kubespark.image, or be hidden by them.
func checkShimImage(b *build) error {
	taken := func(what, name string) error {
		return fmt.Errorf("%s: the pod has a %s %s already, and kubespark needs it; rename or move it", conf.ShimImage.Key(), what, name)
	}
	spec := &b.sp.Pod.Spec
	if slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == shimVolume }) {
		return taken("volume", shimVolume)
	}
	if slices.ContainsFunc(append(slices.Clone(spec.InitContainers), spec.Containers...), func(c corev1.Container) bool { return c.Name == shimContainer }) {
		return taken("container", shimContainer)
	}
	for _, m := range b.sp.Container.VolumeMounts {
		if m.MountPath == shimDir {
			return fmt.Errorf("%s: the volume %s is mounted at %s already, where kubespark's files go; mount it elsewhere", conf.ShimImage.Key(), m.Name, shimDir)
		}
	}
	return nil
}

// shimImage brings kubespark.jar and the manager into an image that lacks them: by an init container that copies them into
// an empty volume, or, with spark.kubespark.image.volume, by mounting the image itself. Spark has no such step.
func shimImage(b *build) error {
	image, err := conf.ShimImage.Get(b.conf)
	if err != nil || image == "" {
		return err
	}
	if err := checkShimImage(b); err != nil {
		return err
	}
	policy, err := conf.ImagePullPolicy.Get(b.conf)
	if err != nil {
		return err
	}
	mounted, err := conf.ShimImageVolume.Get(b.conf)
	if err != nil {
		return err
	}
	b.sp.Container.VolumeMounts = append(b.sp.Container.VolumeMounts, corev1.VolumeMount{Name: shimVolume, MountPath: shimDir, ReadOnly: true})
	if mounted {
		b.addVolume(shimVolume, corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: image, PullPolicy: corev1.PullPolicy(policy)}})
		return nil
	}
	b.addVolume(shimVolume, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	// Behind the template's: what the template says of its own goes by position.
	b.sp.Pod.Spec.InitContainers = append(b.sp.Pod.Spec.InitContainers, corev1.Container{
		Name: shimContainer, Image: image, ImagePullPolicy: corev1.PullPolicy(policy), Args: []string{shimDir},
		VolumeMounts: []corev1.VolumeMount{{Name: shimVolume, MountPath: shimDir}},
		// A quota refuses a container without; the pod needs no more for it, since the two never run together.
		Resources:       corev1.ResourceRequirements{Requests: b.sp.Container.Resources.Requests.DeepCopy(), Limits: b.sp.Container.Resources.Limits.DeepCopy()},
		SecurityContext: restricted(b.sp.Pod.Spec.SecurityContext),
	})
	return nil
}

// restricted is the security context that the Pod Security level of this name asks for. The user is the pod's, else the
// image's: naming one would be refused where a cluster gives each namespace its own.
func restricted(pod *corev1.PodSecurityContext) *corev1.SecurityContext {
	c := &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true), RunAsNonRoot: new(true),
		Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if pod != nil && pod.RunAsUser != nil && *pod.RunAsUser == 0 {
		c.RunAsUser = new(int64(shimUser))
	}
	return c
}
