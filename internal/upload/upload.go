// Package upload copies files to the file systems that Spark users name with Hadoop's URLs: shared mounts, S3, Google Cloud
// Storage, Azure and HDFS. Package submit plans which local dependency goes where; this package is the hand that carries
// it, removes it again when the submission fails, and lists remote folders for patterns. Each store is one file here,
// configured from the Hadoop properties that users have already. Nothing is opened before its first use.
package upload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
)

// Location is a Hadoop path taken apart. Like Hadoop it reads text as it is: nothing is percent-decoded, and slashes that
// repeat count as one.
type Location struct {
	Scheme    string // "" is this machine's file system
	Authority string // bucket, container@account or name service
	Path      string // begins with a slash
}

// Parse takes a URL apart. It fails for a relative path.
func Parse(url string) (Location, error) {
	var l Location
	rest := url
	if scheme, after, ok := strings.Cut(url, ":"); ok && !strings.Contains(scheme, "/") {
		l.Scheme, rest = scheme, after
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		slash := strings.IndexByte(after, '/')
		if slash < 0 {
			slash = len(after)
		}
		l.Authority, rest = after[:slash], after[slash:]
		if rest == "" {
			rest = "/"
		}
	}
	if !strings.HasPrefix(rest, "/") {
		return l, fmt.Errorf("%s is no absolute path", url)
	}
	var parts []string
	for p := range strings.SplitSeq(rest, "/") {
		if p != "" {
			parts = append(parts, p)
		}
	}
	l.Path = "/" + strings.Join(parts, "/")
	return l, nil
}

// String is the URL.
func (l Location) String() string {
	switch {
	case l.Scheme == "":
		return l.Path
	case l.Authority == "" && l.Scheme == "file":
		return "file:" + l.Path
	}
	return l.Scheme + "://" + l.Authority + l.Path
}

// key is the name of an object in a store without folders.
func (l Location) key() string { return strings.TrimPrefix(l.Path, "/") }

// with is the same store at another path.
func (l Location) with(path string) Location { return Location{l.Scheme, l.Authority, path} }

// entry is one name in a folder.
type entry struct {
	name   string
	folder bool
}

// store is one file system of one authority. It is safe for concurrent use.
type store interface {
	// put writes a file and the folders above it, over one that is there; wrote is told of each step, and of steps that
	// have to be done again with a negative number.
	put(ctx context.Context, at Location, src *os.File, size int64, wrote func(int64)) error
	// remove deletes a file that put wrote and the folder it lies in, which holds nothing else. What is not there is gone.
	remove(ctx context.Context, at Location) error
	// list returns what lies in a folder, in no order; nothing for a folder that does not exist.
	list(ctx context.Context, at Location) ([]entry, error)
	close() error
}

// opener makes a store; nothing is sent.
type opener func(ctx context.Context, h *hadoopConf, at Location) (store, error)

func openers() map[string]opener {
	return map[string]opener{
		"": openFile, "file": openFile, "hdfs": openHDFS, "gs": openGS,
		"s3a": openS3, "s3": openS3, "s3n": openS3,
		"abfs": openAzure, "abfss": openAzure, "wasb": openAzure, "wasbs": openAzure,
	}
}

// Schemes lists the schemes that Stores can reach, sorted, without the empty one.
func Schemes() []string {
	all := slices.Sorted(maps.Keys(openers()))
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// Options is what stores are configured from.
type Options struct {
	// Props are Hadoop properties without Spark's prefix. They win over core-site.xml and hdfs-site.xml of HADOOP_CONF_DIR.
	Props map[string]string
	// Env is the environment; nil: empty.
	Env func(string) (string, bool)
	// ReadFile reads a configuration or key file; nil: os.ReadFile.
	ReadFile func(string) ([]byte, error)
	// User is who HDFS takes the caller for.
	User string
}

// Stores opens file systems when they are first used. It is safe for concurrent use.
type Stores struct {
	conf *hadoopConf
	mu   sync.Mutex
	open map[string]store
}

// New makes Stores. Nothing is read or sent.
func New(o Options) *Stores {
	return &Stores{conf: newHadoopConf(o), open: map[string]store{}}
}

// Supported says whether URLs of a scheme can be reached.
func (s *Stores) Supported(scheme string) bool { return openers()[scheme] != nil }

// store returns the open store of a URL.
func (s *Stores) store(ctx context.Context, url string) (store, Location, error) {
	at, err := Parse(url)
	if err != nil {
		return nil, at, err
	}
	open := openers()[at.Scheme]
	if open == nil {
		return nil, at, fmt.Errorf("scheme '%s' is not supported", at.Scheme)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := at.Scheme + "://" + at.Authority
	if st := s.open[name]; st != nil {
		return st, at, nil
	}
	if err := s.conf.load(); err != nil {
		return nil, at, err
	}
	st, err := open(ctx, s.conf, at)
	if err != nil {
		return nil, at, err
	}
	s.open[name] = st
	return st, at, nil
}

// Put copies size bytes of src to url, over a file that is there. wrote is told how many bytes have gone since its last
// call, a negative number when some have to go again; it may be called from several goroutines.
func (s *Stores) Put(ctx context.Context, url string, src *os.File, size int64, wrote func(int64)) error {
	st, at, err := s.store(ctx, url)
	if err != nil {
		return err
	}
	return plain(ctx, st.put(ctx, at, src, size, wrote))
}

// Remove deletes a file that Put wrote, together with the folder that was made for it alone.
func (s *Stores) Remove(ctx context.Context, url string) error {
	st, at, err := s.store(ctx, url)
	if err != nil {
		return err
	}
	return plain(ctx, st.remove(ctx, at))
}

// Glob returns the URLs of the files, not folders, that a pattern of Hadoop matches, sorted.
func (s *Stores) Glob(ctx context.Context, pattern string) ([]string, error) {
	st, at, err := s.store(ctx, pattern)
	if err != nil {
		return nil, err
	}
	found, err := glob(ctx, st, at)
	return found, plain(ctx, err)
}

// Close ends all connections. The Stores can be used again.
func (s *Stores) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for name, st := range s.open {
		errs = append(errs, st.close())
		delete(s.open, name)
	}
	return errors.Join(errs...)
}

// folder is the path above a file.
func (l Location) folder() Location { return l.with(path.Dir(l.Path)) }
