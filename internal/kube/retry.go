package kube

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is a series of pauses between tries.
type Backoff struct {
	First  time.Duration // before the second try
	Factor float64       // of one pause to the next
	Max    time.Duration // of a single pause, and of what a server may ask for
	Tries  int           // in all, the first one included
	Jitter float64       // share of a pause that is random: 0 gives the exact pause
	// Rand gives the random share, from 0 to below 1; nil: math/rand.
	Rand func() float64
}

// StockBackoff is what Spark's Kubernetes client does: three more tries after 100, 200 and 400 ms.
var StockBackoff = Backoff{First: 100 * time.Millisecond, Factor: 2, Max: 30 * time.Second, Tries: 4}

// Retry calls f until it succeeds, fails for good, or the tries or ctx are used up, and returns f's last error. Transient
// errors and unknown outcomes are tried again; f must bear being repeated.
func Retry(ctx context.Context, b Backoff, f func(context.Context) error) error {
	pause := b.First
	for try := 1; ; try++ {
		err := f(ctx)
		if k := Kind(err); k != Transient && k != Unknown || try >= b.Tries || ctx.Err() != nil {
			return err
		}
		wait := pause
		if asked, ok := RetryAfter(err); ok {
			wait = max(wait, asked)
		}
		wait = min(wait, b.Max)
		if b.Jitter > 0 {
			random := b.Rand
			if random == nil {
				random = rand.Float64
			}
			wait -= time.Duration(random() * b.Jitter * float64(wait))
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
		pause = time.Duration(float64(pause) * b.Factor)
	}
}
