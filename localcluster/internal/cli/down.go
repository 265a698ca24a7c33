package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/kubespark/kubespark/localcluster/internal/cluster"
)

func (a *App) downCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster and leave nothing of it behind",
		Long: `down stops the pods, the node and the control plane, and removes the state folder with everything in it. It works
as well after any of the cluster's processes were killed. If there is no cluster, down says so and succeeds.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d, h, err := a.place()
			if err != nil {
				return err
			}
			if _, err := os.Lstat(string(d)); err == nil {
				if nested, err := a.nest(nil); nested {
					return err
				}
			}
			found, err := cluster.Down(c.Context(), h, d, a.say)
			if err != nil {
				return err
			}
			if found {
				a.say("the cluster in %s is down\n", d)
			} else {
				a.say("there is no cluster in %s\n", d)
			}
			return nil
		},
	}
}
