package process

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeProc writes a proc file system with the files given, and symbolic links where the text starts with "->".
func fakeProc(t *testing.T, files map[string]string) Table {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write := func() error { return os.WriteFile(path, []byte(text), 0o644) }
		if target, link := strings.CutPrefix(text, "->"); link {
			write = func() error { return os.Symlink(target, path) }
		}
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	return NewTable(root)
}

func statLine(name, state, start string) string {
	return "42 (" + name + ") " + state + " 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 " + start + " 0 0\n"
}

func TestAlive(t *testing.T) {
	for _, tc := range []struct {
		name, stat string
		want       bool
	}{
		{"the process recorded", statLine("etcd", "S", "7700"), true},
		{"a later process with the same number", statLine("vim", "R", "7701"), false},
		{"ended but not waited for", statLine("etcd", "Z", "7700"), false},
		{"its first thread ended, others run", strings.Replace(statLine("etcd", "Z", "7700"), " 20 0 1 0 ", " 20 0 3 0 ", 1), true},
		{"a name with spaces and parentheses", statLine("a) R 1 (b", "S", "7700"), true},
		{"a broken line", "42 (etcd", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := fakeProc(t, map[string]string{"42/stat": tc.stat})
			if got := table.Alive(ID{PID: 42, Start: 7700}); got != tc.want {
				t.Errorf("Alive = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestIdentify(t *testing.T) {
	table := fakeProc(t, map[string]string{
		"42/stat":                   statLine("kube-apiserver", "S", "7700"),
		"42/statm":                  "900 300 20 1 0 1 0\n",
		"sys/kernel/random/boot_id": "2a2e\n",
	})
	if got, err := table.Identify(42); err != nil || got != (ID{PID: 42, Start: 7700}) {
		t.Errorf("Identify = %v, %v", got, err)
	}
	if _, err := table.Identify(43); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Identify of no process: %v, want fs.ErrNotExist", err)
	}
	if got, err := table.Boot(); err != nil || got != "2a2e" {
		t.Errorf("Boot = %q, %v", got, err)
	}
	if got, want := table.Resident(42), int64(300*os.Getpagesize()); got != want {
		t.Errorf("Resident = %d, want %d", got, want)
	}
}

func TestListener(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	const tail = " 00000000:00000000 00:00000000 00000000     0        0 "
	table := fakeProc(t, map[string]string{
		"net/tcp": head +
			"   0: 0100007F:192B 00000000:0000 0A" + tail + "501 1\n" + // 127.0.0.1:6443 listens
			"   1: 0100007F:0050 0100007F:1000 01" + tail + "502 1\n", // 127.0.0.1:80 is a connection
		"net/tcp6": head +
			"   0: 00000000000000000000000000000000:01BB 00000000000000000000000000000000:0000 0A" + tail + "503 1\n", // [::]:443
		"42/stat":    statLine("kube-apiserver", "S", "1"),
		"42/fd/3":    "->socket:[501]",
		"42/cmdline": "/opt/kubespark-control-plane\x00kube-apiserver\x00",
		"77/stat":    statLine("nginx", "S", "1"),
		"77/fd/0":    "->/dev/null",
		"77/fd/6":    "->socket:[503]",
	})
	for at, want := range map[string]string{
		"127.0.0.1:6443":  "kubespark-control-plane (pid 42)",
		"127.10.0.1:6443": "",
		"127.10.0.1:443":  "nginx (pid 77)",
		"127.0.0.1:80":    "",
	} {
		if got := table.Listener(netip.MustParseAddrPort(at)); got != want {
			t.Errorf("Listener(%s) = %q, want %q", at, got, want)
		}
	}
}

func TestListenerFindsThisProcess(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := NewTable("/proc").Listener(netip.MustParseAddrPort(l.Addr().String()))
	if !strings.HasPrefix(got, "process.test (pid ") {
		t.Errorf("Listener = %q, want this test", got)
	}
}

func TestStop(t *testing.T) {
	table := NewTable("/proc")
	start := func(t *testing.T, command string) ID {
		t.Helper()
		c := exec.Command("sh", "-c", command)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { _ = c.Wait() }()
		if _, err := out.Read(make([]byte, 1)); err != nil { // its signal handlers are in place
			t.Fatal(err)
		}
		id, err := table.Identify(c.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	t.Run("a willing process ends", func(t *testing.T) {
		id := start(t, "echo; exec sleep 60")
		if err := table.Stop(context.Background(), id, time.Minute); err != nil || table.Alive(id) {
			t.Errorf("Stop: %v, alive: %v", err, table.Alive(id))
		}
	})
	t.Run("a deaf process is killed", func(t *testing.T) {
		id := start(t, "trap '' TERM; echo; exec sleep 60")
		if err := table.Stop(context.Background(), id, time.Millisecond); err != nil || table.Alive(id) {
			t.Errorf("Stop: %v, alive: %v", err, table.Alive(id))
		}
	})
	t.Run("a stranger is left alone", func(t *testing.T) {
		id := start(t, "echo; exec sleep 60")
		stranger := ID{PID: id.PID, Start: id.Start - 1}
		if err := table.Stop(context.Background(), stranger, time.Millisecond); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if !table.Alive(id) {
			t.Error("a process that was not recorded was signalled")
		}
		if err := table.Signal(id, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	})
}
