package submit

import (
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kubespark/kubespark/conf"
)

// Env is everything a plan depends on beside its arguments. The zero value of each field has a use.
type Env struct {
	Lookup func(string) (string, bool) // environment; nil: empty
	Files  Files                       // nil: no files at all
	// Storage makes what reaches other file systems for a configuration; nil: shared mounts, S3, Google Cloud Storage, Azure
	// and HDFS, by the spark.hadoop.* properties of their connectors.
	Storage func(*conf.Conf) Storage
	// HTTP reads manifests of jars and pod templates with http and https URIs; nil: a client with a time limit.
	HTTP     *http.Client
	Now      func() time.Time // nil: time.Now
	Random   io.Reader        // nil: crypto/rand
	UserName string           // of the process; SPARK_USER and the like win
}

func (e Env) withDefaults() Env {
	if e.Lookup == nil {
		e.Lookup = func(string) (string, bool) { return "", false }
	}
	if e.Files == nil {
		e.Files = OSFiles{}
	}
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.Random == nil {
		e.Random = rand.Reader
	}
	return e
}

func (e Env) get(name string) string {
	v, _ := e.Lookup(name)
	return v
}

// Files is the submitter's file system as a plan sees it. Paths are as the user wrote them.
type Files interface {
	// ReadFile returns the bytes of a regular file.
	ReadFile(path string) ([]byte, error)
	// Stat follows links.
	Stat(path string) (os.FileInfo, error)
	// Abs returns the absolute form of a path, links and dots resolved as far as the path exists.
	Abs(path string) string
	// Glob returns the paths that a pattern of filepath.Match matches, sorted.
	Glob(pattern string) ([]string, error)
	// Regular returns the names of the regular files in a folder, links followed, sorted.
	Regular(dir string) ([]string, error)
}

// OSFiles is the operating system's file system; relative paths start at Dir, or at the working directory if it is empty.
type OSFiles struct{ Dir string }

func (f OSFiles) path(p string) string {
	if f.Dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(f.Dir, p)
}

// ReadFile reads a file.
func (f OSFiles) ReadFile(path string) ([]byte, error) { return os.ReadFile(f.path(path)) }

// Stat describes a file.
func (f OSFiles) Stat(path string) (os.FileInfo, error) { return os.Stat(f.path(path)) }

// Abs makes a path absolute. A path that does not exist keeps the part that cannot be resolved.
func (f OSFiles) Abs(path string) string {
	abs, err := filepath.Abs(f.path(path))
	if err != nil {
		return path
	}
	rest := ""
	for dir := abs; ; {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return abs
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = parent
	}
}

// Glob finds files by pattern.
func (f OSFiles) Glob(pattern string) ([]string, error) { return filepath.Glob(f.path(pattern)) }

// Regular lists the regular files of a folder.
func (f OSFiles) Regular(dir string) ([]string, error) {
	entries, err := os.ReadDir(f.path(dir))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(f.path(dir), e.Name())); err == nil && info.Mode().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Notice is a line for the log that a plan leaves to its caller.
type Notice struct {
	Level  slog.Level
	Logger string // short name of the class that logs it in Spark
	Text   string
}

type notices []Notice

func (n *notices) warn(logger, text string) {
	*n = append(*n, Notice{slog.LevelWarn, logger, text})
}

func (n *notices) info(logger, text string) {
	*n = append(*n, Notice{slog.LevelInfo, logger, text})
}
