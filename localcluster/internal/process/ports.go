package process

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Listener names the process that listens at the address or, on the same port, at every address: "nginx (pid 812)".
// It returns "" if no process does, or none that this user may see.
func (t Table) Listener(at netip.AddrPort) string {
	var inodes []string
	for _, name := range []string{"net/tcp", "net/tcp6"} {
		text, err := os.ReadFile(filepath.Join(t.root, name))
		if err != nil {
			continue // a kernel without IPv6 has no tcp6
		}
		inodes = append(inodes, listeners(string(text), at)...)
	}
	if len(inodes) == 0 {
		return ""
	}
	dirs, err := os.ReadDir(t.root)
	if err != nil {
		return ""
	}
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err == nil && t.holds(pid, inodes) {
			return fmt.Sprintf("%s (pid %d)", t.program(pid), pid)
		}
	}
	return ""
}

// program returns the name of the program that the process runs, or its short name if it does not say.
func (t Table) program(pid int) string {
	cmdline, err := os.ReadFile(t.path(pid, "cmdline"))
	path, _, _ := strings.Cut(string(cmdline), "\x00")
	if err != nil || path == "" {
		return t.Name(pid)
	}
	return filepath.Base(path)
}

// holds reports whether the process has one of the sockets open.
func (t Table) holds(pid int, inodes []string) bool {
	dir := t.path(pid, "fd")
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(fds, func(fd os.DirEntry) bool {
		target, err := os.Readlink(filepath.Join(dir, fd.Name()))
		inode, socket := strings.CutPrefix(target, "socket:[")
		return err == nil && socket && slices.Contains(inodes, strings.TrimSuffix(inode, "]"))
	})
}

// listeners returns the socket inodes in a table of /proc/net/tcp or tcp6 that block a listener at the address.
func listeners(table string, at netip.AddrPort) []string {
	const listening = "0A"
	var found []string
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != listening {
			continue
		}
		local, ok := parseEndpoint(f[1])
		if !ok || local.Port() != at.Port() {
			continue
		}
		if a := local.Addr().Unmap(); a.IsUnspecified() || a == at.Addr() {
			found = append(found, f[9])
		}
	}
	return found
}

// parseEndpoint reads an address as the kernel prints it: 32-bit words in the machine's (little-endian) order, then
// the port.
func parseEndpoint(text string) (netip.AddrPort, bool) {
	host, port, ok := strings.Cut(text, ":")
	raw, err := hex.DecodeString(host)
	if !ok || err != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	addr, ok := netip.AddrFromSlice(raw)
	p, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return netip.AddrPort{}, false
	}
	return netip.AddrPortFrom(addr, uint16(p)), true
}
