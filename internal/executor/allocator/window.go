package allocator

import "time"

// The window of creates in flight (design, decided 8).
const (
	windowStart = 32
	windowMax   = 99
)

// window bounds the creates in flight. It grows while latency is flat and halves when the server asks for less or takes
// twice as long as it did.
type window struct {
	size     int
	inFlight int
	best     time.Duration // smallest latency seen
	good     int           // answers since the last change
	halved   time.Time
}

func newWindow() window { return window{size: windowStart} }

func (w *window) free() int { return max(0, w.size-w.inFlight) }

// answered takes one answer. slowDown is true for a 429 or an overloaded server.
func (w *window) answered(latency time.Duration, slowDown bool, sent, now time.Time) {
	w.inFlight--
	if latency > 0 && !slowDown && (w.best == 0 || latency < w.best) {
		w.best = latency
	}
	// Latencies below 20 ms double by chance; they say nothing about load.
	if slowDown || (latency > 2*w.best && latency > 20*time.Millisecond) {
		if sent.After(w.halved) || w.halved.IsZero() { // once per burst
			w.size, w.halved, w.good = max(1, w.size/2), now, 0
		}
		return
	}
	if w.good++; w.good >= w.size && w.size < windowMax {
		w.size, w.good = min(windowMax, w.size+8), 0
	}
}
