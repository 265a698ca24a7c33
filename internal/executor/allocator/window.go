package allocator

import (
	"slices"
	"time"
)

// The window of creates in flight (design, decided 8).
const (
	windowStart = 32
	windowStep  = 8
	windowMax   = 99
	// Latencies below that change by chance; they say nothing about load.
	windowQuick = 20 * time.Millisecond
)

// window bounds the creates in flight. It is judged in rounds of as many answers as it has places: while a round's median latency
// is flat it grows, when it has doubled it halves. When the server asks for less it halves at once.
//
// The reference is the best round, not the best answer: one create alone is fast on any server, and a window that is held to that
// leaves a busy one to everybody else.
type window struct {
	size     int
	inFlight int
	round    []time.Duration
	best     time.Duration // the least median of a round since the last halving
	halved   time.Time
}

func newWindow() window { return window{size: windowStart} }

func (w *window) free() int { return max(0, w.size-w.inFlight) }

// answered takes one answer. slowDown is true for a 429 or an overloaded server.
func (w *window) answered(latency time.Duration, slowDown bool, sent, now time.Time) {
	w.inFlight--
	if slowDown {
		if sent.After(w.halved) || w.halved.IsZero() { // once per burst
			w.halve(now)
		}
		return
	}
	if latency <= 0 {
		return // nothing was sent
	}
	w.round = append(w.round, latency)
	if len(w.round) < w.size {
		return
	}
	slices.Sort(w.round)
	median := w.round[len(w.round)/2]
	w.round = w.round[:0]
	if w.best == 0 || median < w.best {
		w.best = median
	}
	switch {
	case median <= max(windowQuick, w.best*5/4):
		w.size = min(windowMax, w.size+windowStep)
	case median > 2*w.best:
		w.halve(now)
		w.best = median
	}
}

func (w *window) halve(now time.Time) {
	w.size, w.halved, w.round = max(1, w.size/2), now, w.round[:0]
}
