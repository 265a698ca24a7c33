package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/kubespark/kubespark/internal/reference"
)

// docs writes the reference page of these commands.
func (a *App) docs(root *cobra.Command) *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:    "docs --dir DIR",
		Short:  "Write the reference page",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := os.WriteFile(filepath.Join(dir, "cluster.md"), []byte(reference.Commands(root, nil)), 0o644); err != nil {
				return fmt.Errorf("write the reference: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "folder to write to")
	return cmd
}
