package cli

import (
	"github.com/spf13/cobra"
)

// Groups of the help.
const (
	groupSubmit  = "submit"
	groupRunning = "running"
	groupOther   = "other"
)

// rootCommand is kubespark with all its commands. code receives the exit code of commands that have one of their own.
func rootCommand(p Process, code *int) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubespark",
		Short: "Runs Apache Spark on Kubernetes",
		Long: `kubespark submits Spark applications to Kubernetes without a JVM, and lets a manager written in Go
create and look after their executors. "kubespark submit" takes the arguments of spark-submit.

` + exitCodes,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddGroup(&cobra.Group{ID: groupSubmit, Title: "Submitting:"}, &cobra.Group{ID: groupRunning, Title: "Running applications:"},
		&cobra.Group{ID: groupOther, Title: "Other:"})
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	root.AddCommand(submitCobra(p, code), renderCobra(p, code), killCobra(p, code), statusCobra(p, code), installCobra(p), uninstallCobra(p),
		confCobra(p), versionCobra(), docsCobra(root))
	return root
}

// args wraps an argument check so that its errors count as bad usage.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, list []string) error {
		if err := check(cmd, list); err != nil {
			return &usageError{err}
		}
		return nil
	}
}
