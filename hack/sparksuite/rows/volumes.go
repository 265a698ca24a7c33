package rows

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

func volumes() []trial.Row { return append(persistent(), scratch()...) }

// merge joins property maps.
func merge(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

const (
	tmpfs  = "tmpfs"
	device = "/dev/"
	onDisk = "persistentVolumeClaim"
)

// onDemand are the properties of a claim that is made for one pod.
func onDemand(role string) map[string]string {
	return volume(role, onDisk, "data", map[string]string{"mount.path": "/data", "mount.readOnly": "false",
		"options.claimName": "OnDemand", "options.storageClass": "standard", "options.sizeLimit": "1Gi"})
}

// scratch are the rows of VolumeSuite.
func scratch() []trial.Row {
	const suite = "VolumeSuite"
	emptyDir := func(settings map[string]string) map[string]string {
		return volume("driver", "emptyDir", "data", settings)
	}
	// Long enough for a look into the pod.
	row := func(number int, name string, conf map[string]string) trial.Row {
		r := pi(number, suite, name)
		r.Args, r.Conf = []string{"100"}, conf
		return r
	}
	only := func(number int, name, file string, conf map[string]string) trial.Row {
		r := driverOnly(row(number, name, conf))
		r.Driver = append(r.Driver, diskAt("/data", file))
		return r
	}
	local := driverOnly(row(29, "A driver-only Spark job with a tmpfs-backed localDir volume", map[string]string{"spark.kubernetes.local.dirs.tmpfs": "true"}))
	local.Driver = append(local.Driver, localDirs(tmpfs))

	memory := only(30, "A driver-only Spark job with a tmpfs-backed emptyDir data volume", tmpfs,
		emptyDir(map[string]string{"mount.path": "/data", "options.medium": "Memory", "options.sizeLimit": "1G"}))
	disk := only(31, "A driver-only Spark job with a disk-backed emptyDir volume", device,
		emptyDir(map[string]string{"mount.path": "/data", "options.sizeLimit": "1G"}))
	claim := only(32, "A driver-only Spark job with an OnDemand PVC volume", device, onDemand("driver"))

	both := row(33, "A Spark job with tmpfs-backed localDir volumes", map[string]string{"spark.kubernetes.local.dirs.tmpfs": "true"})
	both.Driver, both.Executor = append(both.Driver, localDirs(tmpfs)), append(both.Executor, localDirs(tmpfs))

	two := row(34, "A Spark job with two executors with OnDemand PVC volumes", merge(onDemand("executor"), map[string]string{"spark.executor.instances": "2"}))
	two.Executors = 2
	two.Executor = append(two.Executor, diskAt("/data", device), ownClaim)
	return []trial.Row{local, memory, disk, claim, both, two}
}

// ownClaim checks that the pod's claim is bound and that no other executor mounts it.
func ownClaim(t *trial.Trial, p *corev1.Pod) error {
	name := claimOf(p)
	if name == "" {
		return fmt.Errorf("it mounts no claim")
	}
	for _, other := range t.SeenExecutors() {
		if other.Name != p.Name && claimOf(&other) == name {
			return fmt.Errorf("its claim %s is also that of %s", name, other.Name)
		}
	}
	claim, err := t.Client.CoreV1().PersistentVolumeClaims(t.Namespace).Get(t.Ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return equal("phase of its claim "+name, string(claim.Status.Phase), string(corev1.ClaimBound))
}

func claimOf(p *corev1.Pod) string {
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			return v.PersistentVolumeClaim.ClaimName
		}
	}
	return ""
}
