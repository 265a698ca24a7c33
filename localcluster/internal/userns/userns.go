// Package userns is what a user without root's rights has instead: a user namespace, in which the process is root over what the user
// owns, and over nothing else of the machine. The command line enters one for such a user; the packages that make files and containers ask
// here what exists in it.
package userns

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Inside reports whether the process is in a user namespace other than the machine's own.
func Inside() bool { return !slices.Equal(ids().users, whole) }

// Ordinary reports whether the process runs for a user who is not root on the machine, be it as root of a user namespace.
func Ordinary() bool {
	return os.Geteuid() != 0 || ids().users.outside(0) != 0
}

// Needed reports whether the process lacks what making mounts and namespaces takes, so that it needs a user namespace for that.
func Needed() (bool, error) {
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false, fmt.Errorf("read the own capabilities: %w", err)
	}
	return os.Geteuid() != 0 || data[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0, nil
}

// Command is the program with the arguments, as root of a new user namespace with mounts of its own, and if asked with a network of its own.
// The user's own ids are the only ones there.
func Command(program string, args []string, network bool) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	if network {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWNET
	}
	return cmd
}

// Refused turns the error of starting such a command into the sentence that says what is needed, if it is that the kernel gives out no
// user namespace; another error stays as it is.
func Refused(err error) error {
	return refused(err, func(name string) string {
		text, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
		if err != nil {
			return "" // a kernel without this setting
		}
		return strings.TrimSpace(string(text))
	})
}

// settings are the ways in which an administrator keeps user namespaces from ordinary users.
var settings = []struct{ name, forbids, allows string }{
	{"user.max_user_namespaces", "0", "10000"},
	{"kernel.unprivileged_userns_clone", "0", "1"},
	{"kernel.apparmor_restrict_unprivileged_userns", "1", "0"},
}

func refused(err error, setting func(name string) string) error {
	if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EUSERS) && !errors.Is(err, unix.EINVAL) {
		return err
	}
	const needs = "the cluster needs root or a user namespace, and the kernel gives this user no user namespace"
	for _, s := range settings {
		if setting(s.name) == s.forbids {
			return fmt.Errorf("%s, because %s is %s: run the command with sudo, or have it set to %s", needs, s.name, s.forbids, s.allows)
		}
	}
	var errno unix.Errno
	if errors.As(err, &errno) {
		err = errno
	}
	return fmt.Errorf("%s (%w): run the command with sudo, or outside of the container, or in one with the capability SYS_ADMIN", needs, err)
}

// Known returns the ids as they are, and -1, which a change of owner leaves alone, in place of one that does not exist in this namespace.
func Known(uid, gid int) (int, int) {
	all := ids()
	if all.users.outside(uid) < 0 {
		uid = -1
	}
	if all.groups.outside(gid) < 0 {
		gid = -1
	}
	return uid, gid
}

// Alone reports whether the process's own user is the only one that exists in this namespace.
func Alone() bool { return ids().users.size() == 1 }

// Lchown changes the owner and the group of a file to those that exist in this namespace. A link is changed itself.
func Lchown(path string, uid, gid int) error {
	uid, gid = Known(uid, gid)
	return os.Lchown(path, uid, gid)
}

type known struct{ users, groups idMap }

// ids are the process's; they never change.
var ids = sync.OnceValue(func() known {
	return known{readMap("/proc/self/uid_map"), readMap("/proc/self/gid_map")}
})

// readMap reads a map of the kernel's. One that cannot be read is that of a kernel without user namespaces.
func readMap(path string) idMap {
	text, err := os.ReadFile(path)
	if err != nil {
		return whole
	}
	return parseMap(string(text))
}

// idMap is which ids of a namespace stand for which ones outside.
type idMap []idRange

type idRange struct{ inside, outside, count int64 }

// whole is the map of the machine's own namespace.
var whole = idMap{{0, 0, 1<<32 - 1}}

func parseMap(text string) idMap {
	var m idMap
	for line := range strings.Lines(text) {
		var r idRange
		if n, _ := fmt.Sscan(line, &r.inside, &r.outside, &r.count); n == 3 {
			m = append(m, r)
		}
	}
	return m
}

// outside is what an id stands for outside the namespace, -1 for nothing.
func (m idMap) outside(id int) int64 {
	for _, r := range m {
		if n := int64(id) - r.inside; n >= 0 && n < r.count {
			return r.outside + n
		}
	}
	return -1
}

func (m idMap) size() (n int64) {
	for _, r := range m {
		n += r.count
	}
	return n
}
