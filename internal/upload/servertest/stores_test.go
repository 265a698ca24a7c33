package servertest

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/internal/upload"
)

// server is what a test knows of a running store beside the URL of a folder in it.
type server struct {
	base  string                            // URL of a folder that may not exist
	props map[string]string                 // Hadoop's, as users give them
	env   map[string]string                 // of the submitter
	read  func(path string) ([]byte, error) // by other means than ours; path without the bucket
	big   int64                             // more than goes in one request
}

func (s server) stores(t *testing.T) *upload.Stores {
	st := upload.New(upload.Options{Props: s.props, User: "analyst", Env: func(k string) (string, bool) { v, ok := s.env[k]; return v, ok }})
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func (s server) path(t *testing.T, url string) string {
	at, err := upload.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return at.Path
}

// S037, S038, S041: what every store must do.
func (s server) exercise(t *testing.T) {
	st := s.stores(t)
	ctx := t.Context()
	for name, size := range map[string]int64{
		"spark-upload-1/small.jar": 5, "spark-upload-2/empty.txt": 0, "spark-upload-3/big.zip": s.big,
		"spark-upload-4/a b%20ü+#.py": 7, "/spark-upload-5//twice.jar": 11,
	} {
		t.Run(name, func(t *testing.T) {
			url := s.base + "/" + name
			s.put(t, st, url, size+1) // is written over
			want := s.put(t, st, url, size)
			got, err := s.read(s.path(t, url))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("read %d bytes of %d, %v", len(got), size, err)
			}
		})
	}
	for pattern, want := range map[string][]string{
		s.base + "/*/*.jar":              {s.base + "/spark-upload-1/small.jar", s.base + "/spark-upload-5/twice.jar"},
		s.base + "/spark-upload-[2-3]/*": {s.base + "/spark-upload-2/empty.txt", s.base + "/spark-upload-3/big.zip"},
		s.base + "/spark-*":              {}, // folders
		s.base + "/none/*":               {},
	} {
		got, err := st.Glob(ctx, pattern)
		if diff := cmp.Diff(want, append([]string{}, got...)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", pattern, err, diff)
		}
	}
	for range 2 { // the second time there is nothing
		if err := st.Remove(ctx, s.base+"/spark-upload-1/small.jar"); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	if _, err := s.read(s.path(t, s.base+"/spark-upload-1/small.jar")); err == nil {
		t.Error("the file is there after its removal")
	}
	if got, err := st.Glob(ctx, s.base+"/spark-upload-1*/*"); err != nil || len(got) != 0 {
		t.Errorf("left: %q, %v", got, err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	f := file(t, 3)
	if err := st.Put(ended, s.base+"/spark-upload-6/x", f, 3, func(int64) {}); err == nil {
		t.Error("a put went on after its context had ended")
	}
}

func file(t *testing.T, size int64) *os.File {
	content := make([]byte, size)
	if _, err := rand.Read(content); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// put writes random bytes, and checks that progress ends at the size.
func (s server) put(t *testing.T, st *upload.Stores, url string, size int64) []byte {
	t.Helper()
	f := file(t, size)
	var sum atomic.Int64
	if err := st.Put(t.Context(), url, f, size, func(n int64) { sum.Add(n) }); err != nil {
		t.Fatal(err)
	}
	if sum.Load() != size {
		t.Errorf("%s: progress says %d bytes of %d", url, sum.Load(), size)
	}
	content, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// refuses tries a put that has to fail with the text.
func (s server) refuses(t *testing.T, url, want string) {
	t.Helper()
	err := s.stores(t).Put(t.Context(), url, file(t, 3), 3, func(int64) {})
	if err == nil || err.Error() != want {
		t.Errorf("%s: %v\nwant %s", url, err, want)
	}
}
