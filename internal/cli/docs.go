package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/reference"
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

func commandsPage(root *cobra.Command) string {
	return reference.Commands(root, func(b *strings.Builder, cmd *cobra.Command) bool {
		switch {
		case cmd.Name() == "render":
			b.WriteString("\nThe options are those of `kubespark submit`.\n")
		case cmd.DisableFlagParsing:
			for _, g := range submitOptions() {
				fmt.Fprintf(b, "\n### %s\n", g.title)
				reference.Head(b)
				for _, o := range g.options {
					reference.Row(b, o.name, o.text)
				}
			}
		default:
			return false
		}
		return true
	})
}

func propertiesPage() string {
	var b strings.Builder
	b.WriteString("# Properties\n\n" + reference.Mark + "\nThe Spark properties that kubespark reads, with the defaults of Spark " +
		conf.DefaultVersion.String() + ". `kubespark conf explain KEY` shows the same for one key and another version. Parts in brackets are the user's to choose.\n\n" +
		"| property | default | type | allowed | since | read by | meaning |\n|---|---|---|---|---|---|---|\n")
	for _, p := range properties(conf.DefaultVersion) {
		def := ""
		if text := p.defaultText(); text != "-" {
			def = "`" + reference.Cell(text) + "`"
		}
		kind, allowed := p.Type, p.Check
		if p.Unit != "" && !strings.Contains(kind, p.Unit) {
			kind += " (" + p.Unit + ")"
		}
		if p.Values != nil {
			allowed = strings.Join(p.Values, ", ")
		}
		doc := p.Doc
		if p.OldNames != nil {
			doc += " Old name: `" + strings.Join(p.OldNames, "`, `") + "`."
		}
		if p.Secret {
			doc += " Never shown."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", p.Key, def, kind, reference.Cell(allowed), p.Since, p.ReadBy, reference.Cell(doc))
	}
	return b.String()
}
