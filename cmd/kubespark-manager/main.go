// Command kubespark-manager is the cluster manager of one Spark application on Kubernetes. Spark's driver starts it as a
// child (kubespark.jar) and speaks JSON-RPC with it over its stdin and stdout; it is not meant to be started by hand. It
// ends when its stdin closes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"k8s.io/klog/v2"

	"github.com/kubespark/kubespark/internal/bridge"
	"github.com/kubespark/kubespark/internal/executor"
	"github.com/kubespark/kubespark/internal/version"
)

// The manager lives in every driver's container: it trades some CPU for little memory. The runtime's own variables
// (GOGC, GOMEMLIMIT, GOMAXPROCS) win.
const (
	gcPercent   = 40
	memoryLimit = 40 << 20
	maxThreads  = 4
)

func main() {
	flags := flag.NewFlagSet("kubespark-manager", flag.ExitOnError)
	showVersion := flags.Bool("version", false, "print the version and exit")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "kubespark-manager is started by kubespark.jar inside a Spark driver; it has no command line of its own.")
		flags.PrintDefaults()
	}
	if err := flags.Parse(os.Args[1:]); err != nil {
		os.Exit(2) // not reached: ExitOnError
	}
	if *showVersion {
		fmt.Println(version.Version)
		return
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "kubespark-manager: unexpected argument %q.\n", flags.Arg(0))
		os.Exit(2)
	}
	tune()
	// Ctrl-C reaches the whole foreground group, and the driver's shutdown still needs the manager.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	logs := bridge.NewLogHandler(os.Stderr)
	klog.SetSlogLogger(slog.New(logs.AtLeast(slog.LevelWarn))) // client-go's
	serve(context.Background(), os.Stdin, os.Stdout, logs, environment())
}

func tune() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) > maxThreads {
		runtime.GOMAXPROCS(maxThreads)
	}
}

func environment() executor.Env {
	host, err := os.Hostname()
	if err != nil {
		host = "" // only compared with the driver pod's name, for a warning
	}
	return executor.Env{Getenv: os.LookupEnv, Hostname: host, PID: os.Getpid(), Version: version.Version}
}

// serve runs one session and returns when the driver has closed its end. Nothing is deleted then: that is session.stop's
// work, and a driver that was killed has owner references.
func serve(ctx context.Context, in io.Reader, out io.Writer, logs *bridge.LogHandler, env executor.Env) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	env.Log = lines(logs)
	warn := func(text string) { env.Log("WARN", bridgeLogger, text) }
	server := bridge.Serve(ctx, in, out, func(s *bridge.Server) bridge.Session {
		m := executor.New(env, driver{s})
		go m.Run(ctx)
		return session{manager: m, opened: func() { logs.Attach(s) }}
	}, warn)
	<-server.Done()
}
