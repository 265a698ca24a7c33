package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func layerOf(t *testing.T, headers ...tar.Header) v1.Layer {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range headers {
		text := []byte("")
		if h.Typeflag == tar.TypeReg {
			text = []byte("text of " + h.Name)
		}
		h.Size = int64(len(text))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// layoutOf writes a layout with an image of another platform first and one of this machine's behind it.
func layoutOf(t *testing.T, user, name string, layers ...v1.Layer) string {
	t.Helper()
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"s390x", runtime.GOARCH} {
		img, err := mutate.ConfigFile(mutate.MediaType(empty.Image, types.OCIManifestSchema1), &v1.ConfigFile{
			OS: "linux", Architecture: arch, Config: v1.Config{User: user, Entrypoint: []string{"/run-" + arch}, Env: []string{"A=1"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if img, err = mutate.AppendLayers(img, layers...); err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{
			MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	dir := filepath.Join(t.TempDir(), "layout")
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": name})); err != nil {
		t.Fatal(err)
	}
	return dir
}

func tarOf(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "image.tar")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(f)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLoad(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("the image's files belong to other users: run as root")
	}
	upper := layerOf(t, tar.Header{Name: "data/", Typeflag: tar.TypeDir, Mode: 0o1777, Uid: 7, Gid: 8},
		tar.Header{Name: "data/run", Typeflag: tar.TypeReg, Mode: 0o4755, Uid: 7},
		tar.Header{Name: "data/hard", Typeflag: tar.TypeLink, Linkname: "data/run"},
		tar.Header{Name: "data/soft", Typeflag: tar.TypeSymlink, Linkname: "/data/run"}, tar.Header{Name: ".wh.gone", Typeflag: tar.TypeReg})
	dir := layoutOf(t, "app", "my/app:1",
		layerOf(t, tar.Header{Name: "etc/passwd", Typeflag: tar.TypeReg, Mode: 0o644}, tar.Header{Name: "gone", Typeflag: tar.TypeReg, Mode: 0o644}),
		upper)
	s := Store{Dir: filepath.Join(t.TempDir(), "images")}
	if _, err := Load(s, dir, ""); err == nil || !strings.Contains(err.Error(), `its user "app" is not in its /etc/passwd`) {
		t.Fatalf("unknown user: %v", err)
	}
	dir = layoutOf(t, "7:8", "my/app:1", layerOf(t, tar.Header{Name: "gone", Typeflag: tar.TypeReg, Mode: 0o644}),
		upper)
	for _, path := range []string{dir, tarOf(t, dir), dir} { // again: what is there is taken
		m, err := Load(s, path, "")
		if err != nil {
			t.Fatal(err)
		}
		want := Manifest{Name: "my/app:1", Alone: true, Layer: m.Layer, Env: []string{"A=1"}, UID: 7, GID: 8, Entrypoint: []string{"/run-" + runtime.GOARCH}}
		if d := cmp.Diff(want, m); d != "" {
			t.Error(d)
		}
		checkTree(t, m.Layer)
		if root, err := s.Root("my/app:1"); err != nil || root != m.Layer {
			t.Errorf("root %q, %v", root, err)
		}
	}
	if m, err := Load(s, dir, "other"); err != nil || m.Name != "other:latest" {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := s.Root(Host); err == nil {
		t.Error("the host's image has a content of its own")
	}
	if all, err := s.List(); err != nil || len(all) != 3 {
		t.Errorf("%v, %v", all, err)
	}
}

func checkTree(t *testing.T, root string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(root, "gone")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that the upper layer removes: %v", err)
	}
	for name, mode := range map[string]fs.FileMode{
		".": fs.ModeDir | 0o755, "data": fs.ModeDir | fs.ModeSticky | 0o777, "data/run": fs.ModeSetuid | 0o755, "data/hard": fs.ModeSetuid | 0o755, "data/soft": fs.ModeSymlink | 0o777,
	} {
		if st, err := os.Lstat(filepath.Join(root, name)); err != nil || st.Mode() != mode {
			t.Errorf("%s: %v, %v; want %v", name, st, err, mode)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "images")}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("no archive ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	ok := layerOf(t, tar.Header{Name: "f", Typeflag: tar.TypeReg, Mode: 0o644})
	for want, path := range map[string]string{
		"no such file":                      filepath.Join(s.Dir, "none"),
		"not the tar file of an OCI layout": text,
		"it has no index.json":              t.TempDir(),
		"give it one with --name":           layoutOf(t, "", "", ok),
	} {
		if _, err := Load(s, path, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if left, err := os.ReadDir(s.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestUntarStaysInside(t *testing.T) {
	for _, h := range []tar.Header{
		{Name: "../out", Typeflag: tar.TypeReg}, {Name: "out", Typeflag: tar.TypeLink, Linkname: "../../etc/passwd"}, {Name: "link/f", Typeflag: tar.TypeReg},
		{Name: "null", Typeflag: tar.TypeChar},
	} {
		var buf bytes.Buffer
		w := tar.NewWriter(&buf)
		err1 := w.WriteHeader(&tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc"})
		if err := errors.Join(err1, w.WriteHeader(&h), w.Close()); err != nil {
			t.Fatal(err)
		}
		if err := untar(&buf, filepath.Join(t.TempDir(), "x"), true); err == nil || !strings.HasPrefix(err.Error(), h.Name+": ") {
			t.Errorf("%s: %v", h.Name, err)
		}
	}
}
