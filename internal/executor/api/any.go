package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/kubespark/kubespark/internal/kube"
)

// CreateAny posts a namespaced object of any kind, given as JSON. The server's discovery tells what its kind is called in
// URLs.
func (c *Client) CreateAny(ctx context.Context, body []byte) error {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return fmt.Errorf("the object cannot be read: %w", err)
	}
	if head.APIVersion == "" || head.Kind == "" {
		return errors.New("the object has no apiVersion or no kind")
	}
	root := "/apis/" + head.APIVersion
	if head.APIVersion == "v1" {
		root = "/api/v1"
	}
	resource, err := c.resourceOf(ctx, root, head.Kind)
	if err != nil {
		return err
	}
	return c.core.Post().AbsPath(root, "namespaces", c.namespace, resource).Param("fieldManager", kube.FieldManager).
		SetHeader("Content-Type", "application/json").Body(body).MaxRetries(0).Do(ctx).Error()
}

func (c *Client) resourceOf(ctx context.Context, root, kind string) (string, error) {
	if known, ok := c.resources.Load(root + "/" + kind); ok {
		return known.(string), nil
	}
	raw, err := answer(c.core.Get().AbsPath(root).MaxRetries(0).Do(ctx))
	if err != nil {
		return "", fmt.Errorf("the server's resources below %s cannot be read: %w", root, err)
	}
	var list struct {
		Resources []struct {
			Name       string `json:"name"`
			Kind       string `json:"kind"`
			Namespaced bool   `json:"namespaced"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return "", fmt.Errorf("the server's resources below %s cannot be read: %w", root, err)
	}
	for _, r := range list.Resources {
		if r.Kind == kind && r.Namespaced && !strings.Contains(r.Name, "/") {
			c.resources.Store(root+"/"+kind, r.Name)
			return r.Name, nil
		}
	}
	return "", fmt.Errorf("the server knows no namespaced kind %s below %s", kind, root)
}
