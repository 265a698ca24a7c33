package interrupt

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// writes into what is broken, so many that a signal which ended the context would have had the time to.
const writes = 1000

// The test program is its own child: as a child it writes to its output until that breaks, then waits for its context.
func TestMain(m *testing.M) {
	if os.Getenv("INTERRUPT_TEST_CHILD") == "" {
		os.Exit(m.Run())
	}
	ctx, stop := Context()
	defer stop()
	for broken := 0; broken < writes; {
		if _, err := io.WriteString(os.Stdout, "a line\n"); errors.Is(err, syscall.EPIPE) {
			broken++
		}
	}
	if ctx.Err() != nil {
		os.Exit(3)
	}
	os.Stderr.WriteString("broken")
	os.Stderr.Close()
	<-ctx.Done()
}

func TestBrokenPipeEndsNothingAndSIGTERMEndsInOrder(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), "INTERRUPT_TEST_CHILD=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := child.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	if said, err := io.ReadAll(stderr); string(said) != "broken" || err != nil {
		t.Fatalf("the child said %q (%v) after its output broke, %v", said, err, child.Wait())
	}
	if err := child.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		t.Fatalf("after SIGTERM: %v, want an end in order", err)
	}
}

func TestBrokenConnectionEndsNothing(t *testing.T) {
	ctx, stop := Context()
	defer stop()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(pair[0])
	syscall.Close(pair[1])
	for range writes {
		if _, err := syscall.Write(pair[0], []byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Fatalf("write: %v, want a broken pipe", err)
		}
	}
	if err := ctx.Err(); err != nil {
		t.Fatalf("a broken connection ended the run: %v", err)
	}
}
