// Package container runs the containers of the local cluster's node: real ones, made by runc's libcontainer, with mount, PID, UTS
// and IPC namespaces, a memory and CPU cgroup, and a root file system that is an overlay over the host's own. The node package decides
// what runs; this package knows nothing of Kubernetes.
package container

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"
	"github.com/opencontainers/runc/libcontainer"
	"golang.org/x/sys/unix"

	"github.com/kubespark/kubespark/localcluster/internal/userns"
)

// Runtime makes containers whose files lie under one state folder. Two runtimes with different folders never meet: the parent
// cgroup is named from the folder.
type Runtime struct {
	dir    string
	parent string
	hide   []string
	nested bool // in a user namespace
	free   bool // no cgroup limits and measures the containers
}

// New opens the runtime of a state folder (an absolute path). The folders in hide, the usual private ones of the host besides, are
// empty inside every container.
func New(stateDir string, hide ...string) (*Runtime, error) {
	if !filepath.IsAbs(stateDir) {
		return nil, fmt.Errorf("state folder %q: give an absolute path", stateDir)
	}
	r := &Runtime{dir: filepath.Clean(stateDir), hide: append([]string{filepath.Clean(stateDir)}, hide...)}
	r.parent = cgroupParent(r.dir)
	r.nested, r.free = userns.Inside(), !CgroupsWritable()
	for _, d := range []string{r.stateRoot(), r.rootDir()} {
		if err := os.MkdirAll(d, 0o711); err != nil {
			return nil, fmt.Errorf("state folder %s: %w", stateDir, err)
		}
	}
	return r, nil
}

func (r *Runtime) stateRoot() string { return filepath.Join(r.dir, "runtime") }
func (r *Runtime) rootDir() string   { return filepath.Join(r.dir, "rootfs") }

// cgroupParent names the cgroup above all containers of a state folder.
func cgroupParent(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return "/kubespark-" + hex.EncodeToString(sum[:6])
}

// Clean ends every process that runs in a container of this state folder, whoever started it, and removes cgroups, mounts and root
// file systems. Without leftovers it does nothing. Log files and volumes are the caller's.
func Clean(stateDir string) error {
	r := &Runtime{dir: filepath.Clean(stateDir)}
	r.parent = cgroupParent(r.dir)
	var errs []error
	entries, err := os.ReadDir(r.stateRoot())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, err)
	}
	for _, e := range entries {
		errs = append(errs, r.cleanOne(e.Name()))
	}
	if CgroupsWritable() {
		errs = append(errs, killCgroup(r.parent))
	}
	errs = append(errs, r.removeRoots(), unmountBelow(r.dir))
	if errors.Join(errs...) == nil { // never delete through a mount that is still there
		errs = append(errs, os.RemoveAll(r.stateRoot()), os.RemoveAll(r.rootDir()))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean up containers under %s: %w", stateDir, err)
	}
	return nil
}

// removeRoots unmounts root file systems by their place, because a list of mounts that is read while others change can miss one.
func (r *Runtime) removeRoots() error {
	entries, err := os.ReadDir(r.rootDir())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var errs []error
	for _, e := range entries {
		errs = append(errs, r.removeRoot(e.Name()))
	}
	return errors.Join(errs...)
}

func (r *Runtime) cleanOne(id string) error {
	c, err := libcontainer.Load(r.stateRoot(), id)
	if err != nil {
		// Killed between folder and state file: its processes are in the cgroup, which is emptied next.
		return os.RemoveAll(filepath.Join(r.stateRoot(), id))
	}
	if err := c.Signal(unix.SIGKILL); err != nil && !errors.Is(err, libcontainer.ErrNotRunning) {
		return fmt.Errorf("kill container %s: %w", id, err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		status, err := c.Status()
		if err == nil && status == libcontainer.Stopped {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("container %s still runs 10 s after SIGKILL", id)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return c.Destroy()
}

// killCgroup ends every process below a cgroup and removes the tree.
func killCgroup(path string) error {
	m, err := manager.New(&cgroups.Cgroup{Path: path, Resources: &cgroups.Resources{}})
	if err != nil {
		return err
	}
	deadline := time.Now().Add(10 * time.Second)
	for m.Exists() {
		pids, err := m.GetAllPids()
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("list cgroup %s: %w", path, err)
		}
		if len(pids) == 0 {
			break
		}
		for _, pid := range pids {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("kill process %d of cgroup %s: %w", pid, path, err)
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("cgroup %s still has %d processes 10 s after SIGKILL", path, len(pids))
		}
		time.Sleep(5 * time.Millisecond)
	}
	return m.Destroy()
}
