package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kubespark/kubespark/localcluster/internal/cluster"
	"github.com/kubespark/kubespark/localcluster/internal/container"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
	"github.com/kubespark/kubespark/localcluster/internal/userns"
)

// nestedVariable tells the program that it has been started in a user namespace for what it is to do.
const nestedVariable = "KUBESPARK_CLUSTER_NESTED"

// nest runs the same command as root of a user namespace, if this process lacks the rights for it, and reports whether it did. A listener
// goes with it as a file, and means that the command gets a network of its own.
func (a *App) nest(listener *os.File) (bool, error) {
	needed, err := userns.Needed()
	if err != nil || !needed {
		return err != nil, err
	}
	if os.Getenv(nestedVariable) != "" {
		return true, userns.Refused(syscall.EPERM)
	}
	program, err := os.Executable()
	if err != nil {
		return true, err
	}
	args := a.args
	if listener != nil {
		args = append(append([]string{}, args...), "--listener=3") // the first one behind the standard three
	}
	cmd := userns.Command(program, args, listener != nil)
	cmd.Env = append(os.Environ(), nestedVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, a.Out, a.Err
	if listener != nil {
		cmd.ExtraFiles = []*os.File{listener}
	}
	return true, passOn(cmd)
}

// nestUp is nest for the start of a cluster, which may need a network of its own.
func (a *App) nestUp(ctx context.Context, h cluster.Host, d statedir.Dir, s statedir.Spec) (bool, error) {
	needed, err := userns.Needed()
	if err != nil || !needed {
		return err != nil, err
	}
	running, err := h.Running(d)
	if err != nil || running {
		_, err = a.nest(nil)
		return true, err
	}
	listener, err := h.OutsideListener(ctx, s)
	if err != nil {
		return true, err
	}
	if listener != nil {
		defer listener.Close()
	}
	return a.nest(listener)
}

// nested is a command that needs the rights of root over the user's own files at least.
func (a *App) nested(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if nested, err := a.nest(nil); nested {
			return err
		}
		return run(c, args)
	}
}

// passOn runs the command, hands on the signals that end a program, and ends as the command does, which has said why.
func passOn(cmd *exec.Cmd) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return userns.Refused(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it fails only if the command has ended
		case err := <-ended:
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() >= 0 {
				return exitCode(exit.ExitCode())
			}
			return err
		}
	}
}

// listenerFlag is how a process is told of a listener that it inherits, by the file's number.
func listenerFlag(c *cobra.Command, n *int) {
	const name = "listener"
	c.Flags().IntVar(n, name, 0, "number of the inherited listener")
	if err := c.Flags().MarkHidden(name); err != nil {
		panic(err) // the flag was made just now
	}
}

// inherited is the file of a number, nil for 0.
func inherited(n int) *os.File {
	if n == 0 {
		return nil
	}
	return os.NewFile(uintptr(n), "the inherited listener")
}

func (a *App) tryCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "try-container FOLDER",
		Short:  "Try whether a container can be made; `up` starts it",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(_ *cobra.Command, args []string) error { return container.Try(args[0]) },
	}
}
