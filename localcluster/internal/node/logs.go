package node

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
)

// maxLine is where a line without end is cut, as container runtimes cut it.
const maxLine = 16 << 10

// containerLog is the log file of one run of a container: lines of time, stream, F or P (a part of a line) and text.
type containerLog struct {
	path string

	mu     sync.Mutex
	f      *os.File
	closed bool
	grown  chan struct{} // closed and replaced when the file grows or ends
}

func newContainerLog(path string) (*containerLog, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o640)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	return &containerLog{path: path, f: f, grown: make(chan struct{})}, nil
}

// endedLog is the log of a container of an earlier life of the node.
func endedLog(path string) *containerLog { return &containerLog{path: path, closed: true} }

func (l *containerLog) stream(name string) *logStream { return &logStream{log: l, name: name} }

func (l *containerLog) write(lines []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return os.ErrClosed
	}
	_, err := l.f.Write(lines)
	close(l.grown)
	l.grown = make(chan struct{})
	return err
}

func (l *containerLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	close(l.grown)
	return l.f.Close()
}

// more returns the channel that closes at the next growth; ended says that none will come.
func (l *containerLog) more() (grown <-chan struct{}, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grown, l.closed
}

// logStream is a container's stdout or stderr.
type logStream struct {
	log  *containerLog
	name string
	rest []byte
}

func (s *logStream) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	var out []byte
	now := time.Now().UTC().Format(time.RFC3339Nano)
	for {
		i := bytes.IndexByte(s.rest, '\n')
		switch {
		case i >= 0:
			out = s.entry(out, now, "F", s.rest[:i])
			s.rest = s.rest[i+1:]
			continue
		case len(s.rest) >= maxLine:
			out = s.entry(out, now, "P", s.rest[:maxLine])
			s.rest = s.rest[maxLine:]
			continue
		}
		break
	}
	if len(out) == 0 {
		return len(p), nil
	}
	return len(p), s.log.write(out)
}

// flush writes what has no line end.
func (s *logStream) flush() error {
	if len(s.rest) == 0 {
		return nil
	}
	out := s.entry(nil, time.Now().UTC().Format(time.RFC3339Nano), "P", s.rest)
	s.rest = nil
	return s.log.write(out)
}

func (s *logStream) entry(out []byte, now, flag string, text []byte) []byte {
	out = append(out, now+" "+s.name+" "+flag+" "...)
	return append(append(out, text...), '\n')
}

// logLine is one entry.
type logLine struct {
	time    time.Time
	stamp   string
	partial bool
	text    string
}

func parseLog(line string) (logLine, bool) {
	f := strings.SplitN(line, " ", 4)
	if len(f) != 4 {
		return logLine{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, f[0])
	return logLine{time: t, stamp: f[0], partial: f[2] == "P", text: f[3]}, err == nil
}

func (l logLine) render(timestamps, continued bool) string {
	s := l.text
	if timestamps && !continued {
		s = l.stamp + " " + s
	}
	if !l.partial {
		s += "\n"
	}
	return s
}

// read copies the log to w as the options ask. With Follow it ends when the container's log does, or the context.
func (l *containerLog) read(ctx context.Context, w io.Writer, o api.ContainerLogOpts) error {
	f, err := os.Open(l.path)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	defer f.Close()
	since := o.SinceTime
	if o.SinceSeconds > 0 {
		since = time.Now().Add(-time.Duration(o.SinceSeconds) * time.Second)
	}
	out := &limitWriter{w: w, left: -1}
	if o.LimitBytes > 0 {
		out.left = o.LimitBytes
	}
	r := lineReader{r: bufio.NewReader(f)}
	tail := o.Tail
	for {
		grown, ended := l.more()
		lines, err := r.lines(since)
		if err != nil {
			return err
		}
		if tail > 0 && len(lines) > tail {
			lines = lines[len(lines)-tail:]
		}
		tail = 0
		for _, line := range lines {
			if err := out.write(line.render(o.Timestamps, r.continued)); err != nil {
				return ignoreLimit(err)
			}
			r.continued = line.partial
		}
		if ended || !o.Follow {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil
		}
	}
}

// lineReader reads whole entries and keeps the start of one that is still being written.
type lineReader struct {
	r         *bufio.Reader
	part      string
	continued bool
}

func (r *lineReader) lines(since time.Time) ([]logLine, error) {
	var out []logLine
	for {
		s, err := r.r.ReadString('\n')
		r.part += s
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
		line, ok := parseLog(strings.TrimSuffix(r.part, "\n"))
		r.part = ""
		if ok && !line.time.Before(since) {
			out = append(out, line)
		}
	}
}

var errLimit = errors.New("byte limit reached")

func ignoreLimit(err error) error {
	if errors.Is(err, errLimit) {
		return nil
	}
	return err
}

// limitWriter stops after a number of bytes; -1 is no limit.
type limitWriter struct {
	w    io.Writer
	left int
}

func (l *limitWriter) write(s string) error {
	if l.left >= 0 && len(s) >= l.left {
		if _, err := io.WriteString(l.w, s[:l.left]); err != nil {
			return err
		}
		return errLimit
	}
	if l.left >= 0 {
		l.left -= len(s)
	}
	_, err := io.WriteString(l.w, s)
	return err
}

// tail is the end of the log's text: at most so many lines, at most so many bytes.
func (l *containerLog) tail(rows, size int) string {
	var b strings.Builder
	if err := l.read(context.Background(), &b, api.ContainerLogOpts{Tail: rows}); err != nil {
		return ""
	}
	text := b.String()
	return text[max(0, len(text)-size):]
}
