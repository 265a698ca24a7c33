package executor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubespark/kubespark/internal/executor/allocator"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/feature"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// runAllocator carries out one round of the allocator.
func (m *Manager) runAllocator(now time.Time) {
	if m.sets != nil {
		m.runSets(now)
		return
	}
	act := m.allocator.Round(m.store, allocator.View{Known: func(id int64) bool { _, ok := m.known[id]; return ok },
		Room: m.room(now)}, now)
	m.nextRound = act.Next
	m.rounds++
	for _, l := range act.Log {
		m.log(l.Level, allocatorLogger, l.Text)
	}
	if act.Reserve > 0 {
		m.reserve(act.Reserve)
	}
	m.createAll(act.Creates)
	if act.Waiting {
		m.waitForClaims(now)
	}
	for _, c := range act.Resolve {
		m.create(c, true)
	}
	for _, id := range act.Shown {
		m.ensureCompanions(m.store.Get(id))
	}
	for _, id := range act.Forget {
		m.forget(id)
	}
	if len(act.Deny) > 0 {
		m.deny(act.Deny)
	}
	for _, p := range act.Deletes {
		m.deleteDenied(p)
	}
	if len(act.Allow) > 0 {
		m.driver.Allow(act.Allow)
	}
}

// forget deletes the pod of a create that nobody has seen for the creation timeout, if it is there.
func (m *Manager) forget(id int64) {
	name := m.podName(strconv.FormatInt(id, 10))
	if !m.set.deleteExecutors {
		return
	}
	m.deletePod(name, "", func(err error) {
		if err != nil {
			m.log("WARN", allocatorLogger, "The pod "+name+" cannot be deleted: "+err.Error())
		} else if m.books.table != nil && m.store.Get(id) == nil {
			m.books.table.Release(id)
		}
	})
}

func (m *Manager) reserve(n int) {
	m.driver.Reserve(n, func(from, to int64, err error) {
		m.post(func() {
			if err != nil {
				m.log("ERROR", allocatorLogger, "The driver gave no executor ids: "+err.Error())
				from, to = 1, 0
			}
			m.allocator.Reserved(from, to)
			m.dirty = m.dirty || err == nil
		})
	})
}

func (m *Manager) deny(ids []int64) {
	m.driver.Deny(ids, func(registered []int64, err error) {
		m.post(func() {
			if err != nil {
				m.log("WARN", allocatorLogger, "The driver did not answer whether excess executors may be deleted; they are kept: "+err.Error())
				m.allocator.DenyFailed(ids)
				return
			}
			m.allocator.Denied(ids, registered, time.Now())
			m.dirty = true
		})
	})
}

func (m *Manager) deleteDenied(p *snapshot.Pod) {
	m.deletePod(p.Name, p.UID, func(err error) {
		k := kube.Kind(err)
		refused := k == kube.Forbidden || k == kube.Unauthorized || k == kube.Invalid || k == kube.Other
		m.allocator.Deleted(p.ID, err == nil, refused, time.Now())
		if refused {
			m.log("WARN", allocatorLogger, "The excess executor pod "+p.Name+" cannot be deleted: "+err.Error())
		}
		m.dirty = true
	})
}

// deletePod deletes a pod, only the one of that uid if one is given. Gone already, or another pod of that name, is
// success. done runs on the owner goroutine; nil is none.
func (m *Manager) deletePod(name, uid string, done func(error)) {
	m.endPod(name, done, func(ctx context.Context) error { return m.api.DeletePod(ctx, name, uid) })
}

// hastenPod is deletePod for a pod whose deletion gives it more than its own grace period.
func (m *Manager) hastenPod(name, uid string, done func(error)) {
	grace := m.set.grace
	m.endPod(name, done, func(ctx context.Context) error { return m.api.HastenPod(ctx, name, uid, grace) })
}

func (m *Manager) endPod(name string, done func(error), call func(context.Context) error) {
	m.effect(func(ctx context.Context) {
		err := call(ctx)
		if k := kube.Kind(err); k == kube.NotFound || k == kube.Conflict {
			err = nil
		}
		if done != nil {
			m.post(func() { done(err) })
		} else if err != nil && ctx.Err() == nil {
			m.log("WARN", allocatorLogger, "The pod "+name+" cannot be deleted: "+err.Error())
		}
	})
}

