package container

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/cgroups"
	devices "github.com/opencontainers/cgroups/devices/config"
	"github.com/opencontainers/cgroups/manager"
	"github.com/opencontainers/runc/libcontainer/configs"
	"golang.org/x/sys/unix"

	"github.com/kubespark/kubespark/localcluster/internal/userns"
)

// CgroupsWritable reports whether this process can make cgroups. Containers work without, only that nothing limits and measures them.
func CgroupsWritable() bool {
	if cgroups.IsCgroup2UnifiedMode() {
		return unix.Access("/sys/fs/cgroup", unix.W_OK) == nil
	}
	mounts, err := cgroups.GetCgroupMounts(false)
	if err != nil || len(mounts) == 0 {
		return false
	}
	for _, m := range mounts {
		if unix.Access(m.Mountpoint, unix.W_OK) != nil {
			return false
		}
	}
	return true
}

// withoutCgroups leaves out what takes a cgroup of the container's own.
func withoutCgroups(c *configs.Config, id string) {
	c.RootlessCgroups = true
	c.Cgroups = noCgroup(id, c.Cgroups.Resources.Devices)
	for i, m := range c.Mounts {
		if m.Device == "cgroup" {
			c.Mounts[i] = bind(Mount{Source: m.Destination, Destination: m.Destination, ReadOnly: true})
		}
	}
}

// noCgroup is one without limits, and without a path of its own, whose absence is then no error.
func noCgroup(id string, rules []*devices.Rule) *cgroups.Cgroup {
	return &cgroups.Cgroup{Name: id, Rootless: true, Resources: &cgroups.Resources{Devices: rules}}
}

// inUserNamespace leaves out what takes rights over the machine: a sysfs of its own, a terminal group that does not exist, a lower
// probability of being killed. A root of parts that is to be read-only is so in all its parts.
func inUserNamespace(c *configs.Config, parts []string) {
	c.OomScoreAdj = nil
	var kept []*configs.Mount
	for _, m := range c.Mounts {
		switch m.Device {
		case "sysfs":
			m = bind(Mount{Source: "/sys", Destination: "/sys", ReadOnly: true})
		case "devpts":
			m.Data = "newinstance,ptmxmode=0666,mode=0620"
		case "cgroup":
			continue // with /sys
		}
		kept = append(kept, m)
	}
	c.Mounts = kept
	if c.Readonlyfs {
		c.ReadonlyPaths = append(append([]string{}, parts...), c.ReadonlyPaths...)
	}
}

// Try makes in a folder what every container needs, an overlay and a /proc, and says in one sentence what the kernel refuses. Nothing of it
// outlives the process, which must have namespaces of its own for mounts and processes.
func Try(dir string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		if userns.Inside() {
			return userns.Refused(err)
		}
		return fmt.Errorf("the kernel lets root mount nothing here (%w): run the command outside of the container, or in a privileged one", err)
	}
	if !CgroupsWritable() {
		if _, err := manager.New(noCgroup("try", nil)); err != nil {
			return fmt.Errorf("the kernel's cgroups cannot even be read here (%w): mount them below /sys/fs/cgroup", err)
		}
	}
	at := map[string]string{}
	for _, name := range []string{"lower", "upper", "work", "merged", "proc"} {
		at[name] = filepath.Join(dir, name)
		if err := os.MkdirAll(at[name], 0o755); err != nil {
			return fmt.Errorf("try a container: %w", err)
		}
	}
	if err := mountOverlay(at["merged"], at["lower"], at["upper"], at["work"]); err != nil {
		return overlayRefused(dir, err, userns.Inside())
	}
	if err := unix.Mount("proc", at["proc"], "proc", procFlags, ""); err != nil {
		return fmt.Errorf("the kernel refuses containers a /proc of their own (%w), as it does where parts of /proc are covered: "+
			"run the command outside of the container, or as root in a privileged one", err)
	}
	return nil
}

func overlayRefused(dir string, err error, nested bool) error {
	if nested {
		return fmt.Errorf("the kernel refuses this user an overlay file system in %s (%w), which takes Linux 5.11 and a state folder on a disk: "+
			"run the command with sudo, or name another folder with --state-dir", dir, err)
	}
	return fmt.Errorf("the kernel refuses an overlay file system in %s (%w): name a folder on a disk with --state-dir", dir, err)
}
