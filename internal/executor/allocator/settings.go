// Package allocator decides which executor pods to create and which pending ones to delete. Allocator is a state machine
// without I/O: targets, facts and outcomes come in, Round returns the effects wanted now and the time of the next round.
// Its owner sends the creates and deletes and tells the outcomes. The books are written when an effect is asked for, before
// the call is made, so that no event in between can make one pod too many (spec section 8).
//
// It answers to Spark's ExecutorPodsAllocator.
package allocator

import (
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// Settings are the configuration that the decisions depend on.
type Settings struct {
	Paced           bool          // one of the two batch keys is set: both hold exactly
	BatchSize       int           // creates per round and profile, when Paced
	BatchDelay      time.Duration // between the starts of two creating rounds of a profile, when Paced
	MaxPending      int           // not running, all profiles
	MaxPendingPerRP int           // not running, each profile
	Maximum         int64         // ids ever issued
	Timeout         time.Duration // of a create with unknown outcome: A4
	IdleTimeout     time.Duration // protects young pending pods from being trimmed
	PendingTimeout  time.Duration // a pod that pends longer is replaced; 0: never

	// What spark.kubespark.stock switches back to stock's ways.
	StockGate    bool // one pod that no watch or list has shown holds its profile's creates up
	CountLeaving bool // a pod that is being deleted counts until it is gone
	OldestFirst  bool // excess pods are taken in the order of their ids
	NeverFatal   bool // identical refusals never end the application
	NoStartDelay bool // executors that die at their start do not slow creation down
}

// View is what Spark and the claims allow, asked during a round.
type View struct {
	Known func(id int64) bool
	// Room is how many pods can have the claims they need in wait mode; nil: as many as are wanted.
	Room func() int
}

// Create is one pod to post.
type Create struct {
	ID      int64
	Profile int
}

// Line is one line for the driver's log.
type Line struct{ Level, Text string }

// Actions are the effects that a round wants, and when the next round is due.
type Actions struct {
	Log     []Line
	Reserve int             // ask the driver for this many executor ids
	Creates []Create        // POST now
	Resolve []Create        // outcome unknown: read by name
	Shown   []int64         // a source shows the pod of an unknown outcome: what belongs to it may be lacking
	Forget  []int64         // never seen within the creation timeout: delete by name, whatever is there
	Deny    []int64         // ask the driver to refuse these, then delete those it had not registered
	Deletes []*snapshot.Pod // denied: DELETE with UID precondition
	Allow   []int64         // no longer denied
	Waiting bool            // pods are wanted, and only claims are missing
	Next    time.Time       // zero: nothing is due by itself
}

func (a *Actions) due(t time.Time) {
	if a.Next.IsZero() || t.Before(a.Next) {
		a.Next = t
	}
}

func (a *Actions) logf(level, text string) { a.Log = append(a.Log, Line{level, text}) }

// Split shares slots over the profiles that want pods, in ascending order: the quotient each, and one more for the first
// ones (A11).
func Split(slots, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = slots / n
		if i < slots%n {
			out[i]++
		}
	}
	return out
}
