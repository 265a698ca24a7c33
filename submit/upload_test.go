package submit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/kubetest"
)

// fakeLister knows the patterns of its map on s3a and gs.
type fakeLister struct {
	local OSFiles
	found map[string][]string
}

func (f fakeLister) files() Files { return f.local }

func (f fakeLister) lists(scheme string) bool { return scheme == "s3a" || scheme == "gs" }

func (f fakeLister) remoteGlob(pattern string) ([]string, error) {
	if urls, ok := f.found[pattern]; ok {
		return urls, nil
	}
	return nil, errors.New("no such pattern")
}

// memory is a Storage for one scheme, mem; a file whose name is refused fails.
type memory struct {
	mu      sync.Mutex
	files   map[string]string
	refused string
	calls   []string
}

func (m *memory) Supported(scheme string) bool { return scheme == "mem" }

func (m *memory) Put(ctx context.Context, url string, src *os.File, size int64, wrote func(int64)) error {
	b := make([]byte, size)
	if _, err := src.ReadAt(b, 0); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, "put "+path.Base(url))
	m.files[url] = string(b[:len(b)/2]) // a failure leaves a part
	wrote(size / 2)
	if path.Base(url) == m.refused {
		return errors.New("the disk is full")
	}
	m.files[url] = string(b)
	wrote(-size / 2)
	wrote(size)
	return ctx.Err()
}

func (m *memory) Remove(_ context.Context, url string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, "remove "+path.Base(url))
	delete(m.files, url)
	return nil
}

func (m *memory) Glob(_ context.Context, pattern string) ([]string, error) {
	return []string{strings.ReplaceAll(pattern, "*", "found")}, nil
}

func (m *memory) Close() error { return nil }

// memoryPlan is a plan that uploads a.jar, b.txt and main.py to mem://store/up.
func memoryPlan(t *testing.T, m *memory, env Env) (Env, *Plan) {
	t.Helper()
	env.Random = nil
	env.Storage = func(*conf.Conf) Storage { return m }
	dir := env.Files.(OSFiles).Dir
	write(t, dir, map[string]string{"a.jar": "AAAA", "b.txt": "BB", "main.py": "MM"})
	a := piArgs(map[string]string{"spark.jars": "a.jar,mem://store/*.jar", "spark.files": "b.txt", "spark.kubernetes.file.upload.path": "mem://store/up"})
	a.PrimaryResource = "main.py"
	return env, mustPlan(t, a, env)
}

// S037, S040, S033: another file system than this machine's gets the files, and lists patterns.
func TestUploadToStorage(t *testing.T) {
	m := &memory{files: map[string]string{}}
	env, p := memoryPlan(t, m, testEnv(t, nil))
	api := startServer(t)
	c, log := newTestClient(t, api)
	var last UploadProgress
	WithUploadProgress(func(u UploadProgress) { last = u })(c)
	if err := c.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	jars := p.driver.Properties["spark.jars"]
	first, second, _ := strings.Cut(jars, ",")
	if second != "mem://store/found.jar" || m.files[first] != "AAAA" || m.files[p.driver.Properties["spark.files"]] != "BB" {
		t.Errorf("jars %s; stored %q", jars, m.files)
	}
	if want := (UploadProgress{Files: 3, FilesDone: 3, Bytes: 8, BytesDone: 8}); last != want {
		t.Errorf("progress %+v, want %+v", last, want)
	}
	log.has(t, "INFO Uploading file: "+env.Files.(OSFiles).Dir+"/a.jar to dest: "+first+"...")
}

// S041: nothing is left behind, wherever the submission fails.
func TestFailedSubmissionLeavesNoUpload(t *testing.T) {
	t.Run("an upload fails", func(t *testing.T) {
		m := &memory{files: map[string]string{}, refused: "b.txt"}
		env, p := memoryPlan(t, m, testEnv(t, nil))
		c, _ := newTestClient(t, startServer(t))
		err := c.Create(t.Context(), p)
		source := env.Files.(OSFiles).Dir + "/b.txt"
		want := fmt.Sprintf("Uploading file %[1]s failed... Error uploading file b.txt to %[2]s: the disk is full (spark.files: file:%[1]s; use local:// for a file inside the image)",
			source, p.driver.Properties["spark.files"])
		if errorText(err) != want || len(m.files) != 0 {
			t.Errorf("%v\nwant %s\nleft %q", err, want, m.files)
		}
	})
	t.Run("a file vanished after the plan", func(t *testing.T) {
		m := &memory{files: map[string]string{}}
		env, p := memoryPlan(t, m, testEnv(t, nil))
		if err := os.Remove(env.Files.(OSFiles).Dir + "/main.py"); err != nil {
			t.Fatal(err)
		}
		c, _ := newTestClient(t, startServer(t))
		err := c.Create(t.Context(), p)
		if err == nil || !strings.Contains(err.Error(), "main.py failed... Error uploading file main.py to mem://store/up/spark-upload-") || len(m.calls) != 0 {
			t.Errorf("%v; calls %q", err, m.calls)
		}
	})
	t.Run("the application cannot be created", func(t *testing.T) {
		m := &memory{files: map[string]string{}}
		_, p := memoryPlan(t, m, testEnv(t, nil))
		api := startServer(t)
		api.Fail(kubetest.Fault{Verb: "create", Resource: "configmaps", Status: 403, Reason: "Forbidden"})
		c, _ := newTestClient(t, api)
		if err := c.Create(t.Context(), p); err == nil || len(m.files) != 0 {
			t.Errorf("%v; left %q", err, m.files)
		}
		slices.Sort(m.calls)
		if diff := cmp.Diff([]string{"put a.jar", "put b.txt", "put main.py", "remove a.jar", "remove b.txt", "remove main.py"}, m.calls); diff != "" {
			t.Error(diff)
		}
	})
}

// The rights of an upload are told when they are not the proxy user's.
func TestUploadProxyUser(t *testing.T) {
	for to, warned := range map[string]bool{"s3a://b/up": true, "hdfs://nn/up": false} {
		env := testEnv(t, nil)
		write(t, env.Files.(OSFiles).Dir, map[string]string{"b.txt": "B"})
		a := piArgs(map[string]string{"spark.files": "b.txt", "spark.kubernetes.file.upload.path": to})
		a.ProxyUser = "anna"
		p := mustPlan(t, a, env)
		got := slices.ContainsFunc(p.Notices, func(n Notice) bool { return strings.Contains(n.Text, "not as --proxy-user anna") })
		if got != warned {
			t.Errorf("%s: warned %v", to, got)
		}
	}
}

func startServer(t *testing.T) *kubetest.Server {
	s := kubetest.New()
	s.Start(t)
	return s
}
