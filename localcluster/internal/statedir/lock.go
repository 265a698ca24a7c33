package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Lock lets one command at a time change the cluster: it makes the folder if needed and holds a lock on the folder
// itself, so that no lock file is left behind. It calls wait once if another command holds the lock, then waits.
// The caller calls the returned function to let go; a process that ends has let go.
func (d Dir) Lock(wait func()) (unlock func(), err error) {
	for {
		if err := os.MkdirAll(string(d), 0o711); err != nil {
			return nil, fmt.Errorf("make the state folder: %w", err)
		}
		f, err := os.Open(string(d))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a `down` removed it in between
		}
		if err != nil {
			return nil, fmt.Errorf("open the state folder: %w", err)
		}
		err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			if wait != nil {
				wait()
				wait = nil
			}
			err = flock(f, syscall.LOCK_EX)
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock the state folder: %w", err)
		}
		if d.is(f) {
			return func() { f.Close() }, nil
		}
		f.Close() // the one locked was removed while we waited
	}
}

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// is reports whether the open folder is the one at the path now.
func (d Dir) is(f *os.File) bool {
	locked, err := f.Stat()
	if err != nil {
		return false
	}
	present, err := os.Stat(string(d))
	return err == nil && os.SameFile(locked, present)
}
