package volume

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/kubespark/kubespark/localcluster/internal/userns"
)

// A disk-backed volume is to show a device in df, as on a real node; Spark's own tests look for one. Where the folder of the volumes lies
// on a file system without a device (an overlay: this program runs in a container itself), it becomes an ext4 file system of its own, in a
// sparse file beside it. The file stays when the node ends, because claims outlive it; whoever deletes the node's folder deletes it.

// Disk makes sure that a folder lies on a device. Why it does not, though volumes work all the same, is the sentence it returns.
func Disk(dir string) (lacks string, err error) {
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return "", err
	}
	on, err := deviceOf(dir)
	if err != nil || strings.HasPrefix(on, "/dev/") {
		return "", err
	}
	if userns.Inside() {
		return fmt.Sprintf("df shows %s and no device for disk-backed volumes: that takes root", on), nil
	}
	if err := loopMount(dir); err != nil {
		return fmt.Sprintf("df shows %s and no device for disk-backed volumes: %v", on, err), nil
	}
	return "", nil
}

// loopMount mounts the folder's own file system.
func loopMount(dir string) error {
	image := strings.TrimSuffix(dir, "/") + ".ext4"
	if _, err := os.Stat(image); errors.Is(err, os.ErrNotExist) {
		if err := makeImage(image); err != nil {
			return errors.Join(err, os.RemoveAll(image))
		}
	}
	f, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close() // the device holds it
	device, err := attach(f)
	if err != nil {
		return err
	}
	defer device.Close() // the mount holds it
	if err := unix.Mount(device.Name(), dir, "ext4", unix.MS_NOATIME, ""); err != nil {
		return fmt.Errorf("mount %s: %w", device.Name(), err)
	}
	return os.Chmod(dir, 0o711)
}

// makeImage makes a file system as big as what is free on the one below.
func makeImage(image string) error {
	mkfs, err := exec.LookPath("mkfs.ext4")
	if err != nil {
		return errors.New("mkfs.ext4 is not installed")
	}
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(image), &st); err != nil {
		return err
	}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		return err
	}
	if err := os.Truncate(image, max(int64(st.Bavail)*st.Bsize, 64<<20)); err != nil {
		return err
	}
	// Neither journal nor reserve: what is in it ends with the cluster.
	out, err := exec.Command(mkfs, "-q", "-F", "-O", "^has_journal", "-m", "0", "-E", "lazy_itable_init=1,nodiscard", image).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mkfs.ext4: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// attach gives the file a loop device that goes away with its last user.
func attach(f *os.File) (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	for range 16 { // another process may be quicker to take a free one
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("no free loop device: %w", err)
		}
		device, err := openLoop(n)
		if err != nil {
			return nil, err
		}
		err = unix.IoctlLoopConfigure(int(device.Fd()), &unix.LoopConfig{Fd: uint32(f.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}})
		if err == nil {
			return device, nil
		}
		device.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("%s: %w", device.Name(), err)
		}
	}
	return nil, errors.New("every free loop device was taken by others")
}

// openLoop opens a loop device. A /dev that is older than it lacks its node.
func openLoop(n int) (*os.File, error) {
	path := fmt.Sprintf("/dev/loop%d", n)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if !errors.Is(err, os.ErrNotExist) {
		return f, err
	}
	if err := unix.Mknod(path, unix.S_IFBLK|0o660, int(unix.Mkdev(7, uint32(n)))); err != nil {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	return os.OpenFile(path, os.O_RDWR, 0)
}

// deviceOf is what the file system of a path is mounted from.
func deviceOf(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer f.Close()
	source, longest := "", -1
	s := bufio.NewScanner(f)
	for s.Scan() {
		left, right, ok := strings.Cut(s.Text(), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 2 {
			continue
		}
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(l[4])
		if (real == point || strings.HasPrefix(real, strings.TrimSuffix(point, "/")+"/")) && len(point) >= longest {
			source, longest = r[1], len(point)
		}
	}
	return source, s.Err()
}

// Usage is how much a volume holds, in bytes of disk blocks. What vanishes meanwhile does not count.
func Usage(dir string) (int64, error) {
	var used int64
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &st)
		}
		if err != nil {
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return err
		}
		used += st.Blocks * 512
		return nil
	})
	return used, err
}
