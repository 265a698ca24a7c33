package provisioner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
)

func claim(name, class string, annotations ...string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	for _, a := range annotations {
		k, v, _ := strings.Cut(a, "=")
		c.Annotations[k] = v
	}
	return c
}

func with(c *corev1.PersistentVolumeClaim, change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	change(c)
	return c
}

func released(name, by string, policy corev1.PersistentVolumeReclaimPolicy, phase corev1.PersistentVolumePhase) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Annotations: map[string]string{annProvisionedBy: by}},
		Spec:       corev1.PersistentVolumeSpec{PersistentVolumeReclaimPolicy: policy}, Status: corev1.PersistentVolumeStatus{Phase: phase},
	}
}

const ours, node = annProvisioner + "=" + Name, annSelectedNode + "=local"

func TestDecide(t *testing.T) {
	block := corev1.PersistentVolumeBlock
	s := state{
		classes: append(Classes(), &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Provisioner: "x/y"}),
		claims: []*corev1.PersistentVolumeClaim{
			claim("waits", Standard, ours), claim("chosen", Standard, ours, node), claim("now", Immediate, ours), claim("early", Immediate),
			claim("theirs", "theirs", annProvisioner+"=x/y"), claim("none", "no-such-class", ours), claim("made", Immediate, ours),
			with(claim("bound", Immediate, ours), func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "v" }),
			with(claim("going", Immediate, ours), func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{} }),
			with(claim("block", Immediate, ours), func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = &block }),
			with(claim("classless", "", ours), func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil }),
		},
		volumes: []*corev1.PersistentVolume{
			released("pvc-uid-made", Name, corev1.PersistentVolumeReclaimDelete, corev1.VolumeAvailable),
			released("old", Name, corev1.PersistentVolumeReclaimDelete, corev1.VolumeReleased),
			released("kept", Name, corev1.PersistentVolumeReclaimRetain, corev1.VolumeReleased),
			released("theirs", "x/y", corev1.PersistentVolumeReclaimDelete, corev1.VolumeReleased),
		},
	}
	p := decide(s, "/claims")
	var got []string
	for _, v := range p.make {
		got = append(got, "make "+v.Name+" at "+v.Spec.HostPath.Path)
		if v.Spec.ClaimRef.UID == "" || v.Spec.AccessModes[0] != corev1.ReadWriteOncePod || v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
			t.Errorf("%+v", v.Spec)
		}
	}
	for _, v := range p.remove {
		got = append(got, "remove "+v.Name)
	}
	for _, r := range p.refused {
		got = append(got, "refuse "+r.claim.Name)
	}
	want := []string{"make pvc-uid-chosen at /claims/pvc-uid-chosen", "make pvc-uid-now at /claims/pvc-uid-now", "remove old", "refuse block"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A claim's life: volume and folder made although the API server fails at first, deleted when the volume is released.
func TestLifeOfAClaim(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "claims")
	synctest.Test(t, func(t *testing.T) {
		block := corev1.PersistentVolumeBlock
		refused := with(claim("b", Immediate, ours), func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = &block })
		client := fake.NewClientset(Classes()[0], Classes()[1], claim("a", Standard, ours, node), refused)
		failures := 2
		client.PrependReactor("create", "persistentvolumes", func(k8stesting.Action) (bool, runtime.Object, error) {
			if failures == 0 {
				return false, nil, nil
			}
			failures--
			return true, nil, errors.New("etcd is slow")
		})
		events := record.NewFakeRecorder(10)
		var log []string
		p := Provisioner{Client: client, Dir: dir, Events: events, Log: func(f string, a ...any) { log = append(log, f) }}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		defer func() {
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(5 * time.Second)
		pvs := client.CoreV1().PersistentVolumes()
		v, err := pvs.Get(t.Context(), "pvc-uid-a", metav1.GetOptions{})
		if err != nil || len(log) != 2 {
			t.Fatalf("%v; %d rounds failed", err, len(log))
		}
		if st, err := os.Stat(v.Spec.HostPath.Path); err != nil || st.Mode() != os.ModeDir|0o777 {
			t.Errorf("folder: %v, %v", st, err)
		}
		if e := <-events.Events; len(events.Events) > 0 || !strings.Contains(e, "ProvisioningFailed") {
			t.Errorf("events: %s and %d more", e, len(events.Events))
		}
		v.Status.Phase = corev1.VolumeReleased
		if err := client.CoreV1().PersistentVolumeClaims("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := pvs.UpdateStatus(t.Context(), v, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if _, err := pvs.Get(t.Context(), "pvc-uid-a", metav1.GetOptions{}); err == nil {
			t.Error("the released volume is still there")
		}
		if _, err := os.Stat(v.Spec.HostPath.Path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("folder of the released volume: %v", err)
		}
	})
}

// A volume that only claims to be ours does not get a folder of the host deleted.
func TestForeignPathIsNotDeleted(t *testing.T) {
	keep := t.TempDir()
	v := released("v", Name, corev1.PersistentVolumeReclaimDelete, corev1.VolumeReleased)
	v.Spec.HostPath = &corev1.HostPathVolumeSource{Path: keep}
	p := Provisioner{Client: fake.NewClientset(v), Dir: t.TempDir()}
	if err := p.remove(t.Context(), v); err == nil {
		t.Error("it was deleted")
	}
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
}
