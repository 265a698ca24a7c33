// Package kube talks to the Kubernetes API for the submitter and the manager: configuration from Spark's keys, kubeconfig or
// service account, typed clients over the few API groups that Spark needs, kinds of API error, and retries.
//
// It keeps clear of k8s.io/client-go/kubernetes, which links every API group into the manager's binary, and of its gentype,
// which links the fake clients (a test holds both). It answers to
// Spark's SparkKubernetesClientFactory.
package kube

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// FieldManager is the owner of the fields that any write of ours sets.
const FieldManager = "kubespark"

// Client is a set of typed clients over one connection pool. It is safe for concurrent use.
type Client struct {
	scheme     *runtime.Scheme
	codec      runtime.ParameterCodec
	core       rest.Interface
	networking rest.Interface
	volcano    rest.Interface
}

// NewClient makes the clients of a configuration. Nothing is sent.
func NewClient(cfg *rest.Config) (*Client, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	c := &Client{scheme: scheme, codec: runtime.NewParameterCodec(scheme)}
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("the Kubernetes client configuration cannot be used: %w", err)
	}
	restClient := func(gv schema.GroupVersion, path string) (rest.Interface, error) {
		n := rest.CopyConfig(cfg)
		n.GroupVersion, n.APIPath = &gv, path
		n.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
		rc, err := rest.RESTClientForConfigAndClient(n, httpClient)
		if err != nil {
			return nil, fmt.Errorf("the Kubernetes client configuration cannot be used: %w", err)
		}
		return rc, nil
	}
	if c.core, err = restClient(corev1.SchemeGroupVersion, "/api"); err != nil {
		return nil, err
	}
	if c.networking, err = restClient(networkingv1.SchemeGroupVersion, "/apis"); err != nil {
		return nil, err
	}
	if c.volcano, err = restClient(podGroup.GroupVersion(), "/apis"); err != nil {
		return nil, err
	}
	return c, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, networkingv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register API types: %w", err)
		}
	}
	metav1.AddToGroupVersion(scheme, podGroup.GroupVersion()) // the options of calls
	return scheme, nil
}

// Pods returns the client of the pods in a namespace.
func (c *Client) Pods(ns string) *ResourceClient[corev1.Pod, corev1.PodList] {
	return resource[corev1.Pod, corev1.PodList](c.core, c.codec, ns, "pods")
}

// ConfigMaps returns the client of the ConfigMaps in a namespace.
func (c *Client) ConfigMaps(ns string) *ResourceClient[corev1.ConfigMap, corev1.ConfigMapList] {
	return resource[corev1.ConfigMap, corev1.ConfigMapList](c.core, c.codec, ns, "configmaps")
}

// Services returns the client of the Services in a namespace.
func (c *Client) Services(ns string) *ResourceClient[corev1.Service, corev1.ServiceList] {
	return resource[corev1.Service, corev1.ServiceList](c.core, c.codec, ns, "services")
}

// Secrets returns the client of the Secrets in a namespace.
func (c *Client) Secrets(ns string) *ResourceClient[corev1.Secret, corev1.SecretList] {
	return resource[corev1.Secret, corev1.SecretList](c.core, c.codec, ns, "secrets")
}

// PersistentVolumeClaims returns the client of the claims in a namespace.
func (c *Client) PersistentVolumeClaims(ns string) *ResourceClient[corev1.PersistentVolumeClaim, corev1.PersistentVolumeClaimList] {
	return resource[corev1.PersistentVolumeClaim, corev1.PersistentVolumeClaimList](c.core, c.codec, ns, "persistentvolumeclaims")
}

// NetworkPolicies returns the client of the network policies in a namespace.
func (c *Client) NetworkPolicies(ns string) *ResourceClient[networkingv1.NetworkPolicy, networkingv1.NetworkPolicyList] {
	return resource[networkingv1.NetworkPolicy, networkingv1.NetworkPolicyList](c.networking, c.codec, ns, "networkpolicies")
}

// Events returns the client of the core/v1 Events in a namespace.
func (c *Client) Events(ns string) *ResourceClient[corev1.Event, corev1.EventList] {
	return resource[corev1.Event, corev1.EventList](c.core, c.codec, ns, "events")
}

// Nodes returns the client of the cluster's nodes.
func (c *Client) Nodes() *ResourceClient[corev1.Node, corev1.NodeList] {
	return resource[corev1.Node, corev1.NodeList](c.core, c.codec, "", "nodes")
}
