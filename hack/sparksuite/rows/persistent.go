package rows

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

const (
	persistentSuite = "PVTestsSuite"
	mountPath       = "/opt/spark/pv-tests"
	dataFile        = "words.txt"
	dataText        = "test PVs"
	madeClaim       = "test-local-pvc"
)

// persistent are the rows of PVTestsSuite. A file of this machine is read in the pods, its words are counted, and what Spark
// writes to the volume is read back.
func persistent() []trial.Row {
	const unseen = "Spark's code of this test was not to be seen: built after its name."
	row := func(number int, name string, conf map[string]string) trial.Row {
		r := pi(number, persistentSuite, name)
		r.Class, r.Args, r.Conf, r.Note = "ReadWrite", []string{mountPath + "/" + dataFile, mountPath}, conf, unseen
		r.DriverLog = []string{"Words written and read: 2 and 2, equal: true"}
		r.Driver = append(r.Driver, readsFile)
		return r
	}
	made := func(role string) map[string]string {
		return volume(role, onDisk, "data", map[string]string{"mount.path": mountPath, "options.claimName": madeClaim})
	}
	sets := map[string]string{"spark.kubernetes.allocation.pods.allocator": "statefulset"}

	hostPath := row(25, "PVs with local hostpath storage on statefulsets", merge(made("driver"), made("executor"), sets))
	hostPath.Executor = append(hostPath.Executor, readsFile)
	hostPath.Prepare = func(t *trial.Trial) error { return makeVolume(t, hostPathVolume) }

	// Executors get claims of their own by the set's template; the words go to the driver's volume through its host folder.
	class := row(26, "PVs with local hostpath and storageClass on statefulsets", merge(made("driver"), sets,
		volume("executor", onDisk, "own", map[string]string{"mount.path": "/own", "options.claimName": "OnDemand", "options.storageClass": "standard", "options.sizeLimit": "1Gi"}),
		volume("executor", onDisk, "data", map[string]string{"mount.path": mountPath, "options.claimName": madeClaim})))
	class.Executor = append(class.Executor, readsFile, templateClaim)
	class.Prepare = hostPath.Prepare

	driver := row(27, "PVs with local storage (driver)", merge(made("driver"), made("executor")))
	driver.Prepare = func(t *trial.Trial) error { return makeVolume(t, localVolume) }
	executor := row(28, "PVs with local storage (executor)", merge(made("driver"), made("executor")))
	executor.Prepare, executor.Driver = driver.Prepare, executor.Driver[:1]
	executor.Executor = append(executor.Executor, readsFile)
	return []trial.Row{hostPath, class, driver, executor}
}

// readsFile reads the file in the pod.
func readsFile(t *trial.Trial, p *corev1.Pod) error {
	return t.ExecShows(p.Name, dataText, "cat", mountPath+"/"+dataFile)
}

// templateClaim checks that one of the pod's claims came from the set's template.
func templateClaim(t *trial.Trial, p *corev1.Pod) error {
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim == nil || v.PersistentVolumeClaim.ClaimName == madeClaim {
			continue
		}
		claim, err := t.Client.CoreV1().PersistentVolumeClaims(t.Namespace).Get(t.Ctx, v.PersistentVolumeClaim.ClaimName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return equal("class of claim "+claim.Name, *claim.Spec.StorageClassName, "standard")
	}
	return errors.New("no claim came from the set's template")
}

func hostPathVolume(folder string) corev1.PersistentVolumeSpec {
	return corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}}}
}

// localVolume is a volume of one node.
func localVolume(folder string) corev1.PersistentVolumeSpec {
	return corev1.PersistentVolumeSpec{
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: folder}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpExists}}}}}},
	}
}

// makeVolume makes a class without a provisioner that binds at the first consumer, a volume of it over a folder with the
// file, and a claim.
func makeVolume(t *trial.Trial, source func(folder string) corev1.PersistentVolumeSpec) error {
	folder := filepath.Join(t.Dir, "volume")
	if err := os.Mkdir(folder, 0o777); err != nil {
		return err
	}
	if err := errors.Join(os.Chmod(folder, 0o777), os.WriteFile(filepath.Join(folder, dataFile), []byte(dataText+"\n"), 0o644)); err != nil {
		return err
	}
	name := "local-" + t.Locator
	late := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &late}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	spec := source(folder)
	spec.Capacity, spec.AccessModes = size, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	spec.PersistentVolumeReclaimPolicy, spec.StorageClassName = corev1.PersistentVolumeReclaimRetain, name
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: madeClaim}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: spec.AccessModes, StorageClassName: &name, Resources: corev1.VolumeResourceRequirements{Requests: size}}}

	create := metav1.CreateOptions{}
	if _, err := t.Client.StorageV1().StorageClasses().Create(t.Ctx, class, create); err != nil {
		return err
	}
	t.OnEnd(func(ctx context.Context) error {
		return t.Client.StorageV1().StorageClasses().Delete(ctx, name, metav1.DeleteOptions{})
	})
	if _, err := t.Client.CoreV1().PersistentVolumes().Create(t.Ctx, volume, create); err != nil {
		return err
	}
	t.OnEnd(func(ctx context.Context) error {
		return t.Client.CoreV1().PersistentVolumes().Delete(ctx, name, metav1.DeleteOptions{})
	})
	_, err := t.Client.CoreV1().PersistentVolumeClaims(t.Namespace).Create(t.Ctx, claim, create)
	return err
}
