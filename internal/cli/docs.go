package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubespark/kubespark/conf"
)

// docsCobra writes the reference pages from the commands and keys themselves. The same program gives the same bytes.
func docsCobra(root *cobra.Command) *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:    "docs --dir DIR",
		Short:  "Write the reference pages",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			for name, text := range map[string]string{"commands.md": commandsPage(root), "properties.md": propertiesPage()} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					return fmt.Errorf("write the reference: %w", err)
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "folder to write to")
	return cmd
}

const generatedMark = "<!-- Written by hack/generate.sh. -->\n"

func commandsPage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("# Commands\n\n" + generatedMark + "\n" + root.Long + "\n")
	for _, cmd := range root.Commands() {
		if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		fmt.Fprintf(&b, "\n## kubespark %s\n\n%s.\n\n    kubespark %s\n", cmd.Name(), cmd.Short, cmd.Use)
		switch {
		case cmd.Name() == "render":
			b.WriteString("\nThe options are those of `kubespark submit`.\n")
		case cmd.DisableFlagParsing:
			optionsTable(&b)
		default:
			flagsTable(&b, cmd.NonInheritedFlags())
		}
	}
	return b.String()
}

func optionsTable(b *strings.Builder) {
	for _, g := range submitOptions() {
		fmt.Fprintf(b, "\n### %s\n\n| option | meaning |\n|---|---|\n", g.title)
		for _, o := range g.options {
			fmt.Fprintf(b, "| `%s` | %s |\n", o.name, cell(o.text))
		}
	}
}

func flagsTable(b *strings.Builder, flags *pflag.FlagSet) {
	var rows []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name += ", -" + f.Shorthand
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", name, cell(f.Usage)))
	})
	if len(rows) > 0 {
		b.WriteString("\n| option | meaning |\n|---|---|\n" + strings.Join(rows, ""))
	}
}

func propertiesPage() string {
	var b strings.Builder
	b.WriteString("# Properties\n\n" + generatedMark + "\nThe Spark properties that kubespark reads through typed handles, with the defaults of Spark " +
		conf.DefaultVersion.String() + ".\n\n| property | default | type | since | meaning |\n|---|---|---|---|---|\n")
	for _, k := range conf.SortedKeys() {
		def, ok := k.DefaultText(conf.DefaultVersion)
		if ok {
			def = "`" + cell(def) + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", k.Key(), def, k.TypeName(), k.Since(), cell(k.Doc()))
	}
	return b.String()
}

func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "``", "")
}