// creation is one create under way, with all it needs away from the owner goroutine.
type creation struct {
	allocator.Create
	in    feature.ExecutorInput
	name  string
	sent  time.Time
	owner *metav1.OwnerReference // of claims; nil: the pod itself
}

// create posts a pod. With look it was posted without an answer, and is read.
func (m *Manager) create(c allocator.Create, look bool) {
	profile, ok := m.profiles[c.Profile]
	if !ok {
		m.fatal(fmt.Sprintf("Spark asked for executors of resource profile %d, which it never described.", c.Profile))
		return
	}
	cr := m.creation(c, profile)
	ctx := m.makeCtx
	m.creates.Go(func() {
		o := m.attempt(ctx, cr, look)
		o.ID, o.Sent = c.ID, cr.sent
		m.post(func() { m.answered(o) })
	})
}

func (m *Manager) creation(c allocator.Create, profile sparkpod.Profile) creation {
	id := strconv.FormatInt(c.ID, 10)
	cr := creation{Create: c, in: m.input(id, profile), name: m.podName(id), sent: time.Now()}
	if m.set.ownClaims {
		cr.owner = m.owner
	}
	return cr
}

func (m *Manager) answered(o allocator.Outcome) {
	m.releaseRefused(o)
	m.countRefused(o)
	if o.Kind == allocator.Lost { // a source may have shown the pod before
		m.ensureCompanions(m.store.Get(o.ID))
	}
	lines, fatal := m.allocator.Answer(o, time.Now())
	for _, l := range lines {
		m.log(l.Level, allocatorLogger, l.Text)
	}
	m.dirty = true
	if fatal != "" {
		m.fatal("Kubernetes refuses every executor pod: " + fatal)
	}
}

// countRefused counts a refused create as an executor failure, as Spark 4.2 does when asked to be like stock (section 10).
func (m *Manager) countRefused(o allocator.Outcome) {
	if m.set.countRefused && (o.Kind == allocator.Busy || o.Kind == allocator.Refused || o.Kind == allocator.Permanent) {
		n := m.lifecycle.CountFailure(time.Now())
		m.log("ERROR", allocatorLogger, fmt.Sprintf("Failed to create executor pod %d. Total failures: %d", o.ID, n))
		m.runLifecycle(time.Now())
	}
}

// fatal ends the application: nothing that can still happen would heal the error.
func (m *Manager) fatal(text string) {
	m.exit(1, allocatorLogger, text)
}

// exit ends the driver's JVM, once.
func (m *Manager) exit(code int, logger, text string) {
	if m.phase != running || m.exited {
		return
	}
	m.exited, m.gate = true, false
	m.log("ERROR", logger, text)
	m.driver.Exit(code, text)
}

func (m *Manager) attempt(ctx context.Context, c creation, look bool) (o allocator.Outcome) {
	spec, err := feature.BuildExecutor(c.in)
	if err != nil {
		return m.unbuilt(err)
	}
	if look {
		o, found := m.lookUp(ctx, c, spec)
		if !found {
			o.Kind = allocator.Absent
		}
		return o
	}
	if !m.takeClaims(ctx, c.ID, &spec) {
		return allocator.Outcome{Kind: allocator.Withdrawn}
	}
	body, objects, err := m.finish(ctx, c.in, spec)
	if err != nil {
		return m.unbuilt(err)
	}
	posted := time.Now()
	w, err := m.api.CreatePod(ctx, body)
	took := time.Since(posted)
	defer func() { o.Latency = took }()
	if kube.Kind(err) == kube.AlreadyExists {
		o, found := m.lookUp(ctx, c, spec)
		if !found {
			o = allocator.Outcome{Kind: allocator.Busy, Text: err.Error()} // there a moment ago, gone now
		}
		return o
	}
	if err != nil {
		return outcome(err)
	}
	if !m.set.allocator.StockGate {
		m.Pod(m.reader.Read(w)) // visible at once (W4)
	}
	m.log("DEBUG", allocatorLogger, "Requested executor with id "+c.in.ExecutorID+" from Kubernetes.")
	if o := m.createClaims(ctx, c, spec.Claims, w); o.Kind != allocator.Created {
		return o
	}
	return m.createObjects(ctx, c, objects, w)
}

