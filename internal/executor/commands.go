package executor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// The commands of the driver. Each may come twice, after a restart of the manager, and is answered with CommandDone when
// it needs no repetition any more.

// SetTargets takes the wanted totals.
func (m *Manager) SetTargets(seq int64, totals map[int]int, profiles []sparkpod.Profile) {
	m.whenStarted(func() {
		for _, p := range profiles {
			m.profiles[p.ID] = p
		}
		before := m.allocator.Targets()
		m.allocator.SetTargets(totals)
		if !maps.Equal(before, m.allocator.Targets()) {
			m.log("DEBUG", allocatorLogger, fmt.Sprintf("Set total expected execs to %v", m.allocator.Targets()))
		}
		if m.books.table != nil {
			m.books.table.Outdate()
		}
		m.dirty = true
		m.driver.CommandDone(seq)
	})
}

// kill is a clean-up that is due at the end of a grace period (B7).
type kill struct {
	seq   int64
	ids   []int64
	at    time.Time
	tries int // deletes that were refused
}

// Kill labels executors that Spark killed and, after the grace period, deletes the pods of those that still run.
func (m *Manager) Kill(seq int64, ids []int64, grace time.Duration, issued time.Time) {
	m.whenStarted(func() {
		for _, id := range ids {
			m.killed.Add(id)
		}
		m.giveBack(ids)
		m.label(ids, nil)
		m.kills = append(m.kills, kill{seq: seq, ids: ids, at: issued.Add(grace)})
	})
}

// killLook is how often a due kill is looked at again while the outcome of its pod's creation is unknown.
const killLook = time.Second

// runKills deletes what outlived its grace period and returns when the next one ends.
func (m *Manager) runKills(now time.Time) (next time.Time) {
	var due []kill
	m.kills = slices.DeleteFunc(m.kills, func(k kill) bool {
		if !k.at.After(now) {
			due = append(due, k)
		}
		return !k.at.After(now)
	})
	for _, k := range due {
		if slices.ContainsFunc(k.ids, m.allocator.Unresolved) { // it registered, so its pod is there and will show
			k.at = now.Add(killLook)
			m.kills = append(m.kills, k)
		} else {
			m.forceDelete(k)
		}
	}
	for _, k := range m.kills {
		if next.IsZero() || k.at.Before(next) {
			next = k.at
		}
	}
	return next
}

func (m *Manager) forceDelete(k kill) {
	var pods []*snapshot.Pod
	limit := time.Now().Add(m.set.grace)
	for _, id := range k.ids {
		// A pod that somebody deletes with all the time in the world, for it to be decommissioned, may hang until then.
		if p := m.store.Get(id); p != nil && !p.State.Final() && (!p.Deleting || p.Ends.After(limit)) {
			pods = append(pods, p)
		}
	}
	if len(pods) == 0 {
		m.driver.CommandDone(k.seq)
		return
	}
	m.log("INFO", backendLogger, fmt.Sprintf("Forcefully deleting %d pods (out of %d) that are still running after graceful "+
		"shutdown period.", len(pods), len(k.ids)))
	left := len(pods)
	again := kill{seq: k.seq, tries: k.tries + 1}
	for _, p := range pods {
		end := m.deletePod
		if p.Deleting {
			end = m.hastenPod
		}
		end(p.Name, p.UID, func(err error) {
			if err != nil {
				m.log("WARN", backendLogger, "The pod "+p.Name+" of a killed executor cannot be deleted: "+err.Error())
				again.ids = append(again.ids, p.ID)
			}
			if left--; left > 0 {
				return
			}
			if len(again.ids) == 0 {
				m.driver.CommandDone(k.seq)
				return
			}
			again.at = time.Now().Add(min(time.Minute, time.Second<<min(k.tries, 6)))
			m.kills = append(m.kills, again)
		})
	}
}

// Release labels executors that Spark decommissions (B8).
func (m *Manager) Release(seq int64, ids []int64) {
	m.whenStarted(func() {
		for _, id := range ids {
			m.released.Add(id)
		}
		m.giveBack(ids)
		m.label(ids, func() { m.driver.CommandDone(seq) })
	})
}

// label sets the decommission label on the pods of the executors, in parallel, one PATCH each.
func (m *Manager) label(ids []int64, done func()) {
	var pods []*snapshot.Pod
	for _, id := range ids {
		if p := m.store.Get(id); p != nil && m.set.releaseLabel != "" {
			pods = append(pods, p)
		}
	}
	left := len(pods)
	if left == 0 && done != nil {
		done()
	}
	for _, p := range pods {
		m.labelPod(p.Name, m.set.releaseLabel, m.set.releaseValue, func(err error) {
			if err != nil {
				m.log("WARN", backendLogger, fmt.Sprintf("The pod %s did not get the label %s: %v", p.Name, m.set.releaseLabel, err))
			}
			if left--; left == 0 && done != nil {
				done()
			}
		})
	}
}

// Registered takes the news that an executor registered with Spark. host is its address: a known executor that had it
// before is looked at, because readers would trust its blocks (B11).
func (m *Manager) Registered(id int64, profile int, host string, at time.Time) {
	m.whenStarted(func() {
		m.known[id] = at
		m.registered.Add(id)
		m.allocator.Registered(profile)
		m.allocator.Touch(id)
		if other, ok := m.hosts[host]; ok && other != id {
			if _, known := m.known[other]; known {
				m.look(other)
			}
		}
		if host != "" {
			m.hosts[host] = id
		}
		if m.sets != nil {
			m.sets.Registered(id)
		}
		m.dirty = true
	})
}

// Removed takes the news that Spark forgot an executor. ours says that Spark itself asked for its end.
func (m *Manager) Removed(id int64, ours bool) {
	m.whenStarted(func() {
		delete(m.known, id)
		if ours {
			m.killed.Add(id)
		}
		m.allocator.Touch(id)
		m.dirty = true
	})
}

// Disconnected takes the news that an executor's connection broke.
func (m *Manager) Disconnected(id int64) { m.whenStarted(func() { m.look(id) }) }

// SetConf takes a change of the SparkConf that later pods depend on.
func (m *Manager) SetConf(seq int64, key, value string) {
	m.whenStarted(func() {
		m.conf = m.conf.With(map[string]string{key: value})
		m.driver.CommandDone(seq)
	})
}
