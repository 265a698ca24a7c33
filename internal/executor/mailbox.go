package executor

import (
	"cmp"
	"slices"
	"sync"
)

// mailbox is an unbounded queue of functions for the owner goroutine. Post never blocks, so neither the bridge nor an
// effect's goroutine ever waits for the owner.
type mailbox struct {
	mu    sync.Mutex
	queue []mail
	wake  chan struct{}
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// mail is one function. Among those that are taken together, the lower order runs first; equal ones as they came.
type mail struct {
	order int64
	run   func()
}

func (m *mailbox) post(f func()) { m.postIn(0, f) }

func (m *mailbox) postIn(order int64, f func()) {
	m.mu.Lock()
	m.queue = append(m.queue, mail{order, f})
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *mailbox) take() []mail {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queue
	m.queue = nil
	slices.SortStableFunc(q, func(a, b mail) int { return cmp.Compare(a.order, b.order) })
	return q
}
