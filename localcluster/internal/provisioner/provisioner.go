// Package provisioner makes the persistent volumes of the local cluster: a folder for each claim whose storage class names it, deleted
// with the claim where the class says so. The control plane's volume controller hands claims over and binds them; the node runs this and
// mounts the folders.
package provisioner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
)

// The storage classes that every cluster has. Standard is the default one and waits for the first pod that uses the claim.
const (
	Standard  = "standard"
	Immediate = "standard-immediate"
)

// Classes are the storage classes to make.
func Classes() []*storagev1.StorageClass {
	class := func(name string, mode storagev1.VolumeBindingMode, annotations map[string]string) *storagev1.StorageClass {
		policy := corev1.PersistentVolumeReclaimDelete
		return &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Provisioner: Name, ReclaimPolicy: &policy, VolumeBindingMode: &mode,
		}
	}
	return []*storagev1.StorageClass{
		class(Standard, storagev1.VolumeBindingWaitForFirstConsumer, map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}),
		class(Immediate, storagev1.VolumeBindingImmediate, nil),
	}
}

// retryAfter is the wait after a round in which something failed.
const retryAfter = time.Second

// Provisioner makes and deletes volumes. All its work is done by Run's goroutine.
type Provisioner struct {
	Client kubernetes.Interface
	// Dir is the folder of the volumes' folders, an absolute path.
	Dir    string
	Events record.EventRecorder
	Log    func(format string, args ...any)

	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	classes storagelisters.StorageClassLister
	told    map[string]bool // claims refused, by UID
}

// Run serves claims until the context ends.
func (p *Provisioner) Run(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	factory := informers.NewSharedInformerFactory(p.Client, 0)
	core := factory.Core().V1()
	p.claims, p.volumes = core.PersistentVolumeClaims().Lister(), core.PersistentVolumes().Lister()
	p.classes = factory.Storage().V1().StorageClasses().Lister()
	p.told = map[string]bool{}
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	var synced []cache.InformerSynced
	for _, i := range []cache.SharedIndexInformer{
		core.PersistentVolumeClaims().Informer(), core.PersistentVolumes().Informer(), factory.Storage().V1().StorageClasses().Informer(),
	} {
		if _, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
		}); err != nil {
			return fmt.Errorf("watch claims and volumes: %w", err)
		}
		synced = append(synced, i.HasSynced)
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil // the context has ended
	}
	p.serve(ctx, changed)
	return nil
}

// serve does a round at the start, after each change, and again when one failed.
func (p *Provisioner) serve(ctx context.Context, changed <-chan struct{}) {
	for {
		var again <-chan time.Time
		if err := p.round(ctx); err != nil && ctx.Err() == nil {
			p.Log("persistent volumes: %v", err)
			again = time.After(retryAfter)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-again:
		}
	}
}

func (p *Provisioner) round(ctx context.Context) error {
	s, err := p.state()
	if err != nil {
		return err
	}
	todo := decide(s, p.Dir)
	var errs []error
	for _, v := range todo.make {
		errs = append(errs, p.provision(ctx, v))
	}
	for _, v := range todo.remove {
		errs = append(errs, p.remove(ctx, v))
	}
	for _, r := range todo.refused {
		if !p.told[string(r.claim.UID)] {
			p.told[string(r.claim.UID)] = true
			p.Events.Event(r.claim, corev1.EventTypeWarning, "ProvisioningFailed", r.text)
		}
	}
	return errors.Join(errs...)
}

func (p *Provisioner) state() (s state, err error) {
	var err1, err2, err3 error
	s.claims, err1 = p.claims.List(labels.Everything())
	s.volumes, err2 = p.volumes.List(labels.Everything())
	s.classes, err3 = p.classes.List(labels.Everything())
	return s, errors.Join(err1, err2, err3)
}

// provision makes the folder, then the volume. Whoever the pod runs as may write, since nothing else in the cluster would let it.
func (p *Provisioner) provision(ctx context.Context, v *corev1.PersistentVolume) error {
	dir := v.Spec.HostPath.Path
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		return err
	}
	_, err := p.Client.CoreV1().PersistentVolumes().Create(ctx, v, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s for claim %s/%s: %w", v.Name, v.Spec.ClaimRef.Namespace, v.Spec.ClaimRef.Name, err)
	}
	return nil
}

// remove deletes the folder, then the volume. A volume's path is trusted only as one that this provisioner gives.
func (p *Provisioner) remove(ctx context.Context, v *corev1.PersistentVolume) error {
	if v.Spec.HostPath == nil || v.Spec.HostPath.Path != filepath.Join(p.Dir, v.Name) {
		return fmt.Errorf("volume %s says it is %s's and is not at its place: delete it by hand", v.Name, Name)
	}
	if err := os.RemoveAll(v.Spec.HostPath.Path); err != nil {
		return err
	}
	err := p.Client.CoreV1().PersistentVolumes().Delete(ctx, v.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &v.UID}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete %s: %w", v.Name, err)
	}
	return nil
}
