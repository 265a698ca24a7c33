package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// installFlags say where a spark-submit of ours is put.
type installFlags struct {
	dir, home string
	copy      bool
}

func (f *installFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "dir", "", "folder, such as one on the PATH")
	cmd.Flags().StringVar(&f.home, "spark-home", "", "Spark distribution, whose bin folder is meant (default: SPARK_HOME)")
	cmd.MarkFlagsMutuallyExclusive("dir", "spark-home")
}

func installCobra(p Process) *cobra.Command {
	f := &installFlags{}
	cmd := &cobra.Command{
		Use:   "install spark-submit",
		Short: "Install kubespark under the name spark-submit, for tools that look for it",
		Long: `Puts a file of the name spark-submit (also spark2-submit or spark3-submit) into a folder, so that tools which
run spark-submit run kubespark. An original of that name is kept beside it as spark-submit.orig; client mode and
masters other than Kubernetes are handed to it. "kubespark uninstall" undoes this.`,
		GroupID: groupOther,
		Args:    args(installArgs),
		RunE: func(cmd *cobra.Command, list []string) error {
			target, err := f.target(p, list[0])
			if err != nil {
				return err
			}
			text, err := f.content(p)
			if err != nil {
				return err
			}
			done, err := p.install(target, text)
			if err != nil {
				return err
			}
			say(p.Stdout, "%s", done)
			if program, err := p.Executable(); err == nil && !f.copy && !othersCanRun(program) {
				say(p.Stderr, "warning: other users cannot run %s, and so not %s: move kubespark to a folder that all can read, or use --copy", program, target)
			}
			return nil
		},
	}
	f.register(cmd)
	cmd.Flags().BoolVar(&f.copy, "copy", false, "install a copy of this program instead of a script that runs it, for images without a shell")
	return cmd
}

func uninstallCobra(p Process) *cobra.Command {
	f := &installFlags{}
	cmd := &cobra.Command{
		Use:     "uninstall spark-submit",
		Short:   "Undo install: the original spark-submit comes back",
		GroupID: groupOther,
		Args:    args(installArgs),
		RunE: func(_ *cobra.Command, list []string) error {
			target, err := f.target(p, list[0])
			if err != nil {
				return err
			}
			done, err := p.uninstall(target)
			if err != nil {
				return err
			}
			say(p.Stdout, "%s", done)
			return nil
		},
	}
	f.register(cmd)
	return cmd
}

func installArgs(cmd *cobra.Command, list []string) error {
	if len(list) != 1 || !isSubmitName(list[0]) {
		return fmt.Errorf("%s takes one name: spark-submit, spark2-submit or spark3-submit", cmd.Name())
	}
	return nil
}

// target is the file to install or to remove.
func (f *installFlags) target(p Process, name string) (string, error) {
	dir, home := f.dir, f.home
	if dir == "" && home == "" {
		home, _ = environment(p.Environ)("SPARK_HOME")
	}
	switch {
	case dir == "" && home == "":
		return "", &usageError{errors.New("where is not said: give --dir DIR or --spark-home HOME, or set SPARK_HOME")}
	case dir == "":
		dir = filepath.Join(home, "bin")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return "", fmt.Errorf("there is no folder %s to hold %s", abs, name)
	}
	return filepath.Join(abs, name), nil
}

// content is what the installed file holds.
func (f *installFlags) content(p Process) ([]byte, error) {
	program, err := p.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's own file: %w", err)
	}
	if !f.copy {
		return []byte(scriptText(program)), nil
	}
	return os.ReadFile(program)
}

// install puts text at target and returns what it did in a sentence. An original is kept under another name; at no moment is
// there no file of the name. A second time it changes nothing.
func (p Process) install(target string, text []byte) (string, error) {
	kept := target + keptSuffix
	info, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(kept); err == nil {
			return "", fmt.Errorf("%s exists without %s: an earlier installation was broken; run kubespark uninstall first", kept, target)
		}
		return "installed " + target, writeFileAt(target, text, os.Link)
	case err != nil:
		return "", err
	case p.isOurs(target):
		if old, err := os.ReadFile(target); err == nil && info.Mode().IsRegular() && bytes.Equal(old, text) {
			return target + " is installed already", nil
		}
		return "renewed " + target, writeFileAt(target, text, os.Rename)
	}
	if real, err := os.Stat(target); err != nil || !real.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no program that could be kept as %s: it stays as it is", target, filepath.Base(kept))
	}
	if _, err := os.Lstat(kept); err == nil {
		return "", fmt.Errorf("both %s and %s are not kubespark's: remove the one that is not the original spark-submit", target, kept)
	}
	if err := os.Link(target, kept); err != nil {
		return "", fmt.Errorf("keep the original: %w", err)
	}
	if err := writeFileAt(target, text, os.Rename); err != nil {
		return "", errors.Join(err, os.Remove(kept))
	}
	return "installed " + target + "; the original is kept as " + kept, nil
}

// writeFileAt makes a program of any user's at target: a temporary file that place puts there in one step.
func writeFileAt(target string, text []byte, place func(from, to string) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+"-")
	if err != nil {
		return err
	}
	defer func() {
		if rerr := os.Remove(f.Name()); err == nil && rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = rerr
		}
	}()
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o755), f.Close())
	if err != nil {
		return err
	}
	return place(f.Name(), target)
}

// uninstall takes our file at target away and brings a kept original back, the same file that it was.
func (p Process) uninstall(target string) (string, error) {
	kept := target + keptSuffix
	_, keptErr := os.Lstat(kept)
	_, err := os.Lstat(target)
	switch {
	case err == nil && !p.isOurs(target):
		if keptErr == nil {
			return "", fmt.Errorf("%s is not kubespark's, and %s exists: both stay as they are", target, kept)
		}
		return target + " is not kubespark's: nothing to undo", nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	case keptErr == nil:
		if err := os.Rename(kept, target); err != nil {
			return "", err
		}
		return "restored " + target, nil
	case err != nil:
		return "there is no " + target + ": nothing to undo", nil
	}
	return "removed " + target, os.Remove(target)
}
