package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kubespark/kubespark/localcluster/internal/container"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
	"github.com/kubespark/kubespark/localcluster/internal/userns"
)

// checkRights refuses a process that cannot run a node. The command line gives a user without root's rights a user namespace first.
func checkRights() error {
	lacking, err := userns.Needed()
	if err == nil && lacking {
		err = errors.New("the cluster needs root with the capability SYS_ADMIN, or a user namespace, because its node makes namespaces and mounts: run the command with sudo")
	}
	return err
}

// checkContainers tries, in a folder of the cluster's, whether containers can be made.
func (h Host) checkContainers(d statedir.Dir) error {
	dir := d.Join("node", "try")
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return fmt.Errorf("try a container: %w", err)
	}
	cmd := exec.Command(h.Program, "try-container", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS}
	said, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(said) > 0 {
		err = errors.New(strings.TrimPrefix(strings.TrimSpace(string(said)), "kubespark-cluster: "))
	} else if err != nil {
		err = fmt.Errorf("the kernel refuses containers their namespaces (%w): run the command outside of the container, or in a privileged one", err)
	}
	return errors.Join(err, os.RemoveAll(filepath.Dir(dir)))
}

// lacks are the things that the cluster does without for want of rights, a sentence each.
func lacks(s statedir.Spec) []string {
	var all []string
	if !container.CgroupsWritable() {
		all = append(all, "no cgroup can be written here: limits of memory and CPU are not enforced, nothing is OOM-killed, running pods are not resized, and there are no metrics of pods")
	}
	if userns.Inside() && userns.Alone() {
		all = append(all, "no other user exists here: all containers run as you, whatever runAsUser says, and write into no folder of this machine's system")
	}
	if s.OwnNetwork {
		all = append(all, "port 443 takes root here: pods have a network of their own, in which they reach each other and the API server and nothing else; "+
			"with net.ipv4.ip_unprivileged_port_start set to 443 they have this machine's")
	}
	return all
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
