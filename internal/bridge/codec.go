package bridge

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// MaxLine is the longest line that either end sends.
const MaxLine = 8 << 20

// stream reads and writes one JSON object a line. Writes go into a queue without bound and never block: a JVM that does
// not read its pipe must not stop the manager.
type stream struct {
	in     *bufio.Reader
	out    io.Writer
	refuse func(text string) // told about lines that are no message

	mu     sync.Mutex
	queue  [][]byte
	wake   chan struct{}
	closed bool
	done   chan struct{}
	err    error
}

func newStream(in io.Reader, out io.Writer, refuse func(string)) *stream {
	s := &stream{in: bufio.NewReaderSize(in, 64<<10), out: out, refuse: refuse,
		wake: make(chan struct{}, 1), done: make(chan struct{})}
	go s.write()
	return s
}

// WriteObject queues one message.
func (s *stream) WriteObject(obj any) error {
	line, err := json.Marshal(obj)
	if err != nil {
		return fmt.Errorf("a message of the bridge cannot be coded: %w", err)
	}
	if len(line) >= MaxLine {
		return fmt.Errorf("a message of %d bytes is longer than the bridge carries (%d)", len(line), MaxLine)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("the bridge is closed")
	}
	s.queue = append(s.queue, append(line, '\n'))
	s.signal()
	return nil
}

func (s *stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *stream) write() {
	defer close(s.done)
	for {
		s.mu.Lock()
		batch, closed := s.queue, s.closed
		s.queue = nil
		s.mu.Unlock()
		for _, line := range batch {
			if _, err := s.out.Write(line); err != nil {
				s.fail(err)
				return
			}
		}
		if len(batch) == 0 {
			if closed {
				return
			}
			<-s.wake
		}
	}
}

func (s *stream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.err, s.queue = true, err, nil
}

// ReadObject returns the next message. A line that is too long or is no JSON object is refused and skipped, so that one
// bad line never ends or hangs the session.
func (s *stream) ReadObject(v any) error {
	for {
		line, err := s.readLine()
		if errors.Is(err, errLongLine) {
			s.refuse(fmt.Sprintf("A line longer than %d bytes was skipped.", MaxLine))
			continue
		}
		line = bytes.TrimSpace(line)
		if len(line) > 0 {
			if bad := json.Unmarshal(line, v); bad == nil {
				return nil
			}
			s.refuse("A line that is not a JSON-RPC message was skipped.")
		}
		if err != nil {
			return err
		}
	}
}

var errLongLine = errors.New("line too long")

func (s *stream) readLine() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := s.in.ReadSlice('\n')
		if !long {
			line = append(line, part...)
			long = len(line) > MaxLine
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if long {
				line = nil
			}
			continue
		case err != nil:
			return line, err
		case long:
			return nil, errLongLine
		}
		return line, nil
	}
}

// Close ends the stream after what is queued is written.
func (s *stream) Close() error {
	s.mu.Lock()
	s.closed = true
	s.signal()
	s.mu.Unlock()
	return nil
}
