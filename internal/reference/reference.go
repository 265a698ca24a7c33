// Package reference writes the command pages of docs/reference from the commands themselves, for kubespark and for
// kubespark-cluster. The same commands give the same bytes.
package reference

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Mark stands at the top of every generated page.
const Mark = "<!-- Written by hack/generate.sh. -->\n"

// Commands is the page of all visible commands below root. A command whose options are no flags writes them by options,
// which says whether it did.
func Commands(root *cobra.Command, options func(b *strings.Builder, cmd *cobra.Command) bool) string {
	var b strings.Builder
	b.WriteString("# " + root.Name() + "\n\n" + Mark + "\n" + root.Long + "\n")
	flagsTable(&b, root.PersistentFlags())
	var walk func(cmd *cobra.Command)
	walk = func(parent *cobra.Command) {
		for _, cmd := range parent.Commands() {
			if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
				continue
			}
			if cmd.HasSubCommands() {
				walk(cmd)
				continue
			}
			fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n    %s\n", cmd.CommandPath(), strings.TrimSuffix(cmd.Short, "."), cmd.UseLine())
			if options == nil || !options(&b, cmd) {
				flagsTable(&b, cmd.NonInheritedFlags())
			}
		}
	}
	walk(root)
	return b.String()
}

// Row is one row of an options table.
func Row(b *strings.Builder, name, meaning string) {
	fmt.Fprintf(b, "| `%s` | %s |\n", name, Cell(meaning))
}

// Head starts an options table.
func Head(b *strings.Builder) { b.WriteString("\n| option | meaning |\n|---|---|\n") }

func flagsTable(b *strings.Builder, flags *pflag.FlagSet) {
	first := true
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" || f.Hidden {
			return
		}
		if first {
			Head(b)
			first = false
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name += ", -" + f.Shorthand
		}
		Row(b, name, f.Usage)
	})
}

// Cell makes text fit into a table's cell.
func Cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "``", "")
}
