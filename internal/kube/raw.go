package kube

import "k8s.io/client-go/rest"

// Core is the untyped client of the core/v1 group. The manager lists and watches thousands of pods through it and decodes
// only the few fields it needs.
func (c *Client) Core() rest.Interface { return c.core }
