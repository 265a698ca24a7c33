package executor

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubespark/kubespark/internal/executor/allocator"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
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
			err = m.api.CreateAny(ctx, body)
		}
		if err != nil && kube.Kind(err) != kube.AlreadyExists {
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
