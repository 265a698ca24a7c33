package cli

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/kubespark/kubespark/localcluster/internal/cluster"
	"github.com/kubespark/kubespark/localcluster/internal/process"
)

func (a *App) superviseCommand() *cobra.Command {
	listener := 0
	c := &cobra.Command{
		Use:    "supervise",
		Short:  "Keep the cluster's processes running; `up` starts it",
		Hidden: true,
		Args:   noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := a.dir()
			if err != nil {
				return err
			}
			return cluster.Supervise(c.Context(), d, process.NewTable("/proc"), inherited(listener), slog.New(slog.NewTextHandler(a.Err, nil)))
		},
	}
	listenerFlag(c, &listener)
	return c
}
