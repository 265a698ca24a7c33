package cli

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/kubespark/kubespark/localcluster/internal/cluster"
	"github.com/kubespark/kubespark/localcluster/internal/process"
)

func (a *App) superviseCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "supervise",
		Short:  "Keep the cluster's processes running; `up` starts it",
		Hidden: true,
		Args:   noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := a.dir()
			if err != nil {
				return err
			}
			return cluster.Supervise(c.Context(), d, process.NewTable("/proc"), slog.New(slog.NewTextHandler(a.Err, nil)))
		},
	}
}
