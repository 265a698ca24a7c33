package provisioner

import (
	"path/filepath"
	"sort"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Name is what storage classes of this provisioner have as their provisioner.
const Name = "kubespark.io/folder"

// Annotations of the protocol between the control plane's volume controller, its scheduler and a provisioner.
const (
	annProvisioner   = "volume.kubernetes.io/storage-provisioner" // on a claim: whose it is
	annSelectedNode  = "volume.kubernetes.io/selected-node"       // on a claim that waits for its first pod: the scheduler's choice
	annProvisionedBy = "pv.kubernetes.io/provisioned-by"          // on a volume: who made it
)

// state is what the API server has.
type state struct {
	claims  []*corev1.PersistentVolumeClaim
	volumes []*corev1.PersistentVolume
	classes []*storagev1.StorageClass
}

// refusal is a claim that cannot be served, with the reason.
type refusal struct {
	claim *corev1.PersistentVolumeClaim
	text  string
}

// plan is what has to be done: volumes to make, volumes to delete with their folders, claims to refuse.
type plan struct {
	make    []*corev1.PersistentVolume
	remove  []*corev1.PersistentVolume
	refused []refusal
}

// decide compares claims and volumes. Folders of volumes lie below dir.
func decide(s state, dir string) plan {
	var p plan
	have := map[string]bool{}
	for _, v := range s.volumes {
		have[v.Name] = true
		if v.Annotations[annProvisionedBy] == Name && v.Status.Phase == corev1.VolumeReleased &&
			v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete && v.DeletionTimestamp == nil {
			p.remove = append(p.remove, v)
		}
	}
	classes := map[string]*storagev1.StorageClass{}
	for _, c := range s.classes {
		classes[c.Name] = c
	}
	for _, c := range s.claims {
		class := classOf(c, classes)
		if class == nil || have[volumeName(c)] || !ready(c, class) {
			continue
		}
		if c.Spec.VolumeMode != nil && *c.Spec.VolumeMode != corev1.PersistentVolumeFilesystem {
			p.refused = append(p.refused, refusal{c, "volumes of this class are folders: a claim with volumeMode " + string(*c.Spec.VolumeMode) + " cannot be served"})
			continue
		}
		p.make = append(p.make, volumeFor(c, class, dir))
	}
	sort.Slice(p.make, func(i, j int) bool { return p.make[i].Name < p.make[j].Name })
	return p
}

func classOf(c *corev1.PersistentVolumeClaim, classes map[string]*storagev1.StorageClass) *storagev1.StorageClass {
	if c.Spec.StorageClassName == nil {
		return nil
	}
	class := classes[*c.Spec.StorageClassName]
	if class == nil || class.Provisioner != Name {
		return nil
	}
	return class
}

// ready: the volume controller has found no volume for the claim and handed it over; if it waits for its first pod, that has a node.
func ready(c *corev1.PersistentVolumeClaim, class *storagev1.StorageClass) bool {
	if c.DeletionTimestamp != nil || c.Spec.VolumeName != "" || c.Annotations[annProvisioner] != Name {
		return false
	}
	waits := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	return !waits || c.Annotations[annSelectedNode] != ""
}

// volumeName is the one name a claim's volume can have, so that it is made once only.
func volumeName(c *corev1.PersistentVolumeClaim) string { return "pvc-" + string(c.UID) }

func volumeFor(c *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, dir string) *corev1.PersistentVolume {
	policy := corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		policy = *class.ReclaimPolicy
	}
	kind := corev1.HostPathDirectory
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volumeName(c), Annotations: map[string]string{annProvisionedBy: Name}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: c.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes: c.Spec.AccessModes, PersistentVolumeReclaimPolicy: policy, StorageClassName: class.Name, VolumeMode: c.Spec.VolumeMode,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID, ResourceVersion: c.ResourceVersion,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: filepath.Join(dir, volumeName(c)), Type: &kind}},
		},
	}
}
