package container

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"
	"github.com/opencontainers/runc/libcontainer"
	"golang.org/x/sys/unix"
)

// Exit is how a container's first process ended.
type Exit struct {
	// Code is the exit code; 128 plus the signal's number if a signal ended it.
	Code int
	// OOMKilled: the kernel killed a process of the container for want of memory, and the container did not end well.
	OOMKilled bool
}

// Container is one running or ended container.
type Container struct {
	r    *Runtime
	id   string
	lc   *libcontainer.Container
	cg   *cgroups.Cgroup
	root string

	done chan struct{}
	exit Exit
}

// Start makes the container and starts its command. What it returns as error ran nothing and left nothing behind.
func (r *Runtime) Start(s Spec) (_ *Container, err error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	binds, err := hostBinds(s.Alone)
	if err != nil {
		return nil, err
	}
	root, parts, err := r.makeRoot(s)
	if err != nil {
		return nil, errors.Join(err, r.removeRoot(s.ID))
	}
	c := &Container{r: r, id: s.ID, root: root, done: make(chan struct{})}
	cfg := s.config(root, r.parent, binds, canLimitSwap())
	if r.nested {
		inUserNamespace(cfg, parts)
	}
	if r.free {
		withoutCgroups(cfg, s.ID)
	}
	cfg.Mounts = existing(cfg.Mounts, s.Mounts)
	c.cg = cfg.Cgroups
	c.lc, err = libcontainer.Create(r.stateRoot(), s.ID, cfg)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create container: %w", err), r.removeRoot(s.ID))
	}
	if err := c.run(s); err != nil {
		return nil, errors.Join(err, c.lc.Destroy(), r.removeRoot(s.ID))
	}
	return c, nil
}

// hostBinds are the host's own file systems with programs in them, unless the container has nothing of the host's root.
func hostBinds(alone bool) ([]Mount, error) {
	if alone {
		return nil, nil
	}
	points, err := hostMountPoints()
	if err != nil {
		return nil, err
	}
	var binds []Mount
	for _, p := range systemMounts(points) {
		binds = append(binds, Mount{Source: p, Destination: p, ReadOnly: true})
	}
	return binds, nil
}

func (c *Container) run(s Spec) error {
	var pipes pipes
	proc := &libcontainer.Process{
		Args: s.Args, Env: s.Env, Cwd: s.Cwd, UID: s.UID, GID: s.GID, AdditionalGroups: s.Groups, Init: true,
	}
	if proc.Cwd == "" {
		proc.Cwd = "/"
	}
	out, err := pipes.to(s.Stdout)
	if err != nil {
		return err
	}
	errOut, err := pipes.to(s.Stderr)
	if err != nil {
		pipes.abort()
		return err
	}
	proc.Stdout, proc.Stderr = out, errOut
	if err := c.lc.Run(proc); err != nil {
		pipes.abort()
		return fmt.Errorf("start container: %w", err)
	}
	pipes.started()
	go func() {
		defer close(c.done)
		code := exitCode(proc.Wait())
		pipes.wait()
		c.exit = Exit{Code: code, OOMKilled: code != 0 && c.oomKills() > 0}
	}()
	return nil
}

// oomKills asks the cgroup how many of the container's processes the kernel killed for want of memory.
func (c *Container) oomKills() uint64 {
	m, err := manager.New(c.cg)
	if err != nil {
		return 0
	}
	n, err := m.OOMKillCount()
	if err != nil {
		return 0 // the memory controller is not there: nothing could be killed by it
	}
	return n
}

// Done is closed when the container's first process has ended and all its output is written.
func (c *Container) Done() <-chan struct{} { return c.done }

// Exit tells how it ended; valid once Done is closed.
func (c *Container) Exit() Exit { return c.exit }

// ID is the container's id.
func (c *Container) ID() string { return c.id }

// Signal sends a signal to the container's first process. A container that has ended is no error.
func (c *Container) Signal(sig unix.Signal) error {
	err := c.lc.Signal(sig)
	if errors.Is(err, libcontainer.ErrNotRunning) || errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Kill ends every process of the container at once.
func (c *Container) Kill() error { return c.Signal(unix.SIGKILL) }

// ReadFile reads a file of an ended container's root file system, at most limit bytes from its end. A missing file reads empty.
func (c *Container) ReadFile(path string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(c.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(filepath.Clean(path)[1:])
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, err
	}
	if _, err := f.Seek(max(0, st.Size()-limit), io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// Remove deletes an ended container: cgroup, state, root file system.
func (c *Container) Remove() error {
	var errs []error
	if err := c.lc.Destroy(); err != nil {
		errs = append(errs, fmt.Errorf("remove container %s: %w", c.id, err))
	}
	errs = append(errs, c.r.removeRoot(c.id))
	return errors.Join(errs...)
}

func exitCode(state *os.ProcessState, err error) int {
	var exitErr *exec.ExitError
	if errors.As(err, &exitErr) {
		state = exitErr.ProcessState
	}
	if state == nil {
		return 255
	}
	if sig := signalOf(state); sig != 0 {
		return 128 + int(sig)
	}
	return state.ExitCode()
}

// pipes carries a process's output to writers.
type pipes struct {
	children []*os.File
	parents  []*os.File
	copying  sync.WaitGroup
}

// to returns the file that a process writes to so that w gets it. A nil writer discards.
func (p *pipes) to(w io.Writer) (*os.File, error) {
	if w == nil {
		w = io.Discard
	}
	r, child, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.children, p.parents = append(p.children, child), append(p.parents, r)
	p.copying.Go(func() {
		_, _ = io.Copy(w, r) // a writer that fails loses output, never the process
		_, _ = io.Copy(io.Discard, r)
		_ = r.Close()
	})
	return child, nil
}

func (p *pipes) started() {
	for _, f := range p.children {
		_ = f.Close()
	}
}

func (p *pipes) abort() {
	p.started()
	p.wait()
}

// wait returns when every process that had the files has ended or closed them.
func (p *pipes) wait() { p.copying.Wait() }
