package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestInstall(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077)) // the modes do not depend on it
	from, to := t.TempDir(), t.TempDir()
	for _, f := range payload {
		if err := os.WriteFile(filepath.Join(from, f.name), []byte("text of "+f.name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(to, "kubespark.jar.new"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := install(from, to); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(to)
	if err != nil || len(left) != len(payload) {
		t.Errorf("%v, %v", left, err)
	}
	for _, f := range payload {
		path := filepath.Join(to, f.name)
		text, err := os.ReadFile(path)
		if err != nil || string(text) != "text of "+f.name {
			t.Errorf("%s: %q, %v", f.name, text, err)
		}
		if st, err := os.Stat(path); err != nil || st.Mode() != f.mode {
			t.Errorf("%s: %v, %v", f.name, st, err)
		}
	}
}

func TestInstallSaysWhatFailed(t *testing.T) {
	from := t.TempDir()
	if err := install(from, t.TempDir()); err == nil || !strings.Contains(err.Error(), "kubespark.jar") {
		t.Errorf("no payload: %v", err)
	}
	if err := os.WriteFile(filepath.Join(from, "kubespark.jar"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := install(from, filepath.Join(from, "none")); err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("no folder: %v", err)
	}
	if err := run(nil); err == nil {
		t.Error("no argument was accepted")
	}
}
