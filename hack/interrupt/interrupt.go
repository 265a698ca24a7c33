// Package interrupt says when the tools that hold a local cluster for a long run, hack/bench and hack/sparksuite, end early, so
// that the cluster comes down in order.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Context ends at SIGINT and SIGTERM. A broken pipe ends nothing: of the output, whose reader is gone, it would leave the cluster
// up, and once a program asks for SIGPIPE it hears of each broken connection, too.
func Context() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	// Not signal.Ignore: programs started from here would inherit it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return ctx, stop
}
