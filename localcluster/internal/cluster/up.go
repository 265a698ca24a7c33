// Package cluster brings a local cluster up and takes it down: Up leaves a supervisor process behind, which keeps
// etcd, the control plane and the node running; Down and Inspect find all of it again by the record in the state
// folder, whatever was killed in between.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kubespark/kubespark/localcluster/internal/controlplane"
	"github.com/kubespark/kubespark/localcluster/internal/process"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
)

// Host is the machine a cluster lives on.
type Host struct {
	Table     process.Table
	Program   string                      // path of kubespark-cluster, for the supervisor and the node
	CleanNode func(stateDir string) error // takes away what a killed node left: containers, mounts, cgroups
}

// UpOptions are what Up needs beside the cluster's Spec.
type UpOptions struct {
	Dir  statedir.Dir
	Spec statedir.Spec
	Wait time.Duration // how long to wait until the cluster is ready; 0 is not at all
	// Listener is where a cluster with a network of its own is reached from outside, nil for one in the machine's network.
	Listener *os.File
	Say      func(format string, args ...any)
}

// Up starts the cluster unless it runs, waits until it is ready and tells each step. What an earlier cluster in the
// same folder left when it was killed goes first. If the context ends while it waits, the cluster is taken down
// again. It reports whether the cluster ran before.
func Up(ctx context.Context, h Host, o UpOptions) (already bool, err error) {
	if err := o.Spec.Check(); err != nil {
		return false, err
	}
	if err := checkRights(); err != nil {
		return false, err
	}
	if err := checkProgram(o.Spec.ControlPlane); err != nil {
		return false, err
	}
	if owned, err := o.Dir.Owned(); err != nil {
		return false, err
	} else if !owned {
		return false, fmt.Errorf("%s is not empty and holds no cluster: name another folder with --state-dir", o.Dir)
	}
	unlock, err := o.Dir.Lock(func() { o.Say("waiting for another kubespark-cluster command in %s\n", o.Dir) })
	if err != nil {
		return false, err
	}
	defer unlock()
	already, err = h.Running(o.Dir)
	if err != nil {
		return false, err
	}
	var fresh process.ID
	if !already {
		if fresh, err = h.start(ctx, o); err != nil {
			return false, err
		}
	}
	if o.Wait <= 0 {
		return already, nil
	}
	return already, h.await(ctx, o, fresh)
}

// Running reports whether the folder's cluster has a supervisor that has not given up.
func (h Host) Running(d statedir.Dir) (bool, error) {
	r, err := d.Load()
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	alive, err := h.supervised(r)
	return alive && r.Failure == "", err
}

// start makes the cluster's folder anew and starts the supervisor.
func (h Host) start(ctx context.Context, o UpOptions) (process.ID, error) {
	if err := h.clear(ctx, o.Dir, o.Say); err != nil {
		return process.ID{}, err
	}
	if err := h.checkContainers(o.Dir); err != nil {
		return process.ID{}, errors.Join(err, o.Dir.Remove())
	}
	if err := h.checkPorts(ctx, o.Spec); err != nil {
		return process.ID{}, errors.Join(err, o.Dir.Remove())
	}
	for _, l := range lacks(o.Spec) {
		o.Say("note: %s\n", l)
	}
	boot, err := h.Table.Boot()
	if err != nil {
		return process.ID{}, err
	}
	record := statedir.Record{Boot: boot, Spec: o.Spec, Started: time.Now()}
	if err := o.Dir.Create(record); err != nil {
		return process.ID{}, err
	}
	if err := controlplane.WriteKeys(o.Dir, o.Spec, record.Started); err != nil {
		return process.ID{}, err
	}
	return h.startSupervisor(o)
}

