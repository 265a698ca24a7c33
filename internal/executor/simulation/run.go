package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// Result is what came of one run.
type Result struct {
	Seed    uint64
	Broken  []string // verdicts of the validators, empty: all is well
	History []string
	Rounds  int64 // of the allocator
	Lives   int   // of the manager
	Pods    int   // ever created
	Took    time.Duration
}

// Hash is a fingerprint of everything that happened.
func (r Result) Hash() string {
	h := sha256.New()
	for _, line := range r.History {
		_, _ = io.WriteString(h, line+"\n") // never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Run makes the run of a seed. change, if it is not nil, alters what the seed has drawn.
func Run(t *testing.T, seed uint64, change func(*plan)) (r Result) {
	synctest.Test(t, func(*testing.T) {
		w := newWorld(seed, change)
		w.play()
		w.over = true
		w.kill()
		r = Result{Seed: seed, Broken: w.broken, History: w.history, Rounds: w.rounds, Lives: w.lives, Pods: len(w.cluster.pods),
			Took: time.Since(w.began)}
	})
	return r
}

// staying is how long all must stay well.
const staying = 4 * time.Minute

// healing is the time from the storm's end until all must be well: back-off, looks and heartbeats have their times. Without a
// watch each executor waits for two lists, and a small maxPendingPods lets them wait one after the other.
func (p *plan) healing() time.Duration {
	if p.conf["spark.kubernetes.executor.enableApiWatcher"] == "false" {
		return 20 * time.Minute
	}
	return 8 * time.Minute
}

func (w *world) play() {
	w.begin()
	w.forecast()
	w.runUntil(w.began.Add(w.plan.storm))
	w.stormy, w.cluster.weather = false, served
	w.calmAt = time.Now().Add(w.plan.healing())
	w.note("the storm is over")
	w.cluster.heal()
	w.trims()
	w.runUntil(w.calmAt)
	if w.spark.exited || len(w.broken) > 0 {
		w.finish()
		return
	}
	if w.judge.calm(targetMissed); len(w.broken) > 0 {
		return
	}
	before := w.judge.lastWrite
	w.runUntil(time.Now().Add(staying))
	if w.judge.lastWrite.After(before) {
		w.fail(notIdle, "the last write was %s ago", time.Since(w.judge.lastWrite))
	}
	w.judge.calm(targetLeft)
	w.finish()
}

func (w *world) finish() {
	if len(w.broken) > 0 {
		return
	}
	w.stormy = w.plan.stormyStop
	w.spark.stop()
	end := time.Now().Add(22 * time.Second)
	w.runUntil(end)
	w.stormy = false
	left := 0
	if w.manager != nil {
		left = w.manager.left
	}
	w.over = true
	w.kill()
	w.runUntil(time.Now().Add(2 * time.Minute))
	if !w.plan.stormyStop {
		w.judge.end(left)
	}
}

// trims lets Spark give back what it has too many of, while the cluster heals.
func (w *world) trims() {
	for _, d := range []time.Duration{30, 90, 150, 210, 270} {
		w.after(d*time.Second, "", w.spark.trim)
	}
}

// bringBack starts the next manager, as the shim does.
func (w *world) bringBack() {
	w.after(w.between(100*time.Millisecond, 5*time.Second), "", func() {
		if w.manager == nil && !w.over {
			w.begin()
		}
	})
}

// mayDie lets the manager die between any two events.
func (w *world) mayDie() {
	if w.stormy && w.manager != nil && w.lives < 12 && w.chance(w.plan.deaths) && (w.lives > 1 || w.manager.started) {
		w.kill()
	}
}
