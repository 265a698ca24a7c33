package container

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/kubespark/kubespark/localcluster/internal/userns"
)

// privateFolders are the host's own places that no container needs: each container gets an empty folder of the same mode instead.
var privateFolders = []string{"/tmp", "/var/tmp", "/run", "/root", "/home", "/mnt", "/media"}

// systemFolders are where a host keeps programs and libraries. A file system of its own mounted below one of them is not part of
// the overlay (overlays do not cross mounts) and is bound read-only.
var systemFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/srv", "/nix", "/gnu"}

// makeRoot mounts a container's root file system: an overlay whose lower layer is the host's root and whose upper layer starts with the
// image's files. In a user namespace it has several parts (see makeParts), which are overlays mounted in it; elsewhere there are none.
//
// The image's folder is copied into the upper layer and is no lower layer of its own, because the kernel refuses two lower layers
// where one contains the other, and the host's root contains everything. An image that stands alone is the one lower layer.
func (r *Runtime) makeRoot(s Spec) (root string, parts []string, err error) {
	base, layer, alone := filepath.Join(r.rootDir(), s.ID), s.Layer, s.Alone
	if r.nested && !alone {
		return r.makeParts(base, layer, s.Mounts)
	}
	upper, work, merged := filepath.Join(base, "upper"), filepath.Join(base, "work"), filepath.Join(base, "merged")
	for _, d := range []string{base, work, merged} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return "", nil, err
		}
	}
	lower := layer
	if !alone {
		lower = "/"
	}
	if err := mirrorFolder(lower, upper); err != nil { // the upper folder is the container's / in owner and mode
		return "", nil, err
	}
	if !alone {
		if err := r.overHost(upper, layer); err != nil {
			return "", nil, err
		}
	}
	if err := mountOverlay(merged, lower, upper, work); err != nil {
		return "", nil, fmt.Errorf("mount the container's root file system at %s: %w", merged, err)
	}
	return merged, nil, nil
}

// mountOverlay mounts one. In a user namespace it marks what it deletes by attributes that the user may set.
func mountOverlay(at, lower, upper, work string) error {
	opts := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", escapeOverlay(lower), escapeOverlay(upper), escapeOverlay(work))
	if userns.Inside() {
		opts += ",userxattr"
	}
	return unix.Mount("overlay", at, "overlay", 0, opts)
}

// overHost prepares the upper layer over the host's root: private places empty, the image's files in theirs.
func (r *Runtime) overHost(upper, layer string) error {
	if err := os.Chmod(upper, 0o755); err != nil { // every user's /
		return err
	}
	for _, p := range append(append([]string{}, privateFolders...), r.hide...) {
		if err := hidePath(upper, p); err != nil {
			return fmt.Errorf("hide %s: %w", p, err)
		}
	}
	if layer == "" {
		return nil
	}
	if err := copyTree(layer, func(path string) string { return filepath.Join(upper, path) }); err != nil {
		return fmt.Errorf("image layer %s: %w", layer, err)
	}
	return nil
}

func (r *Runtime) removeRoot(id string) error {
	base := filepath.Join(r.rootDir(), id)
	if err := unix.Unmount(filepath.Join(base, "merged"), unix.MNT_DETACH); err != nil &&
		!errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount %s: %w", filepath.Join(base, "merged"), err)
	}
	return os.RemoveAll(base)
}

func escapeOverlay(path string) string {
	return strings.NewReplacer(`\`, `\\`, ",", `\,`, ":", `\:`).Replace(path)
}

// hidePath puts an empty folder over a host path in the upper layer, with the host folder's owner and mode.
func hidePath(upper, path string) error {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var at string
	for part := range strings.SplitSeq(strings.TrimPrefix(real, "/"), "/") {
		at = filepath.Join(at, part)
		if err := mirrorFolder(filepath.Join("/", at), filepath.Join(upper, at)); err != nil {
			return err
		}
	}
	return unix.Setxattr(filepath.Join(upper, at), "trusted.overlay.opaque", []byte("y"), 0)
}

// mirrorFolder makes a folder with another's owner and mode, unless it is there.
func mirrorFolder(from, to string) error {
	var st unix.Stat_t
	if err := unix.Stat(from, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return fmt.Errorf("%s is no folder", from)
	}
	if err := os.Mkdir(to, 0o700); errors.Is(err, os.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	if err := userns.Lchown(to, int(st.Uid), int(st.Gid)); err != nil {
		return err
	}
	return unix.Chmod(to, st.Mode&0o7777)
}

// copyTree copies a folder's content with owners and modes to the places that are told by its paths in the folder. Folders that exist keep
// their content.
func copyTree(from string, to func(path string) string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || rel == "." {
			return err
		}
		return copyOne(path, to(rel), d)
	})
}

func copyOne(from, to string, d fs.DirEntry) error {
	var st unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		return err
	}
	switch {
	case d.IsDir():
		if err := os.Mkdir(to, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		if err := os.Symlink(target, to); err != nil {
			return err
		}
		return userns.Lchown(to, int(st.Uid), int(st.Gid))
	case d.Type().IsRegular():
		if err := copyFile(from, to); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s is neither file, folder nor link", from)
	}
	if err := userns.Lchown(to, int(st.Uid), int(st.Gid)); err != nil {
		return err
	}
	return unix.Chmod(to, st.Mode&0o7777)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close())
	}
	return out.Close()
}

// mountPoints returns the mount points of a mountinfo text in their order, unescaped.
func mountPoints(mountinfo io.Reader) ([]string, error) {
	var points []string
	s := bufio.NewScanner(mountinfo)
	for s.Scan() {
		if f := strings.Fields(s.Text()); len(f) > 4 {
			points = append(points, unescapeMount(f[4]))
		}
	}
	return points, s.Err()
}

var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func unescapeMount(s string) string { return mountEscapes.Replace(s) }

func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// systemMounts picks the mount points that a container needs bound, because they hold programs and are not part of the overlay.
func systemMounts(points []string) []string {
	var out []string
	for _, p := range points {
		for _, d := range systemFolders {
			if below(p, d) {
				out = append(out, p)
				break
			}
		}
	}
	sort.Strings(out)
	return out
}

func hostMountPoints() ([]string, error) {
	f, err := os.Open("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// One read, not many: the kernel's list may lose entries between two reads while others mount.
	buf := make([]byte, 1<<20)
	n, err := f.Read(buf)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	rest, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	return mountPoints(bytes.NewReader(append(buf[:n], rest...)))
}

// unmountBelow takes away every mount below a folder, the newest first.
func unmountBelow(dir string) error {
	points, err := hostMountPoints()
	if err != nil {
		return err
	}
	var errs []error
	for i := len(points) - 1; i >= 0; i-- {
		if !below(points[i], dir) || points[i] == dir {
			continue
		}
		if err := unix.Unmount(points[i], unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			errs = append(errs, fmt.Errorf("unmount %s: %w", points[i], err))
		}
	}
	return errors.Join(errs...)
}
