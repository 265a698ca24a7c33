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
		Use:   "kubectl [ARGUMENT...]",
		Short: "Run kubectl on the cluster",
		Long: `kubectl runs the kubectl of the cluster's own version as the cluster's administrator, whatever KUBECONFIG says.
All that follows is kubectl's; --state-dir stands before the word kubectl.`,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
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
