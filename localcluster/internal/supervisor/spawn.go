package supervisor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/kubespark/kubespark/localcluster/internal/process"
)

// Spawner starts processes that the kernel kills when the supervisor dies. Linux ties that to the thread that
// forked, so one goroutine, on a thread of its own that never ends, starts them all.
type Spawner struct {
	table  process.Table
	starts chan start
}

type start struct {
	cmd  *exec.Cmd
	done chan<- error
}

// NewSpawner starts the spawning goroutine, which lives as long as the program.
func NewSpawner(table process.Table) *Spawner {
	s := &Spawner{table: table, starts: make(chan start)}
	go func() {
		runtime.LockOSThread()
		for r := range s.starts {
			r.done <- r.cmd.Start()
		}
	}()
	return s
}

// Process starts the program at path, its output appended to the file log. It gets the environment variables given
// and no others: the user's own (ETCD_NAME, KUBECONFIG, HTTP_PROXY) would change what the components do.
func (s *Spawner) Process(path string, args, env []string, log string) (Running, error) {
	out, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	defer out.Close() // the child has its own
	cmd := exec.Command(path, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.Dir = env, out, out, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	done := make(chan error)
	s.starts <- start{cmd, done}
	if err := <-done; err != nil {
		return nil, err
	}
	id, err := s.table.Identify(cmd.Process.Pid) // it stays in the table, were it only as a zombie, until Wait
	if err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return &child{cmd: cmd, id: id}, nil
}

type child struct {
	cmd *exec.Cmd
	id  process.ID
}

func (c *child) ID() process.ID { return c.id }

func (c *child) Wait() string {
	err := c.cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "it ended by itself with exit code 0"
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return fmt.Sprintf("it ended with exit code %d", exit.ExitCode())
	case errors.As(err, &exit):
		return "it was ended by " + exit.String()
	default:
		return err.Error()
	}
}

// Terminate and Kill fail only if the child has ended, which Wait tells.
func (c *child) Terminate() { _ = c.cmd.Process.Signal(syscall.SIGTERM) }
func (c *child) Kill()      { _ = c.cmd.Process.Kill() }
