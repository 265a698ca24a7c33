package cli

import (
	"github.com/spf13/cobra"
)

// submitCobra hands its arguments, unparsed, to spark-submit's grammar.
func submitCobra(p Process, code *int) *cobra.Command {
	return &cobra.Command{
		Use:                "submit [options] <app jar | python file | R file> [app arguments]",
		Short:              "Submit an application; takes the arguments of spark-submit",
		GroupID:            groupSubmit,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, argv []string) error {
			*code = (&submitCommand{Process: p, name: "kubespark submit"}).run(argv)
			return nil
		},
	}
}

// renderCobra is submit without a cluster.
func renderCobra(p Process, code *int) *cobra.Command {
	return &cobra.Command{
		Use:                "render [options] <app jar | python file | R file> [app arguments]",
		Short:              "Print the objects that submit would create, and an executor pod, as YAML; touches no cluster",
		GroupID:            groupSubmit,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, argv []string) error {
			*code = (&submitCommand{Process: p, name: "kubespark render"}).render(argv)
			return nil
		},
	}
}
