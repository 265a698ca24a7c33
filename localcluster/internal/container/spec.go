package container

import (
	"fmt"
	"io"

	"github.com/opencontainers/cgroups"
	devices "github.com/opencontainers/cgroups/devices/config"
	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runc/libcontainer/specconv"
	"golang.org/x/sys/unix"
)

// Spec is one container: what runs in it, as whom, over which files and within which limits.
type Spec struct {
	// ID names the container among those of its runtime (letters, digits, dot, dash, underscore).
	ID       string
	Hostname string
	// Layer is the image's folder; its content is laid over the host's root. Empty: the host's root alone.
	Layer string
	// Alone: the image's folder is the whole root file system, and nothing of the host's is under it.
	Alone bool
	// Mounts are bound after the root file system is made, in their order.
	Mounts       []Mount
	ReadOnlyRoot bool

	Args, Env []string
	// Cwd is the working folder; libcontainer makes it when it does not exist.
	Cwd             string
	UID, GID        int
	Groups          []int
	Capabilities    []string // the bounding set, such as CAP_KILL; root gets them all, others none effective
	NoNewPrivileges bool

	MemoryLimit int64 // bytes; 0 is no limit
	CPUShares   uint64
	CPUQuota    int64 // microseconds of CPU per 100 ms; 0 is no limit
	OOMScoreAdj int

	// Stdout and Stderr get what the container writes, until it ends.
	Stdout, Stderr io.Writer
}

// Mount is a file or folder of the host inside the container.
type Mount struct {
	Source, Destination string
	ReadOnly            bool
	// Optional: a missing source is no error.
	Optional bool
}

const cpuPeriod = 100_000 // microseconds

const procFlags = unix.MS_NOEXEC | unix.MS_NOSUID | unix.MS_NODEV

// config is the libcontainer configuration of a spec. root is the mounted root file system, parent the cgroup above, swapLimit says
// whether the kernel can limit memory and swap together.
func (s Spec) config(root, parent string, binds []Mount, swapLimit bool) *configs.Config {
	rules := make([]*devices.Rule, 0, len(specconv.AllowedDevices))
	for _, d := range specconv.AllowedDevices {
		rules = append(rules, &d.Rule)
	}
	res := &cgroups.Resources{Devices: rules, Memory: s.MemoryLimit, CpuShares: s.CPUShares}
	if swapLimit {
		res.MemorySwap = s.MemoryLimit // no swap beyond the limit: past it the kernel kills
	}
	if s.CPUQuota > 0 {
		res.CpuQuota, res.CpuPeriod = s.CPUQuota, cpuPeriod
	}
	c := &configs.Config{
		Rootfs:     root,
		Readonlyfs: s.ReadOnlyRoot,
		Hostname:   s.Hostname,
		Namespaces: configs.Namespaces{
			{Type: configs.NEWNS}, {Type: configs.NEWUTS}, {Type: configs.NEWIPC}, {Type: configs.NEWPID},
		},
		Capabilities:    capabilities(s.UID, s.Capabilities),
		NoNewPrivileges: s.NoNewPrivileges,
		NoNewKeyring:    true,
		Devices:         specconv.AllowedDevices,
		Cgroups:         &cgroups.Cgroup{Path: parent + "/" + s.ID, Resources: res},
		OomScoreAdj:     &s.OOMScoreAdj,
		MaskPaths:       []string{"/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/sched_debug", "/sys/firmware"},
		ReadonlyPaths:   []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		Mounts:          kernelMounts(),
	}
	for _, m := range append(append([]Mount{}, binds...), s.Mounts...) {
		c.Mounts = append(c.Mounts, bind(m))
	}
	return c
}

func kernelMounts() []*configs.Mount {
	return []*configs.Mount{
		{Source: "proc", Destination: "/proc", Device: "proc", Flags: procFlags},
		{Source: "tmpfs", Destination: "/dev", Device: "tmpfs", Flags: unix.MS_NOSUID | unix.MS_STRICTATIME, Data: "mode=755,size=65536k"},
		{Source: "devpts", Destination: "/dev/pts", Device: "devpts", Flags: unix.MS_NOSUID | unix.MS_NOEXEC, Data: "newinstance,ptmxmode=0666,mode=0620,gid=5"},
		{Source: "shm", Destination: "/dev/shm", Device: "tmpfs", Flags: procFlags, Data: "mode=1777,size=65536k"},
		{Source: "sysfs", Destination: "/sys", Device: "sysfs", Flags: procFlags | unix.MS_RDONLY},
		// What a JVM reads its memory limit from.
		{Source: "cgroup", Destination: "/sys/fs/cgroup", Device: "cgroup", Flags: procFlags | unix.MS_RDONLY},
	}
}

func bind(m Mount) *configs.Mount {
	out := &configs.Mount{Source: m.Source, Destination: m.Destination, Device: "bind", Flags: unix.MS_BIND | unix.MS_REC}
	out.PropagationFlags = []int{unix.MS_PRIVATE | unix.MS_REC}
	if m.ReadOnly {
		out.Flags |= unix.MS_RDONLY
	}
	return out
}

// capabilities gives root the whole set at once. Another user has it as the bound only, as every container runtime does.
func capabilities(uid int, caps []string) *configs.Capabilities {
	c := &configs.Capabilities{Bounding: caps, Permitted: caps}
	if uid == 0 {
		c.Effective = caps
	} else {
		c.Permitted = []string{}
	}
	return c
}

// DefaultCapabilities are those a container keeps unless it is told to drop them: the usual set of container runtimes.
func DefaultCapabilities() []string {
	return []string{
		"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_MKNOD", "CAP_NET_BIND_SERVICE",
		"CAP_NET_RAW", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
	}
}

// CPUShares is the cgroup weight of a CPU request in thousandths of a CPU.
func CPUShares(milliCPU int64) uint64 {
	return uint64(max(2, min(262144, milliCPU*1024/1000)))
}

// CPUQuota is the CPU time per period of a limit in thousandths of a CPU; 0 for no limit.
func CPUQuota(milliCPU int64) int64 {
	if milliCPU <= 0 {
		return 0
	}
	return max(1000, milliCPU*cpuPeriod/1000)
}

func (s Spec) validate() error {
	switch {
	case s.ID == "":
		return fmt.Errorf("a container needs an id")
	case len(s.Args) == 0:
		return fmt.Errorf("container %s: no command: the image has none and the pod gives none", s.ID)
	}
	return nil
}
