package image

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/kubespark/kubespark/localcluster/internal/userns"
)

// SparkOptions says what a Spark image is made of. All paths are absolute paths of the host.
type SparkOptions struct {
	// Name is the image's name, such as kubespark/spark:4.2.0.
	Name string
	// SparkHome is an unpacked Spark distribution with jars/ in it.
	SparkHome string
	// Kubespark is the folder with kubespark.jar and kubespark-manager; empty makes an image without them.
	Kubespark string
	// Entrypoint, Decommission and ClassData are the texts of the scripts /opt/entrypoint.sh, /opt/decom.sh and ClassDataScript.
	Entrypoint, Decommission, ClassData []byte
	// JavaHome is the JDK; empty finds the one that java on the PATH belongs to.
	JavaHome string
	// Python is the interpreter; empty finds python3 on the PATH.
	Python string
	// Env are more variables of the image's containers, NAME=VALUE each.
	Env []string
}

// ClassDataScript makes the image's class-data archives in ClassDataFolder.
const (
	ClassDataScript = "/opt/class-data.sh"
	ClassDataFolder = "/opt/class-data"
)

// notOfTheImage are children of SPARK_HOME that the container keeps for itself: configuration comes from the pod, the others are written to.
var notOfTheImage = map[string]bool{"conf": true, "work-dir": true, "logs": true, "work": true}

// BuildSpark makes (or makes anew) the image that driver and executor pods run: Spark at /opt/spark, kubespark at /opt/kubespark, the
// entry point, the user 185 of the official images, Python and a JDK where that user can reach them.
func BuildSpark(s Store, o SparkOptions) (Manifest, error) {
	fail := func(err error) (Manifest, error) { return Manifest{}, fmt.Errorf("image %s: %w", o.Name, err) }
	if _, err := os.Stat(filepath.Join(o.SparkHome, "jars")); err != nil {
		return fail(fmt.Errorf("%s is no Spark distribution (it has no jars folder): set SPARK_HOME to an unpacked one", o.SparkHome))
	}
	java, err := javaHome(o.JavaHome)
	if err != nil {
		return fail(err)
	}
	python, err := pythonPrefix(o.Python)
	if err != nil {
		return fail(err)
	}
	layer := filepath.Join(s.Folder(o.Name), "layer")
	if err := errors.Join(buildLayer(layer, o), linkPython(layer, python)); err != nil {
		return fail(err)
	}
	m := Manifest{
		Name: o.Name, Layer: layer, UID: sparkUID, GID: sparkGID, Entrypoint: []string{"/opt/entrypoint.sh"}, WorkingDir: "/opt/spark/work-dir",
		Env: append([]string{
			"PATH=/opt/python/bin:/opt/java/bin:" + defaultPath, "SPARK_HOME=/opt/spark", "JAVA_HOME=/opt/java", "LANG=C.UTF-8",
		}, o.Env...),
		Binds: []Bind{{java, "/opt/java"}},
	}
	if !ofTheHost(python) {
		m.Binds = append(m.Binds, Bind{python, python})
	}
	binds, err := sparkBinds(o)
	if err != nil {
		return fail(err)
	}
	m.Binds = append(m.Binds, binds...)
	if err := s.Add(m); err != nil {
		return Manifest{}, err
	}
	return m, nil
}

// WithCompiledPython has the zip files that ClassDataScript has put bytecode into take the place of the distribution's.
func WithCompiledPython(m Manifest) Manifest {
	made, _ := filepath.Glob(filepath.Join(m.Layer, ClassDataFolder, "python", "*.zip")) // the pattern is a good one
	for _, file := range made {
		m.Binds = append(m.Binds, Bind{file, "/opt/spark/python/lib/" + filepath.Base(file)})
	}
	return m
}

