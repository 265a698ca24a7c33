package container

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/runc/libcontainer/configs"
)

func TestPlacementOfTheHostsFolders(t *testing.T) {
	tr := &tree{
		hidden: []string{"/tmp", "/var/tmp", "/home", "/srv/clusters/a"},
		mounts: []string{"/", "/proc", "/dev", "/etc/hosts", "/boot", "/usr/lib/jvm", "/srv/clusters/a/node/rootfs/x/merged", "/home/me/disk"},
	}
	for path, want := range map[string]placement{
		"/usr": opened, "/usr/bin": whole, "/usr/lib": opened, "/usr/lib/jvm": empty, // a mount point is bound later
		"/etc": opened, "/etc/ssl": whole, "/opt": whole, "/proc": empty, "/sys": empty, "/dev": empty, "/boot": empty,
		"/tmp": empty, "/var": opened, "/var/tmp": empty, "/var/lib": whole, "/home": empty,
		"/srv": opened, "/srv/clusters": opened, "/srv/clusters/a": empty, "/srv/clusters/ab": whole, // its own containers' mounts are behind what is hidden
	} {
		if got := tr.placement(path, true); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	if tr.placement("/opt", false) != empty {
		t.Error("a folder that this user may not read")
	}
}

func TestPlaceOfAnImagesFiles(t *testing.T) {
	tr := &tree{root: "/r/merged", layers: "/r/layers", parts: []string{"/etc", "/opt", "/var/lib"}}
	for path, want := range map[string]string{
		"etc/passwd": "/r/layers/upper-0/passwd", "etc": "/r/layers/upper-0", "opt/spark/jars": "/r/layers/upper-1/spark/jars",
		"optional/x": "/r/merged/optional/x", "var/lib/x": "/r/layers/upper-2/x", "var/log": "/r/merged/var/log", "entry": "/r/merged/entry",
	} {
		if got := tr.place(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestConfigInAUserNamespaceWithoutCgroups(t *testing.T) {
	s := Spec{ID: "a", ReadOnlyRoot: true, MemoryLimit: 1 << 30}
	c := s.config("/root", "/kubespark-x", nil, true)
	inUserNamespace(c, []string{"/etc", "/usr"})
	withoutCgroups(c, "a")
	got := map[string]string{}
	for _, m := range c.Mounts {
		got[m.Destination] = m.Device + " " + m.Source + " " + m.Data
	}
	want := map[string]string{
		"/proc": "proc proc ", "/dev": "tmpfs tmpfs mode=755,size=65536k", "/dev/pts": "devpts devpts newinstance,ptmxmode=0666,mode=0620",
		"/dev/shm": "tmpfs shm mode=1777,size=65536k", "/sys": "bind /sys ",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if c.OomScoreAdj != nil || !c.RootlessCgroups || c.Cgroups.Path != "" || c.Cgroups.Resources.Memory != 0 || !c.Cgroups.Rootless {
		t.Errorf("config %+v, cgroups %+v", c, c.Cgroups)
	}
	if d := cmp.Diff([]string{"/etc", "/usr"}, c.ReadonlyPaths[:2]); d != "" {
		t.Error(d)
	}
}

// Root in a container that may write no cgroup keeps its own /sys, and sees the container's cgroup as it is.
func TestConfigWithoutCgroups(t *testing.T) {
	c := Spec{ID: "a"}.config("/root", "/kubespark-x", nil, true)
	withoutCgroups(c, "a")
	var last *configs.Mount
	for _, m := range c.Mounts {
		if m.Destination == "/sys/fs/cgroup" {
			last = m
		}
	}
	if last == nil || last.Device != "bind" || last.Source != "/sys/fs/cgroup" || last.Flags&1 == 0 {
		t.Errorf("mount %+v", last)
	}
}
