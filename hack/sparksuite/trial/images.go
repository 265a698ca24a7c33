package trial

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// shortLived spares JVMs that live for seconds the second compiler, which they never get anything back from.
const shortLived = "JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1"

// images makes both images of a Spark version: the distribution and the suite's programs, with kubespark and without. The
// second holds nothing of kubespark, so that the stock manager is stock.
func (c *Cluster) images(ctx context.Context, version string) error {
	home, err := c.distribution(version)
	if err != nil {
		return err
	}
	kubespark := []string{"--kubespark", c.Bin, fmt.Sprintf("--class-data=%t", c.ClassData)}
	for manager, with := range map[string][]string{Kubespark: kubespark, Stock: {"--kubespark", "none"}} {
		args := append([]string{"image", "build-spark", "--spark-home", home, "--env", shortLived}, with...)
		if err := c.cluster(ctx, append(args, imageOf(version, manager))...); err != nil {
			return err
		}
	}
	return nil
}

// distribution is a folder with the distribution's children and one more, suite, which appears at /opt/spark/suite.
func (c *Cluster) distribution(version string) (string, error) {
	home := filepath.Join(c.Work, "spark-"+version)
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", err
	}
	children, err := os.ReadDir(c.Homes[version])
	if err != nil {
		return "", err
	}
	for _, child := range children {
		if err := os.Symlink(filepath.Join(c.Homes[version], child.Name()), filepath.Join(home, child.Name())); err != nil {
			return "", err
		}
	}
	return home, c.programs(version, filepath.Join(home, "suite"))
}

// programs compiles the Java programs against the version's own jars and copies the Python ones.
func (c *Cluster) programs(version, to string) error {
	from := filepath.Join(c.Root, "hack", "sparksuite", "programs")
	classes := filepath.Join(c.Work, "classes-"+version)
	sources, err := filepath.Glob(filepath.Join(from, "java", "*.java"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	args := []string{"--release", "17", "-nowarn", "-cp", filepath.Join(c.Homes[version], "jars", "*"), "-d", classes}
	if err := command(exec.Command("javac", append(args, sources...)...)); err != nil {
		return err
	}
	if err := command(exec.Command("jar", "--create", "--file", filepath.Join(to, "suite.jar"), "-C", classes, ".")); err != nil {
		return err
	}
	return copyFiles(filepath.Join(from, "python"), to)
}

func copyFiles(from, to string) error {
	return fs.WalkDir(os.DirFS(from), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(from, path))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, path), text, 0o644)
	})
}

// SuiteFile is a program of the suite on this machine, for rows that upload it.
func (t *Trial) SuiteFile(name string) string {
	return filepath.Join(t.Work, "spark-"+t.Spark, "suite", name)
}

// JarsOf lists the jars of the Spark distribution whose names begin so.
func (c *Cluster) JarsOf(version, prefix string) ([]string, error) {
	all, err := os.ReadDir(filepath.Join(c.Homes[version], "jars"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range all {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the distribution of Spark %s has no jar %s*", version, prefix)
	}
	return names, nil
}
