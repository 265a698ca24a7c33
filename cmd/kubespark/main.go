// Command kubespark runs Apache Spark applications on Kubernetes: submit, render, kill, status.
package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kubespark/kubespark/internal/cli"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(cli.Run(cli.Process{
		Args: os.Args, Environ: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Signals: signals, Now: time.Now,
		Exec: syscall.Exec, Executable: os.Executable,
	}))
}
