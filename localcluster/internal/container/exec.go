package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/containerd/console"
	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/runc/libcontainer"
	"github.com/opencontainers/runc/libcontainer/configs"
	"golang.org/x/sys/unix"
)

// Exec is a command to run in a running container.
type Exec struct {
	Args, Env    []string
	Cwd          string
	UID, GID     int
	Groups       []int
	Capabilities []string
	// NoNewPrivileges as the container's own.
	NoNewPrivileges bool

	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// TTY gives the command a terminal; its output is all in Stdout then. Resize carries sizes of it.
	TTY    bool
	Resize <-chan WindowSize
}

// WindowSize is a terminal's size in characters.
type WindowSize struct{ Width, Height uint16 }

// outputGrace is how long an ended command's children may go on writing to its output.
const outputGrace = time.Second

// Exec runs a command in the container and returns its exit code. Cancelling the context kills it.
func (c *Container) Exec(ctx context.Context, e Exec) (int, error) {
	proc := &libcontainer.Process{
		Args: e.Args, Env: e.Env, Cwd: e.Cwd, UID: e.UID, GID: e.GID, AdditionalGroups: e.Groups,
		Capabilities: capabilities(e.UID, e.Capabilities), NoNewPrivileges: &e.NoNewPrivileges,
	}
	if proc.Cwd == "" {
		proc.Cwd = "/"
	}
	if e.TTY {
		return c.execTTY(ctx, proc, e)
	}
	var out pipes
	var err error
	if proc.Stdout, err = out.to(e.Stdout); err != nil {
		return 0, err
	}
	if proc.Stderr, err = out.to(e.Stderr); err != nil {
		out.abort()
		return 0, err
	}
	if e.Stdin != nil {
		r, w, err := os.Pipe()
		if err != nil {
			out.abort()
			return 0, err
		}
		out.children = append(out.children, r)
		proc.Stdin = r
		go func() {
			_, _ = io.Copy(w, e.Stdin) // the command may end before its input does
			_ = w.Close()
		}()
	}
	if err := c.lc.Run(proc); err != nil {
		out.abort()
		return 0, fmt.Errorf("run %q in container %s: %w", e.Args[0], c.id, err)
	}
	out.started()
	code := waitKilled(ctx, proc)
	drained := make(chan struct{})
	go func() { out.wait(); close(drained) }()
	select {
	case <-drained:
	case <-time.After(outputGrace):
	}
	return code, ctx.Err()
}

// waitKilled waits for the process, which it kills when the context ends.
func waitKilled(ctx context.Context, proc *libcontainer.Process) int {
	stop := context.AfterFunc(ctx, func() { _ = proc.Signal(unix.SIGKILL) })
	defer stop()
	return exitCode(proc.Wait())
}

func (c *Container) execTTY(ctx context.Context, proc *libcontainer.Process, e Exec) (int, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "console"), os.NewFile(uintptr(fds[1]), "console-child")
	defer ours.Close()
	proc.ConsoleSocket = theirs
	err = c.lc.Run(proc)
	_ = theirs.Close()
	if err != nil {
		return 0, fmt.Errorf("run %q in container %s: %w", e.Args[0], c.id, err)
	}
	term, err := receiveFile(ours)
	if err != nil {
		_ = proc.Signal(unix.SIGKILL)
		_, _ = proc.Wait()
		return 0, fmt.Errorf("terminal of %q in container %s: %w", e.Args[0], c.id, err)
	}
	defer term.Close()
	con, err := console.ConsoleFromFile(term)
	if err == nil {
		go resize(ctx, con, e.Resize)
	}
	if e.Stdin != nil {
		go func() { _, _ = io.Copy(term, e.Stdin) }()
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		if e.Stdout != nil {
			_, _ = io.Copy(e.Stdout, term) // ends with EIO when the last process has closed the terminal
		}
	}()
	code := waitKilled(ctx, proc)
	select {
	case <-copied:
	case <-time.After(outputGrace):
	}
	return code, ctx.Err()
}

func resize(ctx context.Context, con console.Console, sizes <-chan WindowSize) {
	for {
		select {
		case s, ok := <-sizes:
			if !ok {
				return
			}
			_ = con.Resize(console.WinSize{Width: s.Width, Height: s.Height})
		case <-ctx.Done():
			return
		}
	}
}

// receiveFile takes the one file that libcontainer sends through the socket: the terminal's master end.
func receiveFile(socket *os.File) (*os.File, error) {
	name, oob := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(int(socket.Fd()), name, oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return nil, err
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil {
		return nil, err
	}
	if len(msgs) != 1 {
		return nil, errors.New("no terminal was handed over")
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "terminal"), nil
}

func signalOf(state *os.ProcessState) syscall.Signal {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal()
	}
	return 0
}

// canLimitSwap says whether the kernel counts swap in memory cgroups.
func canLimitSwap() bool {
	if cgroups.IsCgroup2UnifiedMode() {
		return true
	}
	dir, err := cgroups.FindCgroupMountpoint("", "memory")
	return err == nil && cgroups.PathExists(dir+"/memory.memsw.limit_in_bytes")
}

// existing leaves out the optional mounts whose source is not there.
func existing(all []*configs.Mount, spec []Mount) []*configs.Mount {
	skip := map[string]bool{}
	for _, m := range spec {
		if m.Optional && !cgroups.PathExists(m.Source) {
			skip[m.Destination] = true
		}
	}
	out := all[:0]
	for _, m := range all {
		if !skip[m.Destination] {
			out = append(out, m)
		}
	}
	return out
}
