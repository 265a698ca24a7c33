package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/kubespark/kubespark/internal/executor/lifecycle"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

func (m *Manager) fullChanged() bool {
	return m.lifecycle.SeesNew(m.store.FullAt()) && len(m.known) > 0
}

// runLifecycle carries out one run of the lifecycle manager.
func (m *Manager) runLifecycle(now time.Time) {
	view := lifecycle.View{
		Known:      m.known,
		Registered: m.registered.Has,
		Ours:       func(id int64) bool { return m.allocator.Ours(id) || m.killed.Has(id) },
		Active: func(id int64) bool {
			_, ok := m.known[id]
			return ok && !m.killed.Has(id) && !m.released.Has(id)
		},
		Missing: func(id int64) bool {
			return m.store.Get(id) == nil && !m.allocator.Unresolved(id) && !m.unlabelled(id)
		},
		FullAt:      m.store.FullAt(),
		DriverReady: m.ready,
	}
	m.carryOut(m.lifecycle.Run(m.facts.Drain(), view, now))
	m.dirty = true
}

func (m *Manager) carryOut(d lifecycle.Decision) {
	for _, l := range d.Log {
		m.log(l.Level, lifecycleLogger, l.Text)
	}
	for _, r := range d.Removals {
		m.driver.Remove(r, func(err error) {
			if err != nil && m.ctx.Err() == nil {
				m.log("WARN", lifecycleLogger, fmt.Sprintf("Spark was not told that executor %d is gone: %v", r.ID, err))
			}
		})
	}
	for _, e := range d.Ended {
		if e.Failed && !e.Registered {
			m.allocator.StartFailed(e.Pod.Profile, time.Now())
		}
		m.publish(e)
	}
	for _, p := range d.Deletes {
		if m.restartsInPlace(p) {
			m.lifecycle.Cleaned(p.ID, true)
			continue
		}
		m.deletePod(p.Name, p.UID, func(err error) { m.lifecycle.Cleaned(p.ID, err == nil) })
	}
	for _, p := range d.Labels {
		m.labelPod(p.Name, sparkpod.LabelInactive, "true", func(err error) { m.lifecycle.Cleaned(p.ID, err == nil) })
	}
	if len(d.Missing) > 0 {
		m.verifyMissing(d.Missing)
	}
	if d.Exit {
		m.exit(11, lifecycleLogger, fmt.Sprintf("Max number of executor failures (%d) reached", m.set.lifecycle.MaxFailures))
	}
}

// labelPod sets a label. A pod that is gone needs none.
func (m *Manager) labelPod(name, key, value string, done func(error)) {
	m.effect(func(ctx context.Context) {
		err := m.api.LabelPod(ctx, name, key, value)
		if kube.Kind(err) == kube.NotFound {
			err = nil
		}
		m.post(func() { done(err) })
	})
}

// verifyMissing asks Spark for its table again and reads each pod that the cluster does not show by its name: only a 404
// removes the executor (L9).
func (m *Manager) verifyMissing(ids []int64) {
	m.driver.List(func(known map[int64]time.Time, err error) {
		m.post(func() {
			if err != nil {
				m.log("WARN", lifecycleLogger, "The driver did not list its executors: "+err.Error())
				return
			}
			m.setKnown(known)
			for _, id := range ids {
				if at, ok := known[id]; ok && m.store.Get(id) == nil {
					m.verifyOne(id, at)
				}
			}
		})
	})
}

// knownEvery is how often the pushed view of Spark's executors is compared with Spark's own table.
const knownEvery = 5 * time.Minute

// checkKnown asks for Spark's table from time to time and returns when the next time is.
func (m *Manager) checkKnown(now time.Time) time.Time {
	if m.checkAt.IsZero() {
		m.checkAt = now.Add(knownEvery)
	}
	if now.Before(m.checkAt) {
		return m.checkAt
	}
	m.checkAt = now.Add(knownEvery)
	m.driver.List(func(known map[int64]time.Time, err error) {
		m.post(func() {
			if err == nil {
				m.setKnown(known)
			}
		})
	})
	return m.checkAt
}

// setKnown replaces what Spark was believed to know.
func (m *Manager) setKnown(known map[int64]time.Time) {
	for id := range m.known {
		if _, ok := known[id]; !ok {
			m.touch(id)
		}
	}
	for id := range known {
		if _, ok := m.known[id]; !ok {
			m.registered.Add(id)
			m.touch(id)
		}
	}
	m.known = known
}

func (m *Manager) touch(id int64) {
	m.allocator.Touch(id)
	m.dirty = true
}

func (m *Manager) verifyOne(id int64, registered time.Time) {
	name, fullAt := m.nameOf(id), m.store.FullAt()
	if name == "" { // a set's pod that no label names any more
		m.carryOut(m.lifecycle.ConfirmMissing(id, registered, fullAt, time.Now()))
		return
	}
	m.effect(func(ctx context.Context) {
		w, err := m.api.GetPod(ctx, name)
		m.post(func() {
			switch {
			case kube.Kind(err) == kube.NotFound:
				m.carryOut(m.lifecycle.ConfirmMissing(id, registered, fullAt, time.Now()))
				m.dirty = true
			case err != nil:
				m.log("DEBUG", lifecycleLogger, "The pod "+name+" cannot be read: "+err.Error())
			default:
				m.found(id, w)
			}
		})
	})
}

// found takes a pod that is there although no list shows it: somebody changed its labels. Its executor works, so it is
// kept.
func (m *Manager) found(id int64, w *snapshot.Wire) {
	if m.books.table != nil {
		m.books.table.Mounts(id, w.Claims(), false)
	}
	if m.strays.Add(id) {
		m.log("WARN", lifecycleLogger, fmt.Sprintf("Executor %d is kept: its pod %s runs, but its labels were changed, so that no "+
			"list shows it.", id, w.Metadata.Name))
	}
}

// look reads the pod of an executor that lost its connection, instead of waiting for the watch (B11), or that a list has left in
// doubt (T5). At most 20 a second.
func (m *Manager) look(id int64) {
	p := m.store.Get(id)
	if p == nil || p.State.Final() {
		return
	}
	now := time.Now()
	at := m.nextLook
	if at.Before(now) {
		at = now
	}
	m.nextLook = at.Add(50 * time.Millisecond)
	time.AfterFunc(at.Sub(now), func() {
		m.effect(func(ctx context.Context) {
			w, err := m.api.GetPod(ctx, p.Name)
			m.post(func() {
				switch {
				case kube.Kind(err) == kube.NotFound && m.phase == running:
					m.dirty = m.store.Remove(id, nil, time.Now()) || m.dirty
				case err == nil && m.phase == running && w.Metadata.UID == p.UID:
					m.dirty = m.store.Update(m.reader.Read(w), time.Now()) || m.dirty
				}
			})
		})
	})
}
