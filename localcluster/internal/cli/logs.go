package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubespark/kubespark/localcluster/internal/cluster"
	"github.com/kubespark/kubespark/localcluster/internal/controlplane"
)

// logNames are the components that have a log.
func logNames() []string {
	return []string{
		controlplane.Etcd, controlplane.APIServer, controlplane.Scheduler, controlplane.ControllerManager, controlplane.Node,
		cluster.SupervisorLog, controlplane.Audit,
	}
}

func (a *App) logsCommand() *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use:       "logs COMPONENT",
		Short:     "Print a component's log",
		Long:      "logs prints what a component of the cluster has logged since `up`. The components are\n" + strings.Join(logNames(), ", ") + ".",
		ValidArgs: logNames(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(logNames(), args[0]) && !controlplane.IsNode(args[0]) {
				return usageError{fmt.Errorf("name one component: %s", strings.Join(logNames(), ", "))}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			d, err := a.dir()
			if err != nil {
				return err
			}
			if _, err := d.Load(); errors.Is(err, fs.ErrNotExist) {
				return a.noCluster(d)
			}
			f, err := os.Open(d.Log(args[0]))
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s has logged nothing yet", args[0])
			}
			if err != nil {
				return fmt.Errorf("open the log: %w", err)
			}
			defer f.Close()
			return copyLog(c.Context(), a.Out, f, follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is logged from now on")
	return c
}

// copyLog writes the log out, and if asked to what is added to it, until the context ends.
func copyLog(ctx context.Context, out io.Writer, log io.Reader, follow bool) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := io.Copy(out, log); err != nil {
			return fmt.Errorf("print the log: %w", err)
		}
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
