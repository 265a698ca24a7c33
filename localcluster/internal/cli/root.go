// Package cli is the command line of kubespark-cluster: one file per command, each of which parses its flags and
// makes one call.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kubespark/kubespark/localcluster/internal/cluster"
	"github.com/kubespark/kubespark/localcluster/internal/node"
	"github.com/kubespark/kubespark/localcluster/internal/process"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
	"github.com/kubespark/kubespark/localcluster/internal/userns"
)

// Exit codes beside 0.
const (
	exitError = 1
	exitUsage = 2 // the command line was wrong
	exitDown  = 3 // status: the cluster is not up, or not ready
)

// defaultStateDir is where the one cluster of a user lives, unless there are several: root's is the machine's. It is "" for an ordinary user
// without a home.
func defaultStateDir(ordinary bool) string {
	const name = "kubespark-cluster"
	state, home := os.Getenv("XDG_STATE_HOME"), os.Getenv("HOME")
	switch {
	case !ordinary:
		return filepath.Join("/var/lib", name)
	case filepath.IsAbs(state):
		return filepath.Join(state, name)
	case filepath.IsAbs(home):
		return filepath.Join(home, ".local/state", name)
	}
	return ""
}

// App is what the commands share.
type App struct {
	Version  string
	Out, Err io.Writer

	stateDir string
	args     []string
}

// Main runs the command line and returns the exit code.
func Main(version string, args []string) int {
	app := &App{Version: version, Out: os.Stdout, Err: os.Stderr}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return app.Run(ctx, args)
}

// Run runs the command that args (without the program's name) say, and returns the exit code.
func (a *App) Run(ctx context.Context, args []string) int {
	root := a.Root()
	a.args = args
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var exit exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	}
	fmt.Fprintf(a.Err, "kubespark-cluster: %v\n", err)
	var usage usageError
	if errors.As(err, &usage) || strings.HasPrefix(err.Error(), "unknown command") {
		return exitUsage
	}
	return exitError
}

// Root returns the command tree.
func (a *App) Root() *cobra.Command {
	root := &cobra.Command{
		Use:   "kubespark-cluster",
		Short: "A Kubernetes cluster on this machine, for trying and testing kubespark",
		Long: `kubespark-cluster runs a real Kubernetes control plane (etcd, kube-apiserver, kube-scheduler,
kube-controller-manager) and a node whose pods are processes in namespaces of their own. It needs no container
runtime, no registry and no network: everything listens on loopback addresses. It needs root, or a kernel that lets
ordinary users have user namespaces; up says what is missing then. Root's cluster lies in /var/lib/kubespark-cluster, an
ordinary user's in ~/.local/state/kubespark-cluster (or below XDG_STATE_HOME).`,
		Version:          a.Version,
		SilenceErrors:    true,
		SilenceUsage:     true,
		TraverseChildren: true, // so that flags before `kubectl` are ours and flags behind it are kubectl's
		Args:             cobra.NoArgs,
		RunE:             func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.PersistentFlags().StringVar(&a.stateDir, "state-dir", defaultStateDir(userns.Ordinary()), "the folder that holds everything of the cluster; one cluster per folder")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w: see %s --help", err, c.CommandPath())}
	})
	root.AddCommand(a.upCommand(), a.downCommand(), a.statusCommand(), a.logsCommand(), a.kubectlCommand(), a.imageCommand(), a.nodeCommand(),
		a.superviseCommand(), a.tryCommand(), a.docs(root))
	return root
}

// dir returns the state folder that the user named.
func (a *App) dir() (statedir.Dir, error) {
	d, err := statedir.New(a.stateDir)
	if err != nil {
		return "", usageError{err}
	}
	return d, nil
}

// host returns the machine.
func (a *App) host() (cluster.Host, error) {
	program, err := os.Executable()
	if err != nil {
		return cluster.Host{}, fmt.Errorf("find the own program: %w", err)
	}
	return cluster.Host{Table: process.NewTable("/proc"), Program: program, CleanNode: node.Clean}, nil
}

// place returns the folder and the machine, which most commands need.
func (a *App) place() (statedir.Dir, cluster.Host, error) {
	d, err := a.dir()
	if err != nil {
		return "", cluster.Host{}, err
	}
	h, err := a.host()
	return d, h, err
}

func (a *App) say(format string, args ...any) { fmt.Fprintf(a.Out, format, args...) }

// noCluster is the error of a command that needs one.
func (a *App) noCluster(d statedir.Dir) error {
	return fmt.Errorf("there is no cluster in %s: %s starts one", d, a.again("up"))
}

// again returns how the user calls another command for the same cluster.
func (a *App) again(command string) string {
	if a.stateDir == defaultStateDir(userns.Ordinary()) {
		return "kubespark-cluster " + command
	}
	return "kubespark-cluster --state-dir=" + a.stateDir + " " + command
}

// beside returns the path of a program in the folder of the running one.
func beside(name string) (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the own program: %w", err)
	}
	return filepath.Join(filepath.Dir(own), name), nil
}

// usageError marks an error as one of the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitCode ends the program with this code, everything having been said.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// noArgs refuses arguments as an error of the command line.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no argument, but got %q: see %s --help", c.CommandPath(), args[0], c.CommandPath())}
	}
	return nil
}