// startSupervisor starts it in a session of its own, so that neither the terminal's end nor its Ctrl-C reaches it.
func (h Host) startSupervisor(o UpOptions) (process.ID, error) {
	log, err := os.OpenFile(o.Dir.Log(SupervisorLog), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return process.ID{}, fmt.Errorf("open the supervisor's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(h.Program, "supervise", "--state-dir="+string(o.Dir))
	if o.Listener != nil {
		cmd.ExtraFiles = []*os.File{o.Listener}
		cmd.Args = append(cmd.Args, "--listener=3") // the first one behind the standard three
	}
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return process.ID{}, fmt.Errorf("start the supervisor: %w", err)
	}
	// It outlives this process. One that ends earlier stays in the table until this one ends too, as not alive.
	return h.Table.Identify(cmd.Process.Pid)
}

// await follows the record until every component is ready. Fresh is the supervisor that this command started, zero
// if the cluster ran before.
func (h Host) await(ctx context.Context, o UpOptions, fresh process.ID) error {
	already := fresh == process.ID{}
	limit := time.NewTimer(o.Wait)
	defer limit.Stop()
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	told := make(map[string]bool)
	for {
		r, err := o.Dir.Load()
		if err != nil {
			return err
		}
		if r.Failure != "" {
			return errors.New(r.Failure)
		}
		if !already {
			tellReady(r, told, o.Say)
		}
		waiting := notReady(r)
		if waiting == "" {
			return nil
		}
		if already {
			fresh = r.Supervisor
		}
		if !h.Table.Alive(fresh) {
			return fmt.Errorf("the supervisor ended before the cluster was ready: see %s", o.Dir.Log(SupervisorLog))
		}
		select {
		case <-ctx.Done():
			return h.giveUp(ctx, o, already)
		case <-limit.C:
			return fmt.Errorf("the cluster was not ready within %s: %s; it keeps running, see its status, or take it down", o.Wait, waiting)
		case <-tick.C:
		}
	}
}

// giveUp takes down a cluster that this command started, because the user does not want to wait for it.
func (h Host) giveUp(ctx context.Context, o UpOptions, already bool) error {
	if already {
		return errors.New("interrupted: the cluster keeps running")
	}
	if err := h.remove(context.WithoutCancel(ctx), o.Dir, o.Say); err != nil {
		return fmt.Errorf("interrupted, and the cluster could not be taken down: %w", err)
	}
	return errors.New("interrupted: the cluster was taken down again")
}

func tellReady(r statedir.Record, told map[string]bool, say func(string, ...any)) {
	for _, c := range r.Components {
		if c.Phase == statedir.Ready && !told[c.Name] {
			told[c.Name] = true
			say("  %-24s ready after %4.1f s\n", c.Name, c.Took.Seconds())
		}
	}
}

// notReady says which component is not ready and why, "" if all are.
func notReady(r statedir.Record) string {
	if len(r.Components) == 0 {
		return "the supervisor starts"
	}
	for _, c := range r.Components {
		switch {
		case c.Phase == statedir.Ready:
		case c.Reason != "":
			return fmt.Sprintf("%s is %s, %s", c.Name, c.Phase, c.Reason)
		default:
			return fmt.Sprintf("%s is %s", c.Name, c.Phase)
		}
	}
	return ""
}

// supervised reports whether the record's supervisor runs.
func (h Host) supervised(r statedir.Record) (bool, error) {
	boot, err := h.Table.Boot()
	if err != nil {
		return false, err
	}
	return boot == r.Boot && h.Table.Alive(r.Supervisor), nil
}

// SupervisorLog is the name of the supervisor's log.
const SupervisorLog = "supervisor"

// dyingLimit is how long a port may stay taken without a process to see: one that was killed is still closing it.
const dyingLimit = 5 * time.Second

// awaitPort returns nil once a listener at the address is possible, else why not and who listens there, if that shows.
func (h Host) awaitPort(ctx context.Context, at netip.AddrPort) (by string, err error) {
	ctx, cancel := context.WithTimeout(ctx, dyingLimit)
	defer cancel()
	for {
		if err = listenable(at); !errors.Is(err, syscall.EADDRINUSE) {
			return "", err
		}
		if by = h.Table.Listener(at); by != "" {
			return by, err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// port is an address that the cluster listens at.
type port struct {
	at          netip.AddrPort
	use, change string
}

func apiServerPort(s statedir.Spec) port {
	return port{s.APIServer(), "the API server", "name another with --port"}
}

func (h Host) checkPorts(ctx context.Context, s statedir.Spec) error {
	ports := []port{
		apiServerPort(s),
		{s.Service(), "the API server as pods see it", "end that process, or name other addresses with --network"},
	}
	for i := range s.NodeCount() {
		ports = append(ports, port{s.Kubelet(i), "the node", "end that process, or name other addresses with --network"})
	}
	for _, p := range ports {
		if err := h.checkPort(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (h Host) checkPort(ctx context.Context, p port) error {
	by, err := h.awaitPort(ctx, p.at)
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.EACCES) {
		return fmt.Errorf("%s, for %s, takes the capability NET_BIND_SERVICE here: run the command with it, or have net.ipv4.ip_unprivileged_port_start set to %d", p.at, p.use, p.at.Port())
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s, for %s, cannot be used: %w", p.at, p.use, err)
	}
	if by == "" {
		by = "another process"
	}
	return fmt.Errorf("%s, for %s, is taken by %s: %s", p.at, p.use, by, p.change)
}

// OutsideListener is where a cluster that needs a network of its own will be reached from outside: at the address of its API server. It is
// nil if the root of a user namespace, too, may listen at the port of the kubernetes Service, so that the cluster can be in the machine's network.
func (h Host) OutsideListener(ctx context.Context, s statedir.Spec) (*os.File, error) {
	first, err := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start")
	if err != nil {
		first = []byte("1024") // a kernel older than the setting
	}
	if n, err := strconv.ParseUint(strings.TrimSpace(string(first)), 10, 16); err == nil && s.Service().Port() >= uint16(n) {
		return nil, nil
	}
	if err := h.checkPort(ctx, apiServerPort(s)); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", s.APIServer().String())
	if err != nil {
		return nil, fmt.Errorf("listen for the API server: %w", err)
	}
	defer l.Close()
	return l.(*net.TCPListener).File()
}
