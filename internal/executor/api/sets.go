package api

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/kube"
)

// The calls on StatefulSets and Deployments (apps/v1). They go as JSON: the Go types of that group would be linked into
// every driver's manager for four calls.

// apps points a request at a set of a resource, or at the collection when name is empty.
func (c *Client) apps(r *rest.Request, resource, name string, sub ...string) *rest.Request {
	path := []string{"/apis/apps/v1/namespaces", c.namespace, resource}
	if name != "" {
		path = append(path, name)
	}
	return r.AbsPath(append(path, sub...)...).MaxRetries(0)
}

// CreateSet posts a set, given as JSON.
func (c *Client) CreateSet(ctx context.Context, resource string, body []byte) error {
	return c.apps(c.core.Post(), resource, "").Param("fieldManager", kube.FieldManager).
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
}

// Set is what the manager reads of a set.
type Set struct {
	Metadata snapshot.WireMeta `json:"metadata"`
	Spec     struct {
		Replicas int `json:"replicas"`
	} `json:"spec"`
}

// GetSet reads a set.
func (c *Client) GetSet(ctx context.Context, resource, name string) (*Set, error) {
	raw, err := answer(c.apps(c.core.Get(), resource, name).Do(ctx))
	if err != nil {
		return nil, err
	}
	s := &Set{}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, fmt.Errorf("the API server's %s cannot be read: %w", resource, err)
	}
	return s, nil
}

// ScaleSet sets the number of a set's replicas.
func (c *Client) ScaleSet(ctx context.Context, resource, name string, replicas int) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	return c.apps(c.core.Patch(types.MergePatchType), resource, name, "scale").Param("fieldManager", kube.FieldManager).
		Body(patch).Do(ctx).Error()
}

// DeleteSet deletes a set, and in the background its pods. With a uid only that very set.
func (c *Client) DeleteSet(ctx context.Context, resource, name, uid string) error {
	opts := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	if uid != "" {
		opts.Preconditions = &metav1.Preconditions{UID: (*types.UID)(&uid)}
	}
	return c.apps(c.core.Delete(), resource, name).Body(&opts).Do(ctx).Error()
}

// PatchPod sets labels and annotations of a pod and returns it as it is then.
func (c *Client) PatchPod(ctx context.Context, name string, labels, annotations map[string]string) (*snapshot.Wire, error) {
	meta := map[string]map[string]string{}
	if len(labels) > 0 {
		meta["labels"] = labels
	}
	if len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return nil, fmt.Errorf("code a patch of pod %s: %w", name, err)
	}
	return wire(c.core.Patch(types.StrategicMergePatchType).Namespace(c.namespace).Resource("pods").Name(name).
		Param("fieldManager", kube.FieldManager).MaxRetries(0).Body(patch).Do(ctx))
}
