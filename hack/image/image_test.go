package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// programs is a bin folder; the files are small and their times are now.
func programs(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	for file, text := range map[string]string{
		"kubespark.jar": "jar", "LICENSE": "licence",
		"linux-amd64/kubespark-install": "install amd64", "linux-amd64/kubespark-manager": "manager amd64",
		"linux-arm64/kubespark-install": "install arm64", "linux-arm64/kubespark-manager": "manager arm64",
	} {
		path := filepath.Join(bin, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

func make1(t *testing.T, push string) (file string) {
	t.Helper()
	bin := programs(t)
	out := filepath.Join(t.TempDir(), "image.tar")
	if err := run(bin, filepath.Join(bin, "LICENSE"), "1.2.3", out, push); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) != 1 {
		t.Errorf("beside the image: %v, %v", left, err)
	}
	return out
}

// unpack reads the tar file back as an OCI layout, and the one index in it.
func unpack(t *testing.T, file string) v1.ImageIndex {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		path := filepath.Join(dir, h.Name)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := all.IndexManifest()
	if err != nil || len(m.Manifests) != 1 || m.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "kubespark:1.2.3" {
		t.Fatalf("index.json: %v, %v", m, err)
	}
	index, err := all.ImageIndex(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// check verifies digests, platforms, configuration and the files of each architecture.
func check(t *testing.T, index v1.ImageIndex) {
	t.Helper()
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	m, err := index.IndexManifest()
	if err != nil || len(m.Manifests) != 2 {
		t.Fatalf("%v, %v", m, err)
	}
	for i, arch := range architectures {
		if p := m.Manifests[i].Platform; p.OS != "linux" || p.Architecture != arch {
			t.Errorf("platform %v, expected %s", p, arch)
		}
		image, err := index.Image(m.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		c, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c.Architecture != arch || c.Config.User != user || strings.Join(c.Config.Entrypoint, " ") != "/kubespark-install" ||
			c.Config.Labels["org.opencontainers.image.version"] != "1.2.3" {
			t.Errorf("%s: %+v", arch, c)
		}
		files := contents(t, image)
		for file, want := range map[string]string{"LICENSE": "0644 licence", "kubespark.jar": "0644 jar",
			"kubespark-install": "0755 install " + arch, "kubespark-manager": "0755 manager " + arch} {
			if files[file] != want {
				t.Errorf("%s: %s is %q, expected %q", arch, file, files[file], want)
			}
			delete(files, file)
		}
		if len(files) > 0 {
			t.Errorf("%s: more files: %v", arch, files)
		}
	}
}

func contents(t *testing.T, image v1.Image) map[string]string {
	t.Helper()
	files := map[string]string{}
	r := mutate.Extract(image)
	defer r.Close()
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(tr)
		if err != nil || h.Uid != 0 || !h.ModTime.Equal(epoch) {
			t.Errorf("%+v, %v", h, err)
		}
		files[h.Name] = map[int64]string{0o644: "0644 ", 0o755: "0755 "}[h.Mode] + string(text)
	}
}

func TestImageReadsBack(t *testing.T) { check(t, unpack(t, make1(t, ""))) }

func TestSameInputGivesTheSameBytes(t *testing.T) {
	one, err1 := os.ReadFile(make1(t, ""))
	two, err2 := os.ReadFile(make1(t, ""))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, two) {
		t.Error("two builds differ")
	}
}

func TestPush(t *testing.T) {
	s := httptest.NewServer(registry.New())
	defer s.Close()
	repository := strings.TrimPrefix(s.URL, "http://") + "/my/kubespark"
	file := make1(t, repository+":1.2.3")
	ref, err := name.ParseReference(repository + ":1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	check(t, pulled)
	want, err1 := unpack(t, file).Digest()
	got, err2 := pulled.Digest()
	if err := errors.Join(err1, err2); err != nil || want != got {
		t.Errorf("pushed %s, pulled %s: %v", want, got, err)
	}
	// A node pulls by its own platform.
	image, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "arm64"}))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := image.RawConfigFile()
	var c v1.ConfigFile
	if err = errors.Join(err, json.Unmarshal(raw, &c)); err != nil || c.Architecture != "arm64" {
		t.Errorf("pulled %q: %v", c.Architecture, err)
	}
}

func TestWhatIsMissing(t *testing.T) {
	bin, out := programs(t), filepath.Join(t.TempDir(), "image.tar")
	if err := os.Remove(filepath.Join(bin, "linux-arm64/kubespark-install")); err != nil {
		t.Fatal(err)
	}
	for want, try := range map[string][]string{
		"linux-arm64/kubespark-install": {bin, filepath.Join(bin, "LICENSE"), "1", out, ""},
		"-version and -o":               {bin, "", "", out, ""},
	} {
		if err := run(try[0], try[1], try[2], try[3], try[4]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", try, err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
