package kube

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Quiet returns a context whose calls log nothing by themselves: client-go would write some of the errors that it also
// returns to the standard error stream, past the caller's own logger.
func Quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }
