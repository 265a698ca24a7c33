// Package volume makes a pod's volumes on the node: folders with the content of ConfigMaps, Secrets, tokens and pod fields, empty
// folders, memory, claims, images, and places of the host. The node package binds them into the pod's containers.
package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubespark/kubespark/localcluster/internal/userns"
)

// Fetcher reads what volumes are made of from the API server.
type Fetcher interface {
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	// ClaimPath is the host folder behind a bound claim.
	ClaimPath(ctx context.Context, namespace, name string) (string, error)
	// Token issues a token of the pod's service account, bound to the pod. It tells when the token ends.
	Token(ctx context.Context, pod *corev1.Pod, audience string, seconds int64) (string, time.Time, error)
}

// Volume is one volume that is ready to be bound.
type Volume struct {
	HostPath string
	ReadOnly bool
}

// Manager makes volumes below a folder.
type Manager struct {
	Dir     string
	Fetcher Fetcher
	Now     func() time.Time
	Tokens  Tokens
	// Image is the folder with the content of an image, for image volumes.
	Image func(reference string) (string, error)
}

// PodDir is the folder of a pod's volumes.
func (m *Manager) PodDir(pod *corev1.Pod) string { return filepath.Join(m.Dir, string(pod.UID)) }

// SetUp makes all volumes of a pod, or brings the content of those that exist up to date. It returns them by name, and when the
// content must be made anew (zero: never). It may be called again after an error.
func (m *Manager) SetUp(ctx context.Context, pod *corev1.Pod) (map[string]Volume, time.Time, error) {
	out := map[string]Volume{}
	var next time.Time
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		made, renew, err := m.setUpOne(ctx, pod, v)
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", v.Name, err)
		}
		out[v.Name] = made
		if !renew.IsZero() && (next.IsZero() || renew.Before(next)) {
			next = renew
		}
	}
	return out, next, nil
}

func (m *Manager) setUpOne(ctx context.Context, pod *corev1.Pod, v *corev1.Volume) (Volume, time.Time, error) {
	dir := filepath.Join(m.PodDir(pod), v.Name)
	switch {
	case v.EmptyDir != nil:
		return Volume{HostPath: dir}, time.Time{}, emptyDir(dir, v.EmptyDir, fsGroup(pod))
	case v.HostPath != nil:
		return Volume{HostPath: v.HostPath.Path}, time.Time{}, hostPath(v.HostPath)
	case v.PersistentVolumeClaim != nil:
		path, err := m.Fetcher.ClaimPath(ctx, pod.Namespace, v.PersistentVolumeClaim.ClaimName)
		if err == nil && fsGroup(pod) != nil {
			err = ownByGroup(path, *fsGroup(pod))
		}
		return Volume{HostPath: path, ReadOnly: v.PersistentVolumeClaim.ReadOnly}, time.Time{}, err
	case v.Image != nil:
		path, err := m.Image(v.Image.Reference)
		return Volume{HostPath: path, ReadOnly: true}, time.Time{}, err
	}
	files, renew, err := m.files(ctx, pod, v)
	if err != nil {
		return Volume{}, time.Time{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Volume{}, time.Time{}, err
	}
	return Volume{HostPath: dir, ReadOnly: true}, renew, writeFiles(dir, files, fsGroup(pod), m.Now())
}

// TearDown removes a pod's volumes and what is in them; places of the host stay as they are.
func (m *Manager) TearDown(pod *corev1.Pod) error {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.EmptyDir == nil || v.EmptyDir.Medium != corev1.StorageMediumMemory {
			continue
		}
		if err := unmount(filepath.Join(m.PodDir(pod), v.Name)); err != nil {
			return err
		}
	}
	return os.RemoveAll(m.PodDir(pod))
}

// Clean removes the volumes of every pod below a folder.
func Clean(dir string) error {
	mounts, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		return err
	}
	for _, p := range mounts {
		if err := unmount(p); err != nil {
			return err
		}
	}
	return os.RemoveAll(dir)
}

func unmount(path string) error {
	err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("unmount %s: %w", path, err)
	}
	return nil
}

func fsGroup(pod *corev1.Pod) *int64 {
	if pod.Spec.SecurityContext == nil {
		return nil
	}
	return pod.Spec.SecurityContext.FSGroup
}

func emptyDir(dir string, src *corev1.EmptyDirVolumeSource, group *int64) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	if src.Medium == corev1.StorageMediumMemory {
		opts := "mode=0777"
		if src.SizeLimit != nil && !src.SizeLimit.IsZero() {
			opts += fmt.Sprintf(",size=%d", src.SizeLimit.Value())
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, opts); err != nil {
			return errors.Join(fmt.Errorf("memory volume at %s: %w", dir, err), os.Remove(dir))
		}
	} else if src.Medium != corev1.StorageMediumDefault {
		return errors.Join(fmt.Errorf("emptyDir medium %q: this node has only the default one and Memory", src.Medium), os.Remove(dir))
	}
	if group != nil {
		if err := userns.Lchown(dir, -1, int(*group)); err != nil {
			return err
		}
		return unix.Chmod(dir, 0o2777)
	}
	return unix.Chmod(dir, 0o777)
}

// ownByGroup gives a volume to the pod's group, as a kubelet does for claims.
func ownByGroup(root string, group int64) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := userns.Lchown(path, -1, int(group)); err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		mode := st.Mode&0o7777 | 0o660
		if d.IsDir() {
			mode |= 0o2110
		}
		return unix.Chmod(path, mode)
	})
}

func hostPath(src *corev1.HostPathVolumeSource) error {
	kind := corev1.HostPathUnset
	if src.Type != nil {
		kind = *src.Type
	}
	switch kind {
	case corev1.HostPathUnset:
		return nil
	case corev1.HostPathDirectoryOrCreate:
		if err := os.MkdirAll(src.Path, 0o755); err != nil {
			return err
		}
	case corev1.HostPathFileOrCreate:
		f, err := os.OpenFile(src.Path, os.O_CREATE|os.O_RDONLY, 0o644)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	st, err := os.Stat(src.Path)
	if err != nil {
		return fmt.Errorf("hostPath type check failed: %s is not there", src.Path)
	}
	if !hostPathFits(kind, st.Mode()) {
		return fmt.Errorf("hostPath type check failed: %s is not a %s", src.Path, kind)
	}
	return nil
}

func hostPathFits(kind corev1.HostPathType, mode fs.FileMode) bool {
	switch kind {
	case corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate:
		return mode.IsDir()
	case corev1.HostPathFile, corev1.HostPathFileOrCreate:
		return mode.IsRegular()
	case corev1.HostPathSocket:
		return mode&fs.ModeSocket != 0
	case corev1.HostPathCharDev:
		return mode&fs.ModeCharDevice != 0
	case corev1.HostPathBlockDev:
		return mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0
	}
	return true
}

// optional turns "not there" into "empty" for sources that may be missing.
func optional(flag *bool, err error) error {
	if flag != nil && *flag && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
