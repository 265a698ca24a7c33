package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/fs"
	"github.com/opencontainers/cgroups/fs2"
	"golang.org/x/sys/unix"
)

func TestMountPointsOfSystemFolders(t *testing.T) {
	info := `25 1 8:1 / / rw - ext4 /dev/sda1 rw
26 25 8:2 / /usr rw - ext4 /dev/sda2 rw
27 25 8:3 / /home rw - ext4 /dev/sda3 rw
28 25 8:4 / /opt/my\040tools rw - ext4 /dev/sda4 rw
29 25 0:5 / /optional rw - tmpfs tmpfs rw
`
	points, err := mountPoints(strings.NewReader(info))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"/opt/my tools", "/usr"}, systemMounts(points)); d != "" {
		t.Error(d)
	}
}

func TestEscapeOverlay(t *testing.T) {
	if got := escapeOverlay(`/a:b,c\d`); got != `/a\:b\,c\\d` {
		t.Errorf("got %s", got)
	}
}

func TestHiddenFolderIsOpaqueWithTheHostsMode(t *testing.T) {
	upper, host := t.TempDir(), t.TempDir()
	if err := os.Chmod(host, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := hidePath(upper, host); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(upper, host))
	if err != nil || st.Mode().Perm() != 0o750 {
		t.Fatalf("%v, %v", st, err)
	}
	buf := make([]byte, 8)
	if n, err := unix.Getxattr(filepath.Join(upper, host), "trusted.overlay.opaque", buf); err != nil || string(buf[:n]) != "y" {
		t.Errorf("opaque: %q, %v", buf[:n], err)
	}
	if err := hidePath(upper, "/no/such/folder"); err != nil {
		t.Errorf("a folder that the host lacks: %v", err)
	}
}

func TestConfigKeepsLimitsAndMounts(t *testing.T) {
	s := Spec{
		ID: "a", UID: 185, MemoryLimit: 1 << 30, CPUShares: CPUShares(500), CPUQuota: CPUQuota(1500),
		Capabilities: []string{"CAP_KILL"}, Mounts: []Mount{{Source: "/s", Destination: "/d", ReadOnly: true}},
	}
	c := s.config("/root", "/kubespark-x", nil, true)
	if c.Cgroups.Path != "/kubespark-x/a" {
		t.Errorf("cgroup %s", c.Cgroups.Path)
	}
	got := []int64{c.Cgroups.Resources.Memory, c.Cgroups.Resources.MemorySwap, int64(c.Cgroups.Resources.CpuShares), c.Cgroups.Resources.CpuQuota}
	if d := cmp.Diff([]int64{1 << 30, 1 << 30, 512, 150000}, got); d != "" {
		t.Error(d)
	}
	last := c.Mounts[len(c.Mounts)-1]
	if last.Source != "/s" || last.Flags&unix.MS_RDONLY == 0 {
		t.Errorf("mount %+v", last)
	}
	if len(c.Capabilities.Effective) != 0 || len(c.Capabilities.Permitted) != 0 || len(c.Capabilities.Bounding) != 1 {
		t.Errorf("capabilities of an ordinary user: %+v", c.Capabilities)
	}
	if s.config("/", "/p", nil, false).Cgroups.Resources.MemorySwap != 0 {
		t.Error("a swap limit without the kernel's support")
	}
}

func TestOOMCounterOnCgroupV1(t *testing.T) {
	cgroups.TestMode = true
	defer func() { cgroups.TestMode = false }()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "memory.oom_control"), []byte("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := fs.NewManager(&cgroups.Cgroup{Resources: &cgroups.Resources{}}, map[string]string{"memory": dir})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := m.OOMKillCount(); err != nil || n != 2 {
		t.Errorf("oom kills %d, %v; want 2", n, err)
	}
}

// The layouts of both cgroup versions are libcontainer's business; what we rely on is where it looks for the OOM counter.
func TestOOMCounterOnCgroupV2(t *testing.T) {
	cgroups.TestMode = true
	defer func() { cgroups.TestMode = false }()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "memory.events"), []byte("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := fs2.NewManager(&cgroups.Cgroup{Resources: &cgroups.Resources{}}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := m.OOMKillCount(); err != nil || n != 2 {
		t.Errorf("oom kills %d, %v; want 2", n, err)
	}
}
