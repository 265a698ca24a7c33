package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func (a *App) kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [--state-dir DIR] [--] ARGUMENT...",
		Short: "Run kubectl on the cluster",
		Long: `kubectl runs the kubectl of the cluster's own version as the cluster's administrator, whatever KUBECONFIG says.
All that follows is kubectl's; --state-dir comes first.`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			args, err := a.ownArgs(args)
			if err != nil {
				return err
			}
			d, err := a.dir()
			if err != nil {
				return err
			}
			r, err := d.Load()
			if errors.Is(err, fs.ErrNotExist) {
				return a.noCluster(d)
			}
			if err != nil {
				return err
			}
			env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "KUBECONFIG=") })
			env = append(env, "KUBECONFIG="+d.Kubeconfig())
			argv := append([]string{"kubespark-control-plane", "kubectl"}, args...)
			return fmt.Errorf("run %s: %w", r.Spec.ControlPlane, syscall.Exec(r.Spec.ControlPlane, argv, env))
		},
	}
}

// ownArgs takes the leading arguments that are this program's, and the "--" that ends them, from the rest.
func (a *App) ownArgs(args []string) ([]string, error) {
	const flag = "--state-dir"
	for len(args) > 0 {
		if args[0] == "--" {
			return args[1:], nil
		}
		if value, ok := strings.CutPrefix(args[0], flag+"="); ok {
			a.stateDir, args = value, args[1:]
			continue
		}
		if args[0] != flag {
			break
		}
		if len(args) == 1 {
			return nil, usageError{errors.New("flag needs an argument: " + flag)}
		}
		a.stateDir, args = args[1], args[2:]
	}
	return args, nil
}
