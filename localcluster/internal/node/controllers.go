package node

import (
	"context"
	"fmt"
	"time"

	vknode "github.com/virtual-kubelet/virtual-kubelet/node"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/util/workqueue"
)

// controllers are virtual-kubelet's two: one hands the node's pods to the provider, the other keeps the Node object and its lease. They are
// joined here and not by the library's nodeutil, which would bring the API server's packages into this program.
type controllers struct {
	assigned informers.SharedInformerFactory // the pods of this node
	pods     *vknode.PodController
	node     *vknode.NodeController
}

func newControllers(p *provider, o Options) (*controllers, error) {
	spec, err := nodeSpec(o)
	if err != nil {
		return nil, err
	}
	c := &controllers{assigned: informers.NewSharedInformerFactoryWithOptions(p.client, 0, informers.WithTweakListOptions(func(l *metav1.ListOptions) {
		l.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", o.Name).String()
	}))}
	p.assigned = c.assigned.Core().V1().Pods().Lister()
	// The pod controller asks for these three, and uses them only to resolve environments, which the provider does itself: they stay unstarted.
	unused := informers.NewSharedInformerFactory(p.client, 0).Core().V1()
	c.pods, err = vknode.NewPodController(vknode.PodControllerConfig{
		PodClient:                 p.client.CoreV1(),
		PodInformer:               c.assigned.Core().V1().Pods(),
		EventRecorder:             quiet{p.events.r},
		Provider:                  p,
		ConfigMapInformer:         unused.ConfigMaps(),
		SecretInformer:            unused.Secrets(),
		ServiceInformer:           unused.Services(),
		SkipDownwardAPIResolution: true,

		SyncPodsFromKubernetesRateLimiter:    perPod(),
		DeletePodsFromKubernetesRateLimiter:  perPod(),
		SyncPodStatusFromProviderRateLimiter: perPod(),
	})
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", o.Name, err)
	}
	leases := p.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	c.node, err = vknode.NewNodeController(vknode.NewNaiveNodeProvider(), &spec, p.client.CoreV1().Nodes(),
		vknode.WithNodeEnableLeaseV1(leases, vknode.DefaultLeaseDuration))
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", o.Name, err)
	}
	return c, nil
}

// perPod delays a pod again and again only for its own failures. The library's limit is ten changes a second for all pods together, and a
// quarter of an hour for one that fails.
func perPod() workqueue.TypedRateLimiter[any] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[any](5*time.Millisecond, 10*time.Second)
}

// run runs both until the context ends or one of them cannot go on, and returns when both have ended. The node is registered when its pods
// can be handled.
func (c *controllers) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.assigned.Start(ctx.Done())
	podsErr, nodeErr := make(chan error, 1), make(chan error, 1)
	go func() { podsErr <- c.pods.Run(ctx, podWorkers) }()
	select {
	case err := <-podsErr:
		return err
	case <-c.pods.Ready():
	}
	go func() { nodeErr <- c.node.Run(ctx) }()
	var err error
	select {
	case err = <-podsErr:
		cancel()
		<-nodeErr //nolint:errcheck // the end that was asked for
	case err = <-nodeErr:
		cancel()
		<-podsErr //nolint:errcheck // the end that was asked for
	}
	return err
}
