// Command sparksuite runs Spark's Kubernetes integration suite, mirrored in package rows, on a local cluster with real Spark,
// and writes the page that shows the results.
//
//	sparksuite run [flags] VERSION=SPARK_HOME...
//	sparksuite page ROOT RESULTS FILE
//
// hack/spark-suite.sh calls it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kubespark/kubespark/hack/interrupt"
	"github.com/kubespark/kubespark/hack/sparksuite/results"
)

func main() {
	ctx, stop := interrupt.Context()
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 4 && args[0] == "page":
		return writePage(args[1], results.File(args[2]), args[3])
	case len(args) > 0 && args[0] == "run":
		return runRows(ctx, args[1:])
	}
	return errors.New("usage: sparksuite run [flags] VERSION=SPARK_HOME... | sparksuite page ROOT RESULTS FILE")
}
