package image

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		"spark": "spark:latest", "docker.io/library/busybox": "busybox:latest", "docker.io/kubespark/spark:4.2.0": "kubespark/spark:4.2.0",
		"local:5000/x": "local:5000/x:latest", "x@sha256:00": "x@sha256:00",
	} {
		if got := Normalize(in); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestStoreKeepsManifests(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "images")}
	if m, err := s.Get("kubespark/host"); err != nil || m.Name != Host {
		t.Errorf("host image: %v, %v", m, err)
	}
	want := Manifest{Name: "kubespark/spark:4.2.0", Binds: []Bind{{"/a", "/b"}}, Env: []string{"X=1"}, UID: 185, Entrypoint: []string{"/e"}}
	if err := s.Add(want); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get("docker.io/kubespark/spark:4.2.0")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	_, err = s.Get("apache/spark:4.2.0")
	if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "kubespark/host:latest, kubespark/spark:4.2.0") {
		t.Errorf("unknown image: %v", err)
	}
	if err := s.Add(Manifest{Name: "x", Binds: []Bind{{"rel", "/b"}}}); err == nil {
		t.Error("a relative bind was accepted")
	}
	for _, e := range []string{"X", "=1"} {
		if err := s.Add(Manifest{Name: "x", Env: []string{e}}); err == nil || !strings.Contains(err.Error(), "NAME=VALUE") {
			t.Errorf("environment %q: %v", e, err)
		}
	}
}

func TestMergePasswd(t *testing.T) {
	got := mergePasswd("root:x:0:0:root:/root:/bin/bash\nother:x:185:185::/:/bin/false\n", "spark", 185, 0, "/opt/spark/work-dir")
	want := "root:x:0:0:root:/root:/bin/bash\nspark:x:185:0::/opt/spark/work-dir:/bin/sh\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := mergeGroup("root:x:0:\nspark:x:99:a\n", "spark", 185); got != "root:x:0:\nspark:x:185:\n" {
		t.Errorf("group %q", got)
	}
}

func TestBuildSpark(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("the image's files belong to other users: run as root")
	}
	home, kube, java := t.TempDir(), t.TempDir(), t.TempDir()
	for _, d := range []string{"jars", "bin", "conf", "python"} {
		if err := os.Mkdir(filepath.Join(home, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"kubespark.jar", "kubespark-manager"} {
		if err := os.WriteFile(filepath.Join(kube, f), []byte("#!/bin/sh\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := Store{Dir: t.TempDir()}
	m, err := BuildSpark(s, SparkOptions{
		Name: "kubespark/spark:4.2.0", SparkHome: home, Kubespark: kube, Entrypoint: []byte("#!/bin/sh\n"), JavaHome: java, Python: "/usr/bin/python3",
		Env: []string{"A=1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(m.Env, "A=1") || !slices.Contains(m.Env, "SPARK_HOME=/opt/spark") {
		t.Errorf("environment %v", m.Env)
	}
	var dest []string
	for _, b := range m.Binds {
		dest = append(dest, b.Destination)
	}
	want := []string{"/opt/java", "/opt/spark/bin", "/opt/spark/jars", "/opt/spark/python", "/opt/kubespark/kubespark.jar", "/opt/kubespark/kubespark-manager"}
	if d := cmp.Diff(want, dest); d != "" {
		t.Error(d)
	}
	for path, mode := range map[string]os.FileMode{"opt/entrypoint.sh": 0o755, "opt/class-data.sh": 0o755, "opt/spark/work-dir": os.ModeDir | 0o775, "etc/passwd": 0o644, "opt/spark/RELEASE": 0o644} {
		st, err := os.Stat(filepath.Join(m.Layer, path))
		if err != nil || st.Mode() != mode {
			t.Errorf("%s: %v, %v; want %v", path, st, err, mode)
		}
	}
	if at, err := os.Readlink(filepath.Join(m.Layer, "opt/python")); err != nil || at != "/usr" {
		t.Errorf("python of the host: %q, %v", at, err)
	}
	if _, err := BuildSpark(s, SparkOptions{Name: "x", SparkHome: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "SPARK_HOME") {
		t.Errorf("no distribution: %v", err)
	}
}

func TestPrivatePythonIsPassable(t *testing.T) {
	layer := t.TempDir()
	if err := os.Mkdir(filepath.Join(layer, "opt"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := linkPython(layer, "/srv/private/versions/3"); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(filepath.Join(layer, "srv/private/versions")); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("folder above: %v, %v", st, err)
	}
	if at, err := os.Readlink(filepath.Join(layer, "opt/python")); err != nil || at != "/srv/private/versions/3" {
		t.Errorf("link: %q, %v", at, err)
	}
}
