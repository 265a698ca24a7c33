//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mount adds a volume to the pod at /NAME.
func mount(p *corev1.Pod, name string, source corev1.VolumeSource) {
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name})
}

func emptyDir(medium corev1.StorageMedium, limit string) corev1.VolumeSource {
	e := &corev1.EmptyDirVolumeSource{Medium: medium}
	if limit != "" {
		q := resource.MustParse(limit)
		e.SizeLimit = &q
	}
	return corev1.VolumeSource{EmptyDir: e}
}

func claim(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// df tells what Spark's suite looks for: tmpfs for memory, with the limit as its size, and a device for disk, an empty folder's and a
// claim's.
func TestDiskAndMemoryInDf(t *testing.T) {
	j := newJob(t)
	j.claim("data", "standard")
	p := shellPod("df", `set -e
		df -P /memory | awk 'END {print "memory", $1, $2}'
		df -P /disk /data | awk 'NR > 1 {print substr($1, 1, 5), $6}'
		if dd if=/dev/zero of=/memory/big bs=1M count=2 2>/dev/null; then echo "the limit does not hold"; fi`)
	mount(p, "memory", emptyDir(corev1.StorageMediumMemory, "1Mi"))
	mount(p, "disk", emptyDir("", ""))
	mount(p, "data", claim("data"))
	j.create(p)
	if _, log := j.ended("df"); log != "memory tmpfs 1024\n/dev/ /disk\n/dev/ /data\n" {
		t.Errorf("the pod says:\n%s", log)
	}
}

// A pod whose disk-backed empty folder outgrows its limit is evicted.
func TestEvictionForAFullFolder(t *testing.T) {
	j := newJob(t)
	p := shellPod("glutton", `dd if=/dev/zero of=/disk/big bs=1M count=3 2>/dev/null; sleep 60`)
	mount(p, "disk", emptyDir("", "1Mi"))
	j.create(p)
	pod, _ := j.ended("glutton")
	if want := `Usage of EmptyDir volume "disk" exceeds the limit "1Mi". `; pod.Status.Phase != corev1.PodFailed || pod.Status.Reason != "Evicted" || pod.Status.Message != want {
		t.Errorf("%s, %s: %q", pod.Status.Phase, pod.Status.Reason, pod.Status.Message)
	}
}

func (j *job) claim(name, class string) {
	j.t.Helper()
	_, err := cluster.client.CoreV1().PersistentVolumeClaims(j.namespace).Create(j.t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		j.t.Fatal(err)
	}
}

func (j *job) claimPhase(name string) corev1.PersistentVolumeClaimPhase {
	j.t.Helper()
	c, err := cluster.client.CoreV1().PersistentVolumeClaims(j.namespace).Get(j.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		j.t.Fatal(err)
	}
	return c.Status.Phase
}

// A claim of the class "standard" waits for its first pod and is bound to a new volume then. One of a class without provisioner is bound
// to a volume that somebody made, on the node that the volume names.
func TestClaimsWaitForTheirPod(t *testing.T) {
	j := newJob(t)
	ctx := t.Context()
	class, mode := j.namespace+"-local", storagev1.VolumeBindingWaitForFirstConsumer
	_, err := cluster.client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &mode}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: class},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}, StorageClassName: class,
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: j.signals}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"local"}}}}}}},
		},
	}
	if _, err := cluster.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(ctx)
		err1 := cluster.client.CoreV1().PersistentVolumes().Delete(ctx, class, metav1.DeleteOptions{})
		err2 := cluster.client.StorageV1().StorageClasses().Delete(ctx, class, metav1.DeleteOptions{})
		if err1 != nil || err2 != nil {
			t.Error(err1, err2)
		}
	})
	if err := os.WriteFile(filepath.Join(j.signals, "file.txt"), []byte("made before"), 0o644); err != nil {
		t.Fatal(err)
	}
	j.claim("made", class)
	j.claim("new", "standard")
	eventually(t, 10*time.Second, "both claims wait", func() (bool, string) {
		list, err := cluster.client.CoreV1().Events(j.namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=WaitForFirstConsumer"})
		return err == nil && len(list.Items) >= 2, fmt.Sprint(err)
	})
	if a, b := j.claimPhase("made"), j.claimPhase("new"); a != corev1.ClaimPending || b != corev1.ClaimPending {
		t.Errorf("without a pod the claims are %s and %s", a, b)
	}
	p := shellPod("first", `cat /made/file.txt && touch /new/x && echo " and written"`)
	mount(p, "made", claim("made"))
	mount(p, "new", claim("new"))
	j.create(p)
	if _, log := j.ended("first"); log != "made before and written\n" {
		t.Errorf("the pod says %q", log)
	}
	if a, b := j.claimPhase("made"), j.claimPhase("new"); a != corev1.ClaimBound || b != corev1.ClaimBound {
		t.Errorf("with a pod the claims are %s and %s", a, b)
	}
}

// A Service that is made when a pod runs already appears in it, and so does a pod that comes behind the Service later.
func TestServiceNamesInRunningPods(t *testing.T) {
	j := newJob(t)
	j.create(shellPod("waits", `until getent hosts late; do sleep 0.05; done; until [ "$(getent ahostsv4 late | awk '{print $1}' | sort -u | wc -l)" = 2 ]; do sleep 0.05; done; echo two`))
	j.runs("waits")
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"tier": "late"}, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := cluster.client.CoreV1().Services(j.namespace).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"late-1", "late-2"} {
		p := shellPod(name, "sleep 60")
		p.Labels["tier"] = "late"
		j.create(p)
	}
	if _, log := j.ended("waits"); !strings.HasSuffix(log, "two\n") {
		t.Errorf("the pod says %q", log)
	}
}