// sparkBinds binds the children of SPARK_HOME one by one, so that /opt/spark itself is the container's own folder and can hold what is
// written beside them.
func sparkBinds(o SparkOptions) ([]Bind, error) {
	children, err := os.ReadDir(o.SparkHome)
	if err != nil {
		return nil, err
	}
	var out []Bind
	for _, c := range children {
		if notOfTheImage[c.Name()] || strings.HasPrefix(c.Name(), ".") {
			continue
		}
		src, err := filepath.EvalSymlinks(filepath.Join(o.SparkHome, c.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, Bind{src, "/opt/spark/" + c.Name()})
	}
	if o.Kubespark != "" {
		for _, name := range []string{"kubespark.jar", "kubespark-manager"} {
			if _, err := os.Stat(filepath.Join(o.Kubespark, name)); err != nil {
				return nil, fmt.Errorf("%w: build kubespark first", err)
			}
			out = append(out, Bind{filepath.Join(o.Kubespark, name), "/opt/kubespark/" + name})
		}
	}
	return out, nil
}

// buildLayer writes the image's own files.
func buildLayer(dir string, o SparkOptions) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for _, d := range []string{"etc", "opt/spark/work-dir", "opt/kubespark", ClassDataFolder} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	work := filepath.Join(dir, "opt/spark/work-dir")
	if err := userns.Lchown(work, sparkUID, sparkGID); err != nil {
		return err
	}
	if err := os.Chmod(work, 0o775); err != nil {
		return err
	}
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return err
	}
	group, err := os.ReadFile("/etc/group")
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		// Spark's own image has this file empty: by it the launcher knows a distribution, and run-example the jars of one.
		"opt/spark/RELEASE": "",
		"etc/passwd":        mergePasswd(string(passwd), sparkUser, sparkUID, sparkGID, "/opt/spark/work-dir"),
		"etc/group":         mergeGroup(string(group), sparkUser, sparkUID),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return errors.Join(
		writeScript(filepath.Join(dir, "opt/entrypoint.sh"), o.Entrypoint),
		writeScript(filepath.Join(dir, "opt/decom.sh"), o.Decommission),
		writeScript(filepath.Join(dir, ClassDataScript), o.ClassData),
	)
}

// writeScript makes a program that everyone may run, whatever this process's umask says.
func writeScript(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o755); err != nil {
		return err
	}
	return os.Chmod(path, 0o755)
}

// linkPython makes /opt/python. Python itself stays at the path that it was built for, because its libraries are found by it; the
// folders above are made passable for every user.
func linkPython(layer, prefix string) error {
	if !ofTheHost(prefix) {
		if err := os.MkdirAll(filepath.Join(layer, filepath.Dir(prefix)), 0o755); err != nil {
			return err
		}
	}
	return os.Symlink(prefix, filepath.Join(layer, "opt/python"))
}

// ofTheHost says whether a path is part of every container, as the host's own programs are.
func ofTheHost(path string) bool {
	return path == "/usr" || strings.HasPrefix(path, "/usr/")
}

func javaHome(given string) (string, error) {
	if given != "" {
		real, err := filepath.EvalSymlinks(given)
		if err != nil {
			return "", fmt.Errorf("JDK: %w", err)
		}
		return real, nil
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", errors.New("no java on the PATH: install a JDK 17 or later, or set JAVA_HOME")
	}
	real, err := filepath.EvalSymlinks(java)
	if err != nil {
		return "", fmt.Errorf("JDK: %w", err)
	}
	return filepath.Dir(filepath.Dir(real)), nil
}

// pythonPrefix asks the interpreter where it lives: a version manager's shim on the PATH is not the place, and the real one often
// lies in a home folder that only its owner can enter.
func pythonPrefix(given string) (string, error) {
	if given == "" {
		given = "python3"
	}
	out, err := exec.Command(given, "-c", "import sys; print(sys.base_prefix)").Output()
	if err != nil {
		return "", fmt.Errorf("python %s: %w: install Python 3, or name it", given, err)
	}
	prefix, err := filepath.EvalSymlinks(strings.TrimSpace(string(out)))
	if err != nil {
		return "", fmt.Errorf("python %s: %w", given, err)
	}
	if _, err := os.Stat(filepath.Join(prefix, "bin", "python3")); err != nil {
		return "", fmt.Errorf("python %s: its prefix %s has no bin/python3", given, prefix)
	}
	return prefix, nil
}
