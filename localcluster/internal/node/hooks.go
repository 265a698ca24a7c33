package node

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// postStart runs the container's hook. The container counts as running only when the hook has ended; one whose hook fails is killed.
func (l *loop) postStart(ctx context.Context, r *run) error {
	if l.c.Lifecycle == nil || l.c.Lifecycle.PostStart == nil {
		return nil
	}
	ctx, cancel := l.whileRunning(ctx, r, l.w.kill.ch, l.stop.ch)
	defer cancel()
	err := l.act(ctx, r, hookAction(l.c.Lifecycle.PostStart))
	if err == nil || ctx.Err() != nil { // the container has ended, or is to end: that decides, not the hook
		return nil
	}
	l.w.p.events.container(l.w.current(), l.c.Name, corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed: "+err.Error())
	return fmt.Errorf("PostStartHook failed: %w", err)
}

// preStop runs the container's hook, within the grace period.
func (l *loop) preStop(ctx context.Context, r *run) {
	if l.c.Lifecycle == nil || l.c.Lifecycle.PreStop == nil || l.w.kill.is() {
		return
	}
	ctx, cancel := l.whileRunning(ctx, r, l.w.kill.ch)
	defer cancel()
	if err := l.act(ctx, r, hookAction(l.c.Lifecycle.PreStop)); err != nil {
		l.w.p.events.container(l.w.current(), l.c.Name, corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed: "+err.Error())
	}
}

// whileRunning is a context that ends with the container, or when one of the channels closes.
func (l *loop) whileRunning(ctx context.Context, r *run, ends ...<-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	for _, end := range append(ends, r.c.Done()) {
		go func() {
			select {
			case <-end:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}
