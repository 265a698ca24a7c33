package kube

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
)

// PodLog opens the log of a container; the caller closes it. Before the container has started the server answers with
// an error of kind Invalid.
func (c *Client) PodLog(ctx context.Context, ns, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	return c.core.Get().Namespace(ns).Resource("pods").Name(pod).SubResource("log").VersionedParams(o, c.codec).Stream(ctx)
}
