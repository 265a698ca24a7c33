package executor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/executor/sets"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/feature"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// What differs when the executors live in StatefulSets or Deployments (K1 to K5): the sets' room decides, this file and
// setcalls.go carry it out. Manager.sets is nil with the direct allocator.

// chooseAllocator reads which allocator runs. A class that does not run here is a FallbackError.
func (m *Manager) chooseAllocator() error {
	name, ok, err := conf.AllocatorOf(m.conf)
	if err != nil {
		return err
	}
	if !ok {
		return &FallbackError{fmt.Sprintf("%s: class %s needs the stock manager", conf.PodsAllocator.Key(), name)}
	}
	m.sets = nil
	if name == conf.DirectAllocator {
		return nil
	}
	set := sets.Settings{Kind: sets.StatefulSet, AppID: m.session.AppID, Stock: conf.IsStock(m.conf, "set-scale")}
	if name == conf.DeploymentAllocator {
		set.Kind = sets.Deployment
		cost, given, err := conf.PodDeletionCost.Lookup(m.conf)
		if err != nil {
			return err
		}
		dynamic, err := conf.DynamicAllocation.Get(m.conf)
		if err != nil {
			return err
		}
		if dynamic && !given {
			return errors.New("Dynamic allocation with the deployment pods allocator requires 'spark.kubernetes.executor.podDeletionCost' to be configured.") //nolint:staticcheck // Spark's own text
		}
		if given {
			set.Cost = &cost
		}
	}
	m.sets = &setMode{Allocator: sets.New(set), kind: set.Kind, posted: map[int]bool{}}
	return nil
}

// setMode is the state of the sets and what only their effects need.
type setMode struct {
	*sets.Allocator
	kind   sets.Kind
	posted map[int]bool // profiles whose set was posted in this life: one that is there already is ours
}

// checkSets refuses what a set cannot carry, before anything is written.
func (m *Manager) checkSets(profile sparkpod.Profile) error {
	if m.sets == nil {
		return nil
	}
	if m.owner == nil {
		m.log("WARN", allocatorLogger, "There is no driver pod to own the "+m.sets.kind.Resource+" of the executors: they stay if the "+
			"driver is killed.")
	}
	in := m.input(sets.ExecutorID, profile)
	spec, err := feature.BuildExecutor(in)
	if err != nil {
		return err
	}
	body, err := podBody(spec, in)
	if err != nil {
		return err
	}
	return m.sets.kind.Check(sets.Template{Pod: body})
}

// runSets carries out one round of the sets.
func (m *Manager) runSets(now time.Time) {
	act := m.sets.Round(m.allocator.Targets(), m.known, now)
	m.nextRound = act.Next
	m.say(act.Log)
	for _, c := range act.Creates {
		m.createSet(c)
	}
	for _, c := range act.Scales {
		m.scaleSet(c)
	}
	for _, c := range act.Costs {
		m.writeCost(c)
	}
}

func (m *Manager) say(lines []sets.Line) {
	for _, l := range lines {
		m.log(l.Level, allocatorLogger, l.Text)
	}
}

// giveBack tells the sets that Spark gives executors back.
func (m *Manager) giveBack(ids []int64) {
	if m.sets != nil {
		m.say(m.sets.Release(ids))
		m.dirty = true
	}
}

// Assigned labels the pod of an executor that asked for an id, until the label holds or the pod is gone (B9). The id counts
// at once: the executor that had the pod before is over (K5).
func (m *Manager) Assigned(seq int64, pod string, id int64) {
	m.whenStarted(func() {
		if m.sets != nil {
			m.sets.Assigned(pod, id)
			m.store.Supersede(pod, id)
			m.dirty = true
		}
		m.effect(func(ctx context.Context) {
			var w *snapshot.Wire
			patient := kube.Backoff{First: 200 * time.Millisecond, Factor: 2, Max: 30 * time.Second, Tries: 50, Jitter: 0.2,
				Rand: m.env.Rand}
			err := kube.Retry(ctx, patient, func(ctx context.Context) (err error) {
				w, err = m.api.PatchPod(ctx, pod, map[string]string{sparkpod.LabelExecutorID: strconv.FormatInt(id, 10)}, nil)
				return err
			})
			if err != nil && kube.Kind(err) != kube.NotFound && ctx.Err() == nil {
				m.log("WARN", backendLogger, fmt.Sprintf("The pod %s did not get the label of executor %d: %v", pod, id, err))
			}
			m.post(func() {
				if m.sets != nil {
					m.sets.Labelled(id)
				}
			})
			if err == nil {
				m.Pod(m.reader.Read(w)) // visible at once
			}
			m.driver.CommandDone(seq)
		})
	})
}

// current says whether a pod shows the newest id that its executor was given. A newer one than was known ends the older.
func (m *Manager) current(p *snapshot.Pod) bool {
	if m.sets == nil {
		return true
	}
	if !m.sets.Seen(p.Name, p.ID) {
		return false
	}
	m.store.Supersede(p.Name, p.ID)
	return true
}

// unlabelled says whether an executor's pod cannot be seen yet, because its label is on the way.
func (m *Manager) unlabelled(id int64) bool { return m.sets != nil && m.sets.Unlabelled(id) }

// nameOf is the name of an executor's pod.
func (m *Manager) nameOf(id int64) string {
	if m.sets != nil {
		return m.sets.PodOf(id)
	}
	return m.podName(strconv.FormatInt(id, 10))
}

// restartsInPlace says whether a pod's containers are started again by its node: such a pod is not deleted when its
// executor ends.
func (m *Manager) restartsInPlace(p *snapshot.Pod) bool { return m.sets != nil && p.Phase == "Running" }

// setNames are the sets that this application may have.
func (m *Manager) setNames() []string {
	if m.sets == nil {
		return nil
	}
	names := m.sets.Made()
	if r := m.session.Resume; r != nil { // opened only to clean up: nothing was read of the cluster
		for rp := range r.Totals {
			if name := m.sets.Name(rp); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// setOutcome sorts the server's answer.
func setOutcome(c sets.Change, err error) sets.Outcome {
	o := sets.Outcome{Change: c}
	if err == nil {
		return o
	}
	o.Text = err.Error()
	o.RetryAfter, _ = kube.RetryAfter(err)
	code := 0
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		code = int(status.Status().Code)
	}
	o.Missing = code == http.StatusNotFound
	switch kube.Kind(err) {
	case kube.Forbidden, kube.Unauthorized, kube.Invalid, kube.NotFound, kube.Other:
		o.Permanent = true
	}
	return o
}
