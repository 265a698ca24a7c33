package rows

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

const (
	dependencySuite = "DepsTestsSuite"
	bucket          = "spark"
)

// s3Row makes a row one with an S3 server: local dependencies are uploaded to it and fetched in the pods. hadoop-aws lies in a
// folder that the pods mount; Spark's own suite lets Ivy fetch it in each pod.
func s3Row(r trial.Row, prepare func(t *trial.Trial, store *s3mem.Backend) error) trial.Row {
	const at = "/opt/s3"
	r.Note = "A Go S3 server; hadoop-aws is mounted instead of fetched by Ivy in each pod."
	r.Prepare = func(t *trial.Trial) error {
		folder, err := t.S3Libraries()
		if err != nil {
			return err
		}
		store := s3mem.New()
		if err := store.CreateBucket(bucket); err != nil {
			return err
		}
		url, err := serve(t, gofakes3.New(store).Server())
		if err != nil {
			return err
		}
		maps.Copy(t.Conf, map[string]string{
			"spark.kubernetes.file.upload.path":          "s3a://" + bucket,
			"spark.hadoop.fs.s3a.impl":                   "org.apache.hadoop.fs.s3a.S3AFileSystem",
			"spark.hadoop.fs.s3a.endpoint":               strings.TrimPrefix(url, "http://"),
			"spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
			"spark.hadoop.fs.s3a.path.style.access":      "true",
			"spark.hadoop.fs.s3a.access.key":             "suite",
			"spark.hadoop.fs.s3a.secret.key":             "suitestorage",
			"spark.driver.extraClassPath":                at + "/*",
			"spark.executor.extraClassPath":              at + "/*",
		})
		for _, role := range []string{"driver", "executor"} {
			maps.Copy(t.Conf, volume(role, "hostPath", "s3", map[string]string{"mount.path": at, "options.path": folder, "mount.readOnly": "true"}))
		}
		t.Env["SPARK_DIST_CLASSPATH"] = folder + "/*" // stock spark-submit uploads by hadoop-aws too
		return prepare(t, store)
	}
	return r
}

func dependencies() []trial.Row {
	return append(jarDependencies(), pythonDependencies()...)
}

// jarDependencies upload the suite's own jar too.
func jarDependencies() []trial.Row {
	local := func(number int, name string) trial.Row {
		r := pi(number, dependencySuite, name)
		r.Class = "FileCheck"
		return r
	}
	const file = "local.txt"
	write := func(t *trial.Trial) (string, error) {
		t.Program = t.SuiteFile("suite.jar")
		path := filepath.Join(t.Dir, file)
		return path, os.WriteFile(path, []byte("test deps\n"), 0o644)
	}
	jar := local(35, "Launcher client dependencies")
	jar.DriverLog, jar.Args = []string{"Executors have " + file + ": true"}, []string{file}
	jar = s3Row(jar, func(t *trial.Trial, _ *s3mem.Backend) error {
		path, err := write(t)
		t.Conf["spark.files"] = path
		return err
	})

	remote := pi(36, dependencySuite, "SPARK-40817: Check that remote files do not get discarded in spark.files")
	remote.Conf = map[string]string{"spark.kubernetes.executor.deleteOnTermination": "false"}
	remote.ExecutorLog = []string{"Fetching ", file, "remote.txt"}
	remote = s3Row(remote, func(t *trial.Trial, store *s3mem.Backend) error {
		const key = "some-path/remote.txt"
		text := []byte("Some Content\n")
		meta := map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)} // Hadoop's S3A wants one
		if _, err := store.PutObject(bucket, key, meta, bytes.NewReader(text), int64(len(text)), nil); err != nil {
			return err
		}
		path, err := write(t)
		t.Conf["spark.files"] = path + ",s3a://" + bucket + "/" + key
		return err
	})

	archive := local(37, "SPARK-33615: Launcher client archives")
	archive.DriverLog, archive.Args = []string{"Executors have unpacked/" + file + ": true"}, []string{"unpacked/" + file}
	archive = s3Row(archive, func(t *trial.Trial, _ *s3mem.Backend) error {
		t.Program = t.SuiteFile("suite.jar")
		path, err := tarGz(t, "archive.tar.gz", file, "test deps\n", 0o644)
		t.Conf["spark.archives"] = path + "#unpacked"
		return err
	})
	return []trial.Row{jar, remote, archive}
}

// wrapper is a Python that tells that it was taken.
const wrapper = "#!/usr/bin/env bash\nexport SUITE_WRAPPER=1\nexec python3 \"$@\"\n"

func pythonDependencies() []trial.Row {
	const own = "./env/python-of-the-archive"
	choice := func(number int, name string, set func(t *trial.Trial)) trial.Row {
		r := pyRow(number, dependencySuite, name, "", "python3")
		return s3Row(r, func(t *trial.Trial, _ *s3mem.Backend) error {
			t.Program = t.SuiteFile("python_choice.py")
			path, err := tarGz(t, "env.tgz", filepath.Base(own), wrapper, 0o755)
			t.Conf["spark.archives"] = path + "#env"
			set(t)
			return err
		})
	}
	variable := choice(38, "SPARK-33748: Launcher python client respecting PYSPARK_PYTHON", func(t *trial.Trial) { t.Env["PYSPARK_PYTHON"] = own })
	variable.DriverLog = []string{"PYSPARK_PYTHON is " + own, "PYSPARK_DRIVER_PYTHON is " + own,
		"Executor runs the archive's Python: True", "Driver runs the archive's Python: True"}
	settings := choice(39, "SPARK-33748: Launcher python client respecting spark.pyspark.python and spark.pyspark.driver.python", func(t *trial.Trial) {
		t.Conf["spark.pyspark.python"], t.Conf["spark.pyspark.driver.python"] = own, "python3"
	})
	settings.DriverLog = []string{"PYSPARK_PYTHON is " + own, "PYSPARK_DRIVER_PYTHON is python3",
		"Executor runs the archive's Python: True", "Driver runs the archive's Python: False"}

	zipped := pyRow(40, dependencySuite, "Launcher python client dependencies using a zip file", "", "python3")
	zipped.DriverLog = pyfilesSay
	zipped = s3Row(zipped, func(t *trial.Trial, _ *s3mem.Backend) error {
		t.Program = t.SuiteFile("pyfiles.py")
		path, err := zipFile(t, "facts.zip", t.SuiteFile("python_facts.py"))
		t.Options = append(t.Options, "--py-files", path)
		return err
	})
	return []trial.Row{variable, settings, zipped}
}

// tarGz writes an archive with one file.
func tarGz(t *trial.Trial, name, entry, text string, mode int64) (string, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: entry, Mode: mode, Size: int64(len(text))}); err != nil {
		return "", err
	}
	if _, err := w.Write([]byte(text)); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	path := filepath.Join(t.Dir, name)
	return path, os.WriteFile(path, b.Bytes(), 0o644)
}

// zipFile writes an archive with a copy of one file.
func zipFile(t *trial.Trial, name, file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(filepath.Base(file))
	if err != nil {
		return "", err
	}
	if _, err := w.Write(text); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	path := filepath.Join(t.Dir, name)
	return path, os.WriteFile(path, b.Bytes(), 0o644)
}
