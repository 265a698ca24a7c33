package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/internal/executor/sets"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/feature"
	"github.com/kubespark/kubespark/internal/kube"
)

// createSet makes a profile's set, or adopts the one that is there.
func (m *Manager) createSet(c sets.Change) {
	profile, ok := m.profiles[c.Profile]
	if !ok {
		m.fatal(fmt.Sprintf("Spark asked for executors of resource profile %d, which it never described.", c.Profile))
		return
	}
	ours := m.session.Resume != nil || m.sets.posted[c.Profile]
	m.sets.posted[c.Profile] = true
	kind, owner, in, ctx := m.sets.kind, m.owner, m.input(sets.ExecutorID, profile), m.makeCtx
	m.creates.Go(func() {
		err := m.postSet(ctx, kind, c, in, owner)
		replicas := c.Replicas
		if kube.Kind(err) == kube.AlreadyExists {
			replicas, err = m.takeSet(ctx, kind, c.Name, ours)
		} else if err == nil {
			m.log("INFO", allocatorLogger, fmt.Sprintf("Created %s %s with %d replicas for ResourceProfile Id: %d.", kind.Object,
				c.Name, c.Replicas, c.Profile))
		}
		if err == nil {
			c.Replicas = replicas
		}
		o := setOutcome(c, err)
		m.post(func() { m.setAnswered(o) })
	})
}

// postSet builds a set and posts it. What the user's own feature steps want beside its pods comes first, owned by the
// driver pod; their claims become templates like others.
func (m *Manager) postSet(ctx context.Context, kind sets.Kind, c sets.Change, in feature.ExecutorInput, owner *metav1.OwnerReference) error {
	spec, err := feature.BuildExecutor(in)
	if err != nil {
		return err
	}
	body, objects, err := m.finish(ctx, in, spec)
	if err != nil {
		return err
	}
	t := sets.Template{Pod: body, Claims: spec.Claims, Namespace: in.Namespace, Owner: owner}
	for _, o := range objects {
		claim := &corev1.PersistentVolumeClaim{}
		if isClaim(o) && json.Unmarshal(o, claim) == nil {
			t.Claims = append(t.Claims, claim)
			continue
		}
		if body, err = owned(o, in.Namespace, owner); err == nil {
			err = m.api.CreateAny(ctx, body)
		}
		if err != nil && kube.Kind(err) != kube.AlreadyExists {
			return err
		}
	}
	if body, err = kind.Body(t, c, in.AppID); err != nil {
		return err
	}
	return m.api.CreateSet(ctx, kind.Resource, body)
}

// takeSet looks at a set of our name that is there already. One of this application's life is taken over with the replicas
// it has; one of an earlier life of the driver is deleted, and made again in the next round.
func (m *Manager) takeSet(ctx context.Context, kind sets.Kind, name string, ours bool) (replicas int, err error) {
	have, err := m.api.GetSet(ctx, kind.Resource, name)
	if err != nil {
		return 0, err
	}
	if m.owner != nil && !slices.ContainsFunc(have.Metadata.OwnerReferences, func(o snapshot.WireOwner) bool {
		return o.UID == string(m.owner.UID)
	}) {
		return 0, fmt.Errorf("%s %s belongs to another driver: delete it, or give this application an id of its own",
			kind.Object, name)
	}
	if ours {
		return have.Spec.Replicas, nil
	}
	if err := m.api.DeleteSet(ctx, kind.Resource, name, have.Metadata.UID); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("%s %s was left by an earlier run of this driver and is deleted", kind.Object, name)
}

func (m *Manager) scaleSet(c sets.Change) {
	kind, ctx := m.sets.kind, m.makeCtx
	m.creates.Go(func() {
		err := m.api.ScaleSet(ctx, kind.Resource, c.Name, c.Replicas)
		if err == nil {
			m.log("INFO", allocatorLogger, fmt.Sprintf("Scaled %s %s to %d replicas for ResourceProfile Id: %d.", kind.Object,
				c.Name, c.Replicas, c.Profile))
		}
		m.post(func() { m.setAnswered(setOutcome(c, err)) })
	})
}

func (m *Manager) setAnswered(o sets.Outcome) {
	lines, fatal := m.sets.Answer(o, time.Now())
	m.say(lines)
	m.dirty = true
	if fatal != "" {
		m.fatal(fmt.Sprintf("Kubernetes refuses the executors' %s: %s", m.sets.kind.Object, fatal))
	}
}

// writeCost annotates a pod with its deletion cost. A pod that is gone needs none.
func (m *Manager) writeCost(c sets.Cost) {
	m.effect(func(ctx context.Context) {
		_, err := m.api.PatchPod(ctx, c.Pod, nil, map[string]string{sets.DeletionCost: strconv.Itoa(c.Value)})
		if kube.Kind(err) == kube.NotFound {
			err = nil
		}
		m.post(func() {
			if err != nil {
				m.log("WARN", backendLogger, fmt.Sprintf("The pod %s did not get its deletion cost; its set keeps its replicas: %v", c.Pod, err))
			}
			m.sets.Annotated(c, err == nil, time.Now())
			m.dirty = true
		})
	})
}

// deleteSets deletes the sets, so that no controller makes pods any more.
func (m *Manager) deleteSets(ctx context.Context) {
	type doomed struct {
		resource string
		names    []string
	}
	d := ask(ctx, m, func() doomed {
		if m.sets == nil {
			return doomed{}
		}
		return doomed{m.sets.kind.Resource, m.setNames()}
	})
	for _, name := range d.names {
		if err := m.deleteSet(ctx, d.resource, name); err != nil {
			m.log("WARN", managerLogger, fmt.Sprintf("The %s %s cannot be deleted; delete it by hand: %v", d.resource, name, err))
		}
	}
}

func (m *Manager) deleteSet(ctx context.Context, resource, name string) error {
	patient := kube.Backoff{First: 200 * time.Millisecond, Factor: 2, Max: 2 * time.Second, Tries: 4}
	err := kube.Retry(ctx, patient, func(ctx context.Context) error { return m.api.DeleteSet(ctx, resource, name, "") })
	if kube.Kind(err) == kube.NotFound {
		return nil
	}
	return err
}
