package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// sparkHandler writes log records as Spark's default pattern does: date, level, class, text. Tools read these lines.
type sparkHandler struct {
	mu    *sync.Mutex
	out   io.Writer
	level slog.Level
	now   func() time.Time
	class string
}

func newLogger(out io.Writer, verbose bool, now func() time.Time) *slog.Logger {
	h := &sparkHandler{mu: &sync.Mutex{}, out: out, level: slog.LevelInfo, now: now}
	if verbose {
		h.level = slog.LevelDebug
	}
	return slog.New(h)
}

func (h *sparkHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

func (h *sparkHandler) Handle(_ context.Context, r slog.Record) error {
	class, rest := h.class, ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "logger" {
			class = a.Value.String()
		} else {
			rest += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		}
		return true
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := fmt.Fprintf(h.out, "%s %s %s: %s%s\n", h.now().Format("06/01/02 15:04:05"), strings.ToUpper(r.Level.String()), class, r.Message, rest)
	return err
}

func (h *sparkHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := *h
	for _, a := range attrs {
		if a.Key == "logger" {
			n.class = a.Value.String()
		}
	}
	return &n
}

func (h *sparkHandler) WithGroup(string) slog.Handler { return h }
