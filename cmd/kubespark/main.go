// Command kubespark runs Apache Spark applications on Kubernetes: submit, render, kill, status.
package main

import (
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/kubespark/kubespark/internal/cli"
)

// gcPercent lets a submission, which allocates a few MB, end before the first collection: that would cost it a fifth of its
// CPU time and touch 1 MB of code that nothing else needs. GOGC of the environment wins.
const gcPercent = 400

func main() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(cli.Run(cli.Process{
		Args: os.Args, Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Signals: signals, Now: time.Now,
		Exec: syscall.Exec, Executable: os.Executable,
	}))
}
