// Command kubespark-install is the entry point of kubespark's own image, which holds nothing but it, kubespark.jar and
// kubespark-manager. As an init container of the driver pod it copies the two into a volume that the Spark container has
// at the same place, so that any Spark image will do (spark.kubespark.image).
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// payload are the files beside the program, with their modes: whatever user Spark runs as must be able to use them.
var payload = []struct {
	name string
	mode os.FileMode
}{{"kubespark.jar", 0o644}, {"kubespark-manager", 0o755}}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "kubespark-install: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("one argument is needed: the folder that the files go to")
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the own program: %w", err)
	}
	return install(filepath.Dir(program), args[0])
}

// install copies the payload. It may run again over what an earlier run left.
func install(from, to string) error {
	for _, f := range payload {
		if err := copyFile(filepath.Join(from, f.name), filepath.Join(to, f.name), f.mode); err != nil {
			return fmt.Errorf("copy %s to %s: %w", f.name, to, err)
		}
	}
	return nil
}

// copyFile writes beside the target and renames, so that the target is complete or absent.
func copyFile(from, to string, mode os.FileMode) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	tmp := to + ".new"
	out, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(mode), out.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, to)
}
