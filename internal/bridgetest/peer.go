// Package bridgetest is the driver's end of the bridge (docs/design/bridge.md) as the shim has it, for tests and
// measurements without a JVM: Peer speaks JSON-RPC with one manager over its pipes and knows nothing of executors.
package bridgetest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kubespark/kubespark/internal/bridge"
)

// Object is a JSON object.
type Object = map[string]any

// Peer is one manager's other end. Its methods may be called from any goroutine.
type Peer struct {
	write   sync.Mutex // one line at a time
	to      io.Writer
	mu      sync.Mutex
	last    int
	waiting map[int]chan Object
}

// NewPeer makes the end that writes to the manager's stdin.
func NewPeer(to io.Writer) *Peer { return &Peer{to: to, waiting: map[int]chan Object{}} }

// Send writes one message; the protocol's version is added to it.
func (p *Peer) Send(msg Object) error {
	msg["jsonrpc"] = "2.0"
	line, err := json.Marshal(msg)
	if err != nil {
		return fmt.Errorf("a message for the manager cannot be coded: %w", err)
	}
	p.write.Lock()
	defer p.write.Unlock()
	if _, err := p.to.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("the manager does not take a message: %w", err)
	}
	return nil
}

// Notify sends a notification.
func (p *Peer) Notify(method string, params Object) error {
	return p.Send(Object{"method": method, "params": params})
}

// Call sends a request and returns the whole answer, with its "result" or its "error".
func (p *Peer) Call(method string, params Object, limit time.Duration) (Object, error) {
	answer := make(chan Object, 1)
	p.mu.Lock()
	p.last++
	id := p.last
	p.waiting[id] = answer
	p.mu.Unlock()
	if err := p.Send(Object{"id": id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case a, ok := <-answer:
		if !ok {
			return nil, fmt.Errorf("%s: the manager ended without an answer", method)
		}
		return a, nil
	case <-timer.C:
		return nil, fmt.Errorf("%s: no answer within %s", method, limit)
	}
}

// Handler is told what the manager says, in the order sent. Request returns the result of a request; then, if it is not
// nil, is run after the answer was sent.
type Handler interface {
	Request(method string, params Object) (result Object, then func())
	Notified(method string, params Object)
}

// Read reads the manager's stdout until it ends. Calls that wait then fail.
func (p *Peer) Read(from io.Reader, h Handler) error {
	defer p.abandon()
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, bridge.MaxLine)
	for lines.Scan() {
		var m Object
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return fmt.Errorf("the manager wrote %q: %w", lines.Text(), err)
		}
		if err := p.handle(m, h); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return fmt.Errorf("read what the manager says: %w", err)
	}
	return nil
}

func (p *Peer) handle(m Object, h Handler) error {
	params, _ := m["params"].(Object)
	method, _ := m["method"].(string)
	switch {
	case method == "":
		return p.answered(m)
	case m["id"] == nil:
		h.Notified(method, params)
		return nil
	}
	result, then := h.Request(method, params)
	if err := p.Send(Object{"id": m["id"], "result": result}); err != nil {
		return err
	}
	if then != nil {
		then()
	}
	return nil
}

func (p *Peer) answered(m Object) error {
	id, ok := m["id"].(float64)
	if !ok {
		return fmt.Errorf("the manager answered without an id: %v", m)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.waiting[int(id)]; c != nil {
		c <- m
		delete(p.waiting, int(id))
	}
	return nil
}

func (p *Peer) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, c := range p.waiting {
		close(c)
		delete(p.waiting, id)
	}
}
