package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubespark/kubespark/internal/executor/allocator"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/feature"
	"github.com/kubespark/kubespark/internal/kube"
)

// createObjects makes what the user's own feature steps want beside a pod, owned by it; claims by the driver pod where it
// owns claims (V2). A pod whose object is refused is deleted again, and the objects that it owns go with it.
func (m *Manager) createObjects(ctx context.Context, c creation, objects []json.RawMessage, w *snapshot.Wire) allocator.Outcome {
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: w.Metadata.Name, UID: types.UID(w.Metadata.UID),
		Controller: new(true)}
	for _, o := range objects {
		by := owner
		if isClaim(o) && c.owner != nil {
			by = *c.owner
		}
		body, err := owned(o, c.in.Namespace, &by)
		if err == nil {
			err = kube.Retry(ctx, claimPatience, func(ctx context.Context) error { return m.api.CreateAny(ctx, body) })
		}
		switch kube.Kind(err) {
		case kube.None, kube.AlreadyExists:
		case kube.Transient, kube.Unknown, kube.Canceled: // it may be there, and the executor at work
			m.log("WARN", allocatorLogger, "An object of a feature step for pod "+w.Metadata.Name+" may be lacking: "+err.Error())
		default:
			m.undo(w)
			return outcome(fmt.Errorf("an object of a feature step for pod %s: %w", w.Metadata.Name, err))
		}
	}
	return allocator.Outcome{Kind: allocator.Created}
}

// owned gives an object its namespace and its owner, if there is one.
func owned(o json.RawMessage, namespace string, owner *metav1.OwnerReference) ([]byte, error) {
	t, err := decodeTree(o)
	if err != nil {
		return nil, err
	}
	meta, _ := t["metadata"].(jsonTree)
	if meta == nil {
		meta = jsonTree{}
		t["metadata"] = meta
	}
	meta["namespace"] = namespace
	if owner != nil {
		meta["ownerReferences"] = []any{owner}
	}
	return json.Marshal(t)
}

// companions makes what belongs to a pod whose creation was not answered: its claims, and what the user's steps want beside
// it. What is there already is taken.
func (m *Manager) companions(ctx context.Context, c creation, spec feature.ExecutorSpec, w *snapshot.Wire) allocator.Outcome {
	o := m.createClaims(ctx, c, spec.Claims, w)
	if o.Kind != allocator.Created || len(spec.UserSteps) == 0 {
		return o
	}
	_, objects, err := m.finish(ctx, c.in, spec)
	if err != nil {
		m.log("WARN", allocatorLogger, "The objects of a feature step for pod "+w.Metadata.Name+" may be lacking: "+err.Error())
		return o
	}
	return m.createObjects(ctx, c, objects, w)
}

// ensureCompanions makes what belongs to a pod that a source showed before its creation was answered, or whose creation an
// earlier life of the manager began. A pod that is gone needs nothing.
func (m *Manager) ensureCompanions(p *snapshot.Pod) {
	if p == nil || p.State != snapshot.Pending || p.Deleting {
		return
	}
	profile, ok := m.profiles[p.Profile]
	if !ok || (!m.userSteps && !slices.ContainsFunc(p.Claims, func(name string) bool { return strings.HasPrefix(name, p.Name+"-pvc-") })) {
		return
	}
	c := m.creation(allocator.Create{ID: p.ID, Profile: p.Profile}, profile)
	ctx := m.makeCtx
	m.creates.Go(func() {
		spec, err := feature.BuildExecutor(c.in)
		if err == nil {
			w := &snapshot.Wire{Metadata: snapshot.WireMeta{Name: p.Name, UID: p.UID}}
			w.Mount(p.Claims)
			if o := m.companions(ctx, c, spec, w); o.Kind == allocator.Created {
				return
			}
		}
		m.log("WARN", allocatorLogger, "What belongs to executor pod "+p.Name+" could not be made.")
	})
}
