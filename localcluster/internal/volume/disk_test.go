package volume

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// On a root that is an overlay, disk-backed volumes lie on a file system of their own, which keeps what is in it over the node's lives.
func TestDiskOnAnOverlay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("mounting needs root")
	}
	base := t.TempDir()
	for _, d := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(base, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	merged := filepath.Join(base, "merged")
	opts := "lowerdir=" + base + "/lower,upperdir=" + base + "/upper,workdir=" + base + "/work"
	if err := unix.Mount("overlay", merged, "overlay", 0, opts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unmount(merged); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(merged, "disk")
	for life := range 2 {
		lacks, err := Disk(dir)
		if err != nil || lacks != "" {
			t.Fatalf("life %d: %q, %v", life, lacks, err)
		}
		if on, err := deviceOf(dir); err != nil || !strings.HasPrefix(on, "/dev/loop") {
			t.Errorf("life %d: the volumes lie on %s, %v", life, on, err)
		}
		kept := filepath.Join(dir, "kept")
		if _, err := os.Stat(kept); (err == nil) != (life == 1) {
			t.Errorf("life %d: %v", life, err)
		}
		if err := os.WriteFile(kept, make([]byte, 10000), 0o600); err != nil {
			t.Error(err)
		}
		if n, err := Usage(dir); err != nil || n < 10000 || n > 200000 {
			t.Errorf("life %d: usage %d, %v", life, n, err)
		}
		if err := unmount(dir); err != nil {
			t.Fatal(err)
		}
	}
	if on, err := deviceOf(dir); err != nil || on != "overlay" {
		t.Errorf("after the end: %s, %v", on, err)
	}
}

// Without a file system tool the volumes lie on what there is, and one sentence says so.
func TestDiskWithoutTools(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("mounting needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unmount(dir); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("PATH", "/nowhere")
	lacks, err := Disk(filepath.Join(dir, "disk"))
	if want := "df shows none and no device for disk-backed volumes: mkfs.ext4 is not installed"; lacks != want || err != nil {
		t.Errorf("%q, %v; want %q", lacks, err, want)
	}
}
