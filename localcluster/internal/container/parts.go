package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// In a user namespace no overlay can have the host's root as its lower layer: the file systems mounted below are not the namespace's own,
// and the kernel shows nothing of what they cover. A container's root is then a plain folder in which each folder of the host that has no
// mount in it is an overlay of its own, a part; what lies between is made anew.

// kernelFolders are made for every container.
var kernelFolders = []string{"/proc", "/sys", "/dev"}

// largestCopy is the size up to which a file of the host that lies in no part is copied, in bytes.
const largestCopy = 1 << 20

// placement is what becomes of a folder of the host in a container's root.
type placement int

const (
	whole  placement = iota // it is a part
	opened                  // it is made anew, and its entries are placed one by one
	empty                   // it is made anew with nothing in it
)

// tree is a container's root in the making.
type tree struct {
	root   string   // the folder that becomes it
	hidden []string // places of the host that are empty in it
	mounts []string // mount points of the host
	parts  []string // paths of the parts, in order
	layers string   // upper and work folder of each part, by its number
}

// makeParts makes a container's root of parts, the image's files and what the mounts need in their upper layers.
func (r *Runtime) makeParts(base, layer string, mounts []Mount) (root string, parts []string, err error) {
	t := &tree{root: filepath.Join(base, "merged"), layers: filepath.Join(base, "layers")}
	if t.hidden, err = realPaths(append(append([]string{}, privateFolders...), r.hide...)); err != nil {
		return "", nil, err
	}
	if t.mounts, err = hostMountPoints(); err != nil {
		return "", nil, err
	}
	for _, d := range []string{t.root, t.layers} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return "", nil, err
		}
	}
	// A mount of its own, so that the parts come and go with it.
	if err := unix.Mount(t.root, t.root, "", unix.MS_BIND, ""); err != nil {
		return "", nil, fmt.Errorf("mount the container's root file system at %s: %w", t.root, err)
	}
	if err := t.open("/"); err != nil {
		return "", nil, fmt.Errorf("make the container's root file system of the host's: %w", err)
	}
	for i, p := range t.parts {
		if err := errors.Join(mirrorFolder(p, t.upper(i)), os.Mkdir(t.work(i), 0o755)); err != nil {
			return "", nil, err
		}
	}
	if layer != "" {
		if err := copyTree(layer, t.place); err != nil {
			return "", nil, fmt.Errorf("image layer %s: %w", layer, err)
		}
	}
	for _, m := range mounts {
		if err := t.reach(m.Destination); err != nil {
			return "", nil, fmt.Errorf("mount point %s: %w", m.Destination, err)
		}
	}
	for i, p := range t.parts {
		if err := mountOverlay(t.root+p, p, t.upper(i), t.work(i)); err != nil {
			return "", nil, fmt.Errorf("mount %s of the container's root file system: %w", p, err)
		}
	}
	return t.root, t.parts, nil
}

func (t *tree) upper(part int) string { return filepath.Join(t.layers, "upper-"+strconv.Itoa(part)) }
func (t *tree) work(part int) string  { return filepath.Join(t.layers, "work-"+strconv.Itoa(part)) }

// place is where a file must be written before the parts are mounted, so that the container has it at the path.
func (t *tree) place(path string) string {
	path = filepath.Join("/", path)
	for i, p := range t.parts {
		if below(path, p) {
			return t.upper(i) + strings.TrimPrefix(path, p)
		}
	}
	return t.root + path
}

// reach makes the folders above a mount point in a part's upper layer: in the host's own folders this user can make none. A way through
// links is left to whoever mounts.
func (t *tree) reach(path string) error {
	path = filepath.Clean(path)
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	at := ""
	for name := range strings.SplitSeq(strings.TrimPrefix(filepath.Dir(path), "/"), "/") {
		at += "/" + name
		st, err := os.Lstat(at)
		if err == nil && !st.IsDir() {
			return nil
		}
		if err == nil {
			err = mirrorFolder(at, t.place(at))
		} else if errors.Is(err, os.ErrNotExist) {
			err = os.MkdirAll(t.place(at), 0o755)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// open makes a folder's entries.
func (t *tree) open(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := t.add(filepath.Join(dir, e.Name()), e); err != nil && !errors.Is(err, os.ErrNotExist) { // it may go meanwhile
			return err
		}
	}
	return nil
}

func (t *tree) add(path string, d fs.DirEntry) error {
	switch {
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		return os.Symlink(target, t.root+path)
	case d.Type().IsRegular():
		return t.copy(path, d)
	case !d.IsDir():
		return nil
	}
	if err := mirrorFolder(path, t.root+path); err != nil {
		return err
	}
	switch t.placement(path, unix.Access(path, unix.R_OK|unix.X_OK) == nil) {
	case opened:
		return t.open(path)
	case whole:
		t.parts = append(t.parts, path)
	}
	return nil
}

// copy copies a file that lies in no part. One that the user may not read, or that is large, is left out.
func (t *tree) copy(path string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	if info.Size() > largestCopy || unix.Access(path, unix.R_OK) != nil {
		return nil
	}
	return copyOne(path, t.root+path, d)
}

// placement decides about a folder.
func (t *tree) placement(path string, readable bool) placement {
	if !readable {
		return empty
	}
	if slices.Contains(kernelFolders, path) || t.hides(path) {
		return empty
	}
	place := whole
	if slices.ContainsFunc(t.hidden, func(h string) bool { return below(h, path) }) {
		place = opened
	}
	for _, m := range t.mounts {
		if m == path {
			return empty
		}
		if below(m, path) && !t.hides(m) {
			place = opened
		}
	}
	return place
}

func (t *tree) hides(path string) bool {
	return slices.ContainsFunc(t.hidden, func(h string) bool { return below(path, h) })
}

// realPaths resolves links, and leaves out what the host lacks.
func realPaths(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		real, err := filepath.EvalSymlinks(p)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, real)
	}
	return out, nil
}
