package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// checkRights refuses a user who cannot run a node.
func checkRights() error {
	if os.Geteuid() != 0 {
		return errors.New("the cluster needs root, because its node makes namespaces, mounts and cgroups: run the command with sudo")
	}
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("read the own capabilities: %w", err)
	}
	if data[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
		return errors.New("root lacks the capability SYS_ADMIN here, without which its node cannot make namespaces and mounts: run the command outside of the container, or in a privileged one")
	}
	return nil
}

// checkProgram refuses a control-plane program that is not there or cannot be run.
func checkProgram(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the control plane's program %s does not exist: build it with make build, or name it with --control-plane", path)
	}
	if err != nil {
		return fmt.Errorf("look at the control plane's program: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("%s is no program: name kubespark-control-plane with --control-plane", path)
	}
	return nil
}

// listenable returns nil if a listener at the address is possible now.
func listenable(at netip.AddrPort) error {
	l, err := net.Listen("tcp", at.String())
	if err != nil {
		return err
	}
	return l.Close()
}
