package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/kubespark/kubespark/internal/version"
	"github.com/kubespark/kubespark/submit"
)

func versionCobra() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of kubespark",
		GroupID: groupOther,
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "kubespark %s (%s, %s/%s)\n", version.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// version is --version of spark-submit: other tools look for "version <Spark version>".
func (c *submitCommand) version() int {
	v, err := submit.SparkVersion(nil, c.env(c.Environ))
	if err != nil {
		return c.fail(err, nil)
	}
	say(c.Stderr, `Welcome to Spark on Kubernetes by kubespark
version %s

Using Scala version 2.13, without a JVM
Branch kubespark
Compiled by user kubespark %s
Revision %s
Url https://github.com/kubespark/kubespark
Type --help for more information.`, v, version.Version, version.Version)
	return exitOK
}
