package kube

import (
	"context"
	"encoding/json"
	"fmt"
)

// Can asks the server whether the caller may use a verb on a resource (of the core group) in a namespace.
func (c *Client) Can(ctx context.Context, verb, resource, namespace string) (bool, error) {
	type attributes struct {
		Namespace string `json:"namespace"`
		Verb      string `json:"verb"`
		Resource  string `json:"resource"`
	}
	type review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Spec       struct {
			ResourceAttributes attributes `json:"resourceAttributes"`
		} `json:"spec"`
		Status struct {
			Allowed bool `json:"allowed"`
		} `json:"status"`
	}
	r := review{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"}
	r.Spec.ResourceAttributes = attributes{namespace, verb, resource}
	body, err := json.Marshal(r)
	if err != nil {
		return false, fmt.Errorf("encode an access review: %w", err)
	}
	answer, err := c.core.Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Raw()
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return false, fmt.Errorf("read the answer of an access review: %w", err)
	}
	return r.Status.Allowed, nil
}