// unbuilt sorts an error of building a pod: one of the user's own steps may be of the moment, any other is in the settings.
func (m *Manager) unbuilt(err error) allocator.Outcome {
	if step := (*stepError)(nil); !errors.As(err, &step) {
		m.post(func() { m.fatal("Executor pods cannot be built: " + err.Error()) })
	}
	return allocator.Outcome{Kind: allocator.Permanent, Text: err.Error()}
}

func podBody(spec feature.ExecutorSpec, in feature.ExecutorInput) ([]byte, error) {
	spec.Pod.Namespace = in.Namespace
	if in.Driver != nil {
		spec.Pod.OwnerReferences = []metav1.OwnerReference{*in.Driver}
	}
	return spec.Body()
}

// lookUp reads the pod of that name: ours is adopted, somebody else's means the next id.
func (m *Manager) lookUp(ctx context.Context, c creation, spec feature.ExecutorSpec) (o allocator.Outcome, found bool) {
	w, err := m.api.GetPod(ctx, c.name)
	switch {
	case kube.Kind(err) == kube.NotFound:
		return o, false
	case err != nil:
		return allocator.Outcome{Kind: allocator.Lost, Text: err.Error()}, true
	case !c.owns(w):
		return allocator.Outcome{Kind: allocator.Skipped}, true
	}
	m.Pod(m.reader.Read(w))
	m.log("DEBUG", allocatorLogger, "Adopted executor pod "+c.name+", whose creation was not answered.")
	return m.companions(ctx, c, spec, w), true
}

// owns says whether a pod is the one that this create meant.
func (c creation) owns(w *snapshot.Wire) bool {
	l := w.Metadata.Labels
	if l[sparkpod.LabelAppSelector] != c.in.AppID || l[sparkpod.LabelExecutorID] != c.in.ExecutorID {
		return false
	}
	if c.in.Driver == nil {
		return true
	}
	for _, o := range w.Metadata.OwnerReferences {
		if o.UID == string(c.in.Driver.UID) {
			return true
		}
	}
	return false
}

// undo deletes a pod whose claims could not be made, until it is gone.
func (m *Manager) undo(w *snapshot.Wire) {
	name, uid := w.Metadata.Name, w.Metadata.UID
	m.effect(func(ctx context.Context) {
		patient := kube.Backoff{First: time.Second, Factor: 2, Max: time.Minute, Tries: 20, Jitter: 0.2, Rand: m.env.Rand}
		err := kube.Retry(ctx, patient, func(ctx context.Context) error { return m.api.DeletePod(ctx, name, uid) })
		if k := kube.Kind(err); err != nil && k != kube.NotFound && k != kube.Conflict {
			m.log("WARN", allocatorLogger, "The pod "+name+" has no claim and cannot be deleted: "+err.Error())
		}
	})
}

// outcome sorts the server's answer to a create by what it means for the next ones (section 10).
func outcome(err error) allocator.Outcome {
	o := allocator.Outcome{Text: err.Error()}
	o.RetryAfter, _ = kube.RetryAfter(err)
	code := 0
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		code = int(status.Status().Code)
	}
	o.Throttled = code == http.StatusTooManyRequests
	switch kube.Kind(err) {
	case kube.Quota, kube.Transient, kube.Conflict:
		o.Kind = allocator.Busy
	case kube.Forbidden, kube.Unauthorized, kube.Other:
		o.Kind = allocator.Refused
	case kube.Invalid, kube.NotFound:
		o.Kind = allocator.Permanent
	default:
		o.Kind = allocator.Lost
		if code >= 500 && code != http.StatusGatewayTimeout {
			o.Kind = allocator.Busy
		}
	}
	return o
}
