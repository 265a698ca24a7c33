package bridge

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
)

// LoggerKey is the attribute that names the logger of a line, the stock class name.
const LoggerKey = "logger"

// LogHandler sends slog records to the driver's log. Before Attach they go to a plain writer, which the shim copies into
// the driver's log as it is.
type LogHandler struct {
	early  io.Writer
	target *atomic.Pointer[Server]
	logger string
	attrs  []slog.Attr
	least  slog.Level
}

// NewLogHandler makes a handler that writes to early until Attach.
func NewLogHandler(early io.Writer) *LogHandler {
	return &LogHandler{early: early, target: &atomic.Pointer[Server]{}, least: slog.LevelDebug,
		logger: "org.apache.spark.scheduler.cluster.k8s.KubernetesClusterManager"}
}

// Attach sends the following records to the shim.
func (h *LogHandler) Attach(s *Server) { h.target.Store(s) }

// AtLeast returns a handler that drops what is below a level. Client libraries need it: their debug lines have whole
// requests, secrets included.
func (h *LogHandler) AtLeast(level slog.Level) *LogHandler {
	n := *h
	n.least = level
	return &n
}

// Enabled passes everything from the handler's level on: the driver's log settings choose.
func (h *LogHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.least }

// WithAttrs keeps attributes; LoggerKey names the logger.
func (h *LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	n := *h
	for _, a := range attrs {
		if a.Key == LoggerKey {
			n.logger = a.Value.String()
			continue
		}
		n.attrs = append(n.attrs[:len(n.attrs):len(n.attrs)], a)
	}
	return &n
}

// WithGroup is not used by the manager: lines are sentences, not records.
func (h *LogHandler) WithGroup(string) slog.Handler { return h }

// Handle sends one record.
func (h *LogHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	add := func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	if s := h.target.Load(); s != nil {
		s.Log(r.Level.String(), h.logger, b.String())
		return nil
	}
	if r.Level < slog.LevelInfo {
		return nil
	}
	_, err := fmt.Fprintf(h.early, "kubespark-manager: %s: %s\n", r.Level, b.String())
	return err
}
