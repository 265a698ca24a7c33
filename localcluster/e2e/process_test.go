//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// process is one line of the host's process table.
type process struct {
	pid     int
	cmdline string // arguments, joined by blanks
	environ string
}

func processes() []process {
	var all []process
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || len(cmdline) == 0 {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		all = append(all, process{pid, string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})), string(environ)})
	}
	return all
}

// find returns the processes of an application whose command line contains all the given words.
func find(appID string, words ...string) []process {
	var found []process
	for _, p := range processes() {
		ok := strings.Contains(p.environ, appID) || strings.Contains(p.cmdline, appID)
		for _, w := range words {
			ok = ok && strings.Contains(p.cmdline, w)
		}
		if ok {
			found = append(found, p)
		}
	}
	return found
}

// theOne returns the single process that matches.
func theOne(t *testing.T, appID string, words ...string) process {
	t.Helper()
	found := find(appID, words...)
	if len(found) != 1 {
		t.Fatalf("%d processes of %s match %q, expected one: %v", len(found), appID, words, found)
	}
	return found[0]
}

func (p process) kill(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill -9 %d (%s): %v", p.pid, p.cmdline, err)
	}
}
