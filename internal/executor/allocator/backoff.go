package allocator

import (
	"fmt"
	"time"
)

// Kind is what the answer to a create means for the next ones (spec section 10).
type Kind int

// The kinds of answer.
const (
	Created   Kind = iota // or adopted
	Skipped               // the name is taken by somebody else's pod: next id
	Busy                  // quota, 429, 5xx: try later
	Refused               // 403, 401: an administrator can heal it
	Permanent             // 400, 404 of the namespace, 422: the pod itself is refused
	Lost                  // no answer: outcome unknown
	Absent                // a look found no pod
	Withdrawn             // not sent: Withdraw took it back
)

// Outcome is the end of one create.
type Outcome struct {
	ID         int64
	Kind       Kind
	Text       string // the server's own words, for the log
	RetryAfter time.Duration
	Throttled  bool // 429
	Sent       time.Time
	Latency    time.Duration // of the POST; 0: nothing was sent
}

const (
	backoffFirst = time.Second
	backoffMax   = time.Minute
	warnEvery    = time.Minute
)

// brake is what slows one profile's creates down.
type brake struct {
	step       int       // failures in a row
	until      time.Time // no create before
	raised     time.Time // when step last rose: one burst counts once
	warned     time.Time
	skips      int // names in a row taken by others
	startFails int // executors in a row that ended before they registered
	startUntil time.Time
}

// failed lengthens the pause and says whether it did: one burst of refusals counts once.
func (b *brake) failed(o Outcome, now time.Time) bool {
	if b.step > 0 && !o.Sent.After(b.raised) {
		if t := now.Add(min(o.RetryAfter, backoffMax)); t.After(b.until) {
			b.until = t
		}
		return false
	}
	wait := min(backoffMax, backoffFirst<<min(b.step, 6))
	wait = max(wait, min(o.RetryAfter, backoffMax))
	b.step++
	b.raised, b.until = now, now.Add(wait)
	return true
}

// succeeded ends the back-off, unless the create was sent before the refusal that began it.
func (b *brake) succeeded(o Outcome) {
	b.skips = 0
	if b.step > 0 && o.Sent.After(b.raised) {
		b.step, b.until, b.warned = 0, time.Time{}, time.Time{}
	}
}

// startFailure delays the next create after executors that ended before they registered, from the fourth in a row on.
func (b *brake) startFailure(now time.Time) {
	if b.startFails++; b.startFails > 3 {
		b.startUntil = now.Add(min(backoffMax, time.Second<<min(b.startFails-3, 6)))
	}
}

// openAt is the time of the next create.
func (b *brake) openAt() time.Time {
	if b.startUntil.After(b.until) {
		return b.startUntil
	}
	return b.until
}

// warn returns the log line of a failed create, at most one a minute.
func (b *brake) warn(profile int, o Outcome, now time.Time) []Line {
	if !b.warned.IsZero() && now.Sub(b.warned) < warnEvery {
		return nil
	}
	b.warned = now
	level := "WARN"
	if o.Kind != Busy {
		level = "ERROR"
	}
	return []Line{{level, fmt.Sprintf("Kubernetes refused executor pod %d of ResourceProfile Id %d: %s Next try in %s.",
		o.ID, profile, sentence(o.Text), b.until.Sub(now).Round(time.Millisecond))}}
}

func sentence(s string) string {
	if s == "" {
		return "no reason given."
	}
	if s[len(s)-1] != '.' {
		s += "."
	}
	return s
}
