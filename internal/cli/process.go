// Package cli is the command line: one file a command, each parses and makes one call. submit and render keep the grammar
// of spark-submit; the other commands are cobra's. Output goes to the streams of a Process, and Run returns the exit code.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kubespark/kubespark/submit"
)

// Process is what a command takes from the operating system.
type Process struct {
	Args           []string // the first is the name it was called by
	Environ        []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Signals        <-chan os.Signal // SIGINT and SIGTERM
	Now            func() time.Time
	// Exec replaces the process; it returns only on failure.
	Exec func(path string, argv, environ []string) error
	// Executable is this program's own file.
	Executable func() (string, error)
}

// Exit codes of our own.
const (
	exitOK         = 0
	exitError      = 1
	exitUsage      = 2   // bad flags of our own commands
	exitNoArgs     = 255 // spark-submit without any
	exitInterrupt  = 130
	exitTerminated = 143
)

// Run runs the command that the process was called for and returns its exit code.
func Run(p Process) int {
	switch {
	case isSubmitName(filepath.Base(p.Args[0])):
		return (&submitCommand{Process: p, name: sparkSubmitName}).run(p.Args[1:])
	case p.byScript():
		return (&submitCommand{Process: p, name: sparkSubmitName}).run(p.Args[3:])
	}
	code := exitOK
	root := rootCommand(p, &code)
	root.SetArgs(p.Args[1:])
	if err := root.Execute(); err != nil {
		say(p.Stderr, "error: %s", err)
		var bad *usageError
		if errors.As(err, &bad) {
			return exitUsage
		}
		return exitError
	}
	return code
}

// usageError is a command line that one of our own commands refuses.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// say writes one line for the user.
func say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format+"\n", args...) // a terminal that is gone cannot be told so
}

// environment is the process's variables as a look-up.
func environment(environ []string) func(string) (string, bool) {
	m := make(map[string]string, len(environ))
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok {
			m[k] = v
		}
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

// userName is the login name, else the numeric id.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

func (p Process) env(environ []string) submit.Env {
	return submit.Env{Lookup: environment(environ), Files: submit.OSFiles{}, Now: p.Now, UserName: userName()}
}
