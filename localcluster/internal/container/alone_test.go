package container

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const lister = `package main

import (
	"fmt"
	"os"
)

func main() {
	entries, err := os.ReadDir("/")
	for _, e := range entries {
		fmt.Print(e.Name(), " ")
	}
	fmt.Println(os.Getuid(), err, os.WriteFile("/mine", nil, 0o600) == nil, os.WriteFile("/data/f", nil, 0o600))
}
`

// An image that stands alone sees its own files, the kernel's and what is mounted, and nothing of the host; its folder stays as it is.
func TestContainerThatStandsAlone(t *testing.T) {
	r := newRuntime(t)
	src, layer, data := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(src, "main.go"), []byte(lister), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(layer, "list"), "main.go")
	build.Dir, build.Env = src, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, dir := range []string{layer, data} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, readOnly := range []bool{false, true} {
		var out output
		s := Spec{ID: "alone", Layer: layer, Alone: true, Args: []string{"/list"}, UID: 65532, GID: 65532, ReadOnlyRoot: readOnly,
			Mounts: []Mount{{Source: data, Destination: "/data"}}, Stdout: &out, Stderr: &out}
		if exit := runToEnd(t, r, s); exit.Code != 0 {
			t.Errorf("exit %+v", exit)
		}
		want := map[bool]string{false: "true", true: "false"}[readOnly]
		if got := strings.TrimSpace(out.String()); got != "data dev list proc sys 65532 <nil> "+want+" <nil>" {
			t.Errorf("read-only %v: %s", readOnly, got)
		}
	}
	if left, err := os.ReadDir(layer); err != nil || len(left) != 1 {
		t.Errorf("the image's folder has now %v, %v", left, err)
	}
}
