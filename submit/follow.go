package submit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/internal/kube"
)

const (
	loggerFollow = "DriverLog"
	// Pauses before the log is opened again, after it broke or while the container is not ready for it.
	firstLogPause, maxLogPause = 200 * time.Millisecond, 5 * time.Second
	// How long the rest of a log may take once the driver has ended.
	logDrainTime = 30 * time.Second
	// A new stream begins this long before the second of the newest line.
	overlap = time.Second
)

// follower copies the log of the driver's container to a writer as it comes. It survives streams that break: lines carry
// the server's time stamps, which are cut off, and a new stream begins at the last one without repeating lines.
type follower struct {
	open func(ctx context.Context, o *corev1.PodLogOptions) (io.ReadCloser, error)
	out  io.Writer
	warn func(text string)

	container string
	started   bool          // run is called
	ended     chan struct{} // closed when the container has ended or the pod is gone
	done      chan struct{} // closed when run returns

	newest time.Time   // stamp of the newest line written
	recent []time.Time // stamps of the lines written in its second, and in the one before
	plain  int         // lines written that had no stamp
	again  int         // and those seen in this stream
}

func newFollower(c *Client, s Submission, out io.Writer) *follower {
	return &follower{
		open: func(ctx context.Context, o *corev1.PodLogOptions) (io.ReadCloser, error) {
			return c.api.PodLog(ctx, s.Namespace, s.PodName, o)
		},
		out: out, container: s.ContainerName, ended: make(chan struct{}), done: make(chan struct{}),
		warn: func(text string) { c.logLine(slog.LevelWarn, loggerFollow, text) },
	}
}

// observe starts the copying when the container has begun, and tells it when it has ended. It is called by the watcher's
// goroutine alone.
func (f *follower) observe(ctx context.Context, pod *corev1.Pod) {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name != f.container || s.State.Running == nil && s.State.Terminated == nil {
			continue
		}
		if !f.started {
			f.started = true
			go f.run(ctx)
		}
		if s.State.Terminated != nil {
			f.end()
		}
	}
}

func (f *follower) end() {
	if !f.hasEnded() {
		close(f.ended)
	}
}

// finish waits for the rest of the log, for a bounded time.
func (f *follower) finish(ctx context.Context) {
	f.end()
	if !f.started {
		return
	}
	timer := time.NewTimer(logDrainTime)
	defer timer.Stop()
	select {
	case <-f.done:
	case <-ctx.Done():
	case <-timer.C:
		f.warn(fmt.Sprintf("The end of the driver's log did not come within %s.", logDrainTime))
	}
}

func (f *follower) run(ctx context.Context) {
	defer close(f.done)
	pause := firstLogPause
	for ctx.Err() == nil {
		complete := f.hasEnded() // a stream that was opened after the end holds everything
		n, err := f.copyOnce(ctx, complete)
		switch {
		case err == nil && complete, errors.Is(err, errOutput), f.hopeless(ctx, err):
			return
		case n > 0:
			pause = firstLogPause
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, maxLogPause)
	}
}

func (f *follower) hasEnded() bool {
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}

// hopeless says whether another try is in vain, and warns when the user would not know why.
func (f *follower) hopeless(ctx context.Context, err error) bool {
	switch kube.Kind(err) {
	case kube.NotFound:
		return true
	case kube.Forbidden, kube.Unauthorized:
		f.warn(fmt.Sprintf("The driver's log cannot be shown: it needs the verb get on pods/log: %v", err))
		return true
	case kube.Invalid: // not started, or its log is gone
		return f.hasEnded()
	}
	return ctx.Err() != nil
}

var errOutput = errors.New("the log cannot be written")

// copyOnce copies one stream to its end and returns the number of new lines. all says that the container had ended before:
// then the text behind the last line end is a line, too, and not one that was cut.
func (f *follower) copyOnce(ctx context.Context, all bool) (lines int, err error) {
	o := &corev1.PodLogOptions{Container: f.container, Follow: true, Timestamps: true}
	known := f.resume(o)
	f.again = 0
	stream, err := f.open(ctx, o)
	if err != nil {
		return 0, err
	}
	defer func() { _ = stream.Close() }() // only read from
	stop := context.AfterFunc(ctx, func() { _ = stream.Close() })
	defer stop()
	in := bufio.NewReaderSize(stream, 64<<10)
	for {
		text, err := in.ReadBytes('\n')
		if err == nil || errors.Is(err, io.EOF) && all && len(text) > 0 {
			fresh, werr := f.line(text, known)
			if werr != nil {
				return lines, fmt.Errorf("%w: %w", errOutput, werr)
			}
			if fresh {
				lines++
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return lines, nil
		case err != nil:
			return lines, err
		}
	}
}

// resume makes a stream start where the last one broke. The server knows whole seconds only, so some lines come again:
// known counts them by their stamps. Lines of stdout and stderr need not be in the order of their stamps.
func (f *follower) resume(o *corev1.PodLogOptions) (known map[time.Time]int) {
	if f.newest.IsZero() {
		return nil
	}
	since := f.newest.Truncate(time.Second).Add(-overlap)
	o.SinceTime = &metav1.Time{Time: since}
	known = map[time.Time]int{}
	for _, at := range f.recent {
		if !at.Before(since) {
			known[at]++
		}
	}
	return known
}

// line writes a line unless it is known.
func (f *follower) line(text []byte, known map[time.Time]int) (fresh bool, err error) {
	stamp, rest, ok := bytes.Cut(text, []byte(" "))
	at, perr := time.Parse(time.RFC3339Nano, string(stamp))
	if !ok || perr != nil { // a server that does not stamp, and begins at the beginning again
		rest = text
		if f.again++; f.again <= f.plain {
			return false, nil
		}
		f.plain++
	} else {
		at = at.UTC()
		if known[at] > 0 {
			known[at]--
			return false, nil
		}
		f.remember(at)
	}
	if len(rest) == 0 || rest[len(rest)-1] != '\n' {
		rest = append(rest, '\n')
	}
	_, err = f.out.Write(rest)
	return true, err
}

// remember keeps the stamps that a new stream might repeat.
func (f *follower) remember(at time.Time) {
	f.recent = append(f.recent, at)
	if at.Truncate(time.Second).After(f.newest.Truncate(time.Second)) {
		old := at.Truncate(time.Second).Add(-overlap)
		f.recent = slices.DeleteFunc(f.recent, func(t time.Time) bool { return t.Before(old) })
	}
	if at.After(f.newest) {
		f.newest = at
	}
}
