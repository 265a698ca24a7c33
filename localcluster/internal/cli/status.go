package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/kubespark/kubespark/localcluster/internal/cluster"
)

func (a *App) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say what runs and whether it is ready",
		Long:  `status looks at each process of the cluster and asks it whether it is ready. It ends with 0 if all are, else with 3.`,
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d, h, err := a.place()
			if err != nil {
				return err
			}
			report, err := cluster.Inspect(c.Context(), h, d)
			if errors.Is(err, cluster.ErrNone) {
				a.say("%v\n", a.noCluster(d))
				return exitCode(exitDown)
			}
			if err != nil {
				return err
			}
			if err := printReport(a.Out, report); err != nil {
				return err
			}
			if report.Problem != "" {
				a.say("\n%s\n", report.Problem)
			} else {
				a.say("\nAPI server  https://%s, for pods https://%s\nkubeconfig  %s\n", report.Spec.APIServer(), report.Spec.Service(), d.Kubeconfig())
			}
			if !report.Ready {
				return exitCode(exitDown)
			}
			return nil
		},
	}
}

func printReport(out io.Writer, r cluster.Report) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "COMPONENT\tSTATE\tPID\tMEMORY\tRESTARTS\tWHY")
	for _, c := range r.Components {
		pid, memory := "-", "-"
		if c.PID != 0 {
			pid, memory = strconv.Itoa(c.PID), fmt.Sprintf("%d MiB", c.Resident>>20)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", c.Name, c.State, pid, memory, c.Restarts, c.Why)
	}
	return w.Flush()
}
