package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Remove empties the folder and deletes it too, unless something else lies in it.
func (d Dir) Remove() error {
	if err := d.Empty(); err != nil {
		return err
	}
	err := os.Remove(string(d))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
		return fmt.Errorf("remove the state folder: %w", err)
	}
	return nil
}

// Empty deletes what the cluster has on disk, the record last; the folder stays, and with it the lock on it. It
// refuses while a file system is mounted below the folder: behind a mount may be the user's own files.
func (d Dir) Empty() error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("read the mount table: %w", err)
	}
	if m := mountsBelow(string(table), string(d)); len(m) > 0 {
		return fmt.Errorf("%d file systems are still mounted below %s, the first at %s: unmount them, then run down again", len(m), d, m[0])
	}
	for _, name := range entries() {
		if err := os.RemoveAll(d.Join(name)); err != nil {
			return fmt.Errorf("empty the state folder: %w", err)
		}
	}
	return nil
}

// mountsBelow returns the mount points below the folder in a table of /proc/self/mountinfo.
func mountsBelow(table, dir string) []string {
	var found []string
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 5 {
			continue
		}
		if at := unescape(f[4]); strings.HasPrefix(at, dir+"/") {
			found = append(found, at)
		}
	}
	return found
}

// unescape undoes the kernel's octal escapes of blanks and backslashes in a path.
func unescape(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+4 <= len(path) {
			if c, err := strconv.ParseUint(path[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(path[i])
	}
	return b.String()
}
