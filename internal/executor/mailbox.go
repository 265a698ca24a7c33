package executor

import "sync"

// mailbox is an unbounded queue of functions for the owner goroutine. Post never blocks, so neither the bridge nor an
// effect's goroutine ever waits for the owner.
type mailbox struct {
	mu    sync.Mutex
	queue []func()
	wake  chan struct{}
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

func (m *mailbox) post(f func()) {
	m.mu.Lock()
	m.queue = append(m.queue, f)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue
	m.queue = nil
	return q
}
