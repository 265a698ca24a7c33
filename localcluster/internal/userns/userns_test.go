package userns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestIDMap(t *testing.T) {
	whole := parseMap("         0          0 4294967295\n")
	one := parseMap("         0      65534          1\n")
	podman := parseMap("         0       1000          1\n         1     100000      65536\n")
	for _, tc := range []struct {
		m    idMap
		id   int
		want int64
	}{
		{whole, 0, 0}, {whole, 185, 185}, {one, 0, 65534}, {one, 1, -1}, {one, 185, -1}, {podman, 0, 1000}, {podman, 185, 100184}, {podman, 65537, -1},
	} {
		if got := tc.m.outside(tc.id); got != tc.want {
			t.Errorf("%v: id %d is %d outside, want %d", tc.m, tc.id, got, tc.want)
		}
	}
	if one.size() != 1 || podman.size() != 65537 {
		t.Errorf("sizes %d and %d", one.size(), podman.size())
	}
}

func TestRefused(t *testing.T) {
	const needs = "the cluster needs root or a user namespace, and the kernel gives this user no user namespace"
	start := func(errno error) error { return &os.PathError{Op: "fork/exec", Path: "/p", Err: errno} }
	for _, tc := range []struct {
		err      error
		settings map[string]string
		want     string
	}{
		{start(unix.ENOSPC), map[string]string{"user.max_user_namespaces": "0"},
			needs + ", because user.max_user_namespaces is 0: run the command with sudo, or have it set to 10000"},
		{start(unix.EPERM), map[string]string{"user.max_user_namespaces": "5000", "kernel.unprivileged_userns_clone": "0"},
			needs + ", because kernel.unprivileged_userns_clone is 0: run the command with sudo, or have it set to 1"},
		{fmt.Errorf("mount: %w", unix.EACCES), map[string]string{"kernel.apparmor_restrict_unprivileged_userns": "1"},
			needs + ", because kernel.apparmor_restrict_unprivileged_userns is 1: run the command with sudo, or have it set to 0"},
		{start(unix.EPERM), map[string]string{"user.max_user_namespaces": "5000"},
			needs + " (operation not permitted): run the command with sudo, or outside of the container, or in one with the capability SYS_ADMIN"},
		{start(unix.ENOENT), nil, "fork/exec /p: no such file or directory"},
	} {
		if got := refused(tc.err, func(name string) string { return tc.settings[name] }); got.Error() != tc.want {
			t.Errorf("%v:\n got %q\nwant %q", tc.err, got, tc.want)
		}
	}
	if err := start(unix.ENOENT); !errors.Is(refused(err, func(string) string { return "" }), fs.ErrNotExist) {
		t.Error("another error was changed")
	}
}
