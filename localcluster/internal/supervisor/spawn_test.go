package supervisor

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/kubespark/kubespark/localcluster/internal/process"
)

func TestProcess(t *testing.T) {
	table := process.NewTable("/proc")
	s := NewSpawner(table)
	for _, tc := range []struct {
		name, script, log, how string
		act                    func(Running)
	}{
		{"ends well", "echo $GREETING; echo oops >&2", "hello\noops\n", "it ended by itself with exit code 0", nil},
		{"ends badly", "exit 3", "", "it ended with exit code 3", nil},
		{"is killed", "sleep 60", "", "it was ended by signal: killed", Running.Kill},
		{"is told to end", "exec sleep 60", "", "it was ended by signal: terminated", Running.Terminate},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			p, err := s.Process("/bin/sh", []string{"-c", tc.script}, []string{"GREETING=hello", "PATH=/bin:/usr/bin"}, log)
			if err != nil {
				t.Fatal(err)
			}
			if tc.act != nil {
				if !table.Alive(p.ID()) {
					t.Errorf("%v is not alive", p.ID())
				}
				tc.act(p)
			}
			if how := p.Wait(); how != tc.how {
				t.Errorf("it ended so: %s, want %s", how, tc.how)
			}
			if text, err := os.ReadFile(log); err != nil || string(text) != tc.log {
				t.Errorf("log %q, %v, want %q", text, err, tc.log)
			}
		})
	}
	if _, err := s.Process("/no/such/program", nil, nil, filepath.Join(t.TempDir(), "log")); err == nil {
		t.Error("a program that does not exist was started")
	}
}

func TestForward(t *testing.T) {
	t.Run("own listener", func(t *testing.T) {
		forwards(t, func(target string) (Running, error) { return Forward("127.0.0.1:0", target) })
	})
	t.Run("somebody else's listener, twice", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		file, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		defer file.Close()
		for range 2 { // a part may be started again
			forwards(t, func(target string) (Running, error) { return ForwardFrom(file, target) })
		}
	})
}

func forwards(t *testing.T, start func(target string) (Running, error)) {
	t.Helper()
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { // echo, then say goodbye after the caller's end
		c, err := target.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		text, err := io.ReadAll(c)
		if err == nil {
			_, err = c.Write(append(text, " and goodbye"...))
		}
		if err != nil {
			t.Error(err)
		}
	}()
	f, err := start(target.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan string, 1)
	go func() { done <- f.Wait() }()
	address := f.(*forwarder).listener.Addr().String()

	c := dial(t, address)
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(c); err != nil || string(text) != "hello and goodbye" {
		t.Errorf("got %q, %v", text, err)
	}

	if err := target.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(dial(t, address)); len(text) > 0 {
		t.Errorf("without a target: got %q, %v, want the end", text, err)
	}
	f.Terminate()
	if how := <-done; how != "it was told to stop" {
		t.Errorf("it ended so: %s", how)
	}
}

func dial(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}
