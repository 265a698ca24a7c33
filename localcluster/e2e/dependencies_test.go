//go:build e2e

package e2e

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"
)

// withUploads lets the application's local files go to a folder that the pods share with this machine.
func (j *job) withUploads() (shared string) {
	shared = filepath.Join(j.signals, "uploads")
	if err := os.Mkdir(shared, 0o777); err != nil {
		j.t.Fatal(err)
	}
	for _, role := range []string{"driver", "executor"} {
		volume := "spark.kubernetes." + role + ".volumes.hostPath.uploads."
		j.with(volume+"mount.path="+shared, volume+"options.path="+shared)
	}
	j.with("spark.kubernetes.file.upload.path=file://" + shared)
	return shared
}

// write makes a file with its folders.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// pack makes a zip file, a jar for instance, of the files below a folder.
func pack(t *testing.T, file, dir string) string {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	for _, err := range []error{w.AddFS(os.DirFS(dir)), w.Close(), f.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// A Python program of this machine with --py-files, --files and --archives: driver and executors read each of them.
func TestPythonDependencies(t *testing.T) {
	j, dir := newJob(t), t.TempDir()
	shared := j.withUploads()
	main := write(t, filepath.Join(dir, "deps.py"), readFile(t, "testdata/deps.py"))
	helper := write(t, filepath.Join(dir, "helper.py"), "NAME = 'module'\n")
	write(t, filepath.Join(dir, "zipped/packed/__init__.py"), "")
	write(t, filepath.Join(dir, "zipped/packed/inner.py"), "NAME = 'package'\n")
	data := write(t, filepath.Join(dir, "data.txt"), "file")
	write(t, filepath.Join(dir, "archived/deep/file.txt"), "archive")
	j.submit("--py-files", helper+","+pack(t, filepath.Join(dir, "packed.zip"), filepath.Join(dir, "zipped")), "--files", data,
		"--archives", pack(t, filepath.Join(dir, "archive.zip"), filepath.Join(dir, "archived"))+"#unpacked", main)
	j.exits(0)
	const all = "module,package,file,archive"
	j.logs("driver read " + all).logs("executors read ['" + all + "']")
	if uploaded, err := filepath.Glob(filepath.Join(shared, "spark-upload-*", "*")); err != nil || len(uploaded) != 5 {
		t.Errorf("uploaded: %v, %v", uploaded, err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
