package kube

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// ResourceClient reads and writes the objects of one resource in one namespace: the calls of k8s.io/client-go/gentype that
// are needed here. That package links the fake clients with it, and they the OpenAPI models and structured merge: 2.5 MB of
// the manager's binary, in every driver.
//
// Errors are the API's own: k8s.io/apimachinery/pkg/api/errors tells them apart.
type ResourceClient[T, L any] struct {
	rest       rest.Interface
	codec      runtime.ParameterCodec
	namespace  string // "" for a resource of the whole cluster
	plural     string
	object     func(*T) runtime.Object
	objectList func(*L) runtime.Object
}

type pointer[T any] interface {
	*T
	runtime.Object
}

func resource[T, L any, P pointer[T], PL pointer[L]](c rest.Interface, codec runtime.ParameterCodec, ns, plural string) *ResourceClient[T, L] {
	return &ResourceClient[T, L]{rest: c, codec: codec, namespace: ns, plural: plural,
		object: func(o *T) runtime.Object { return P(o) }, objectList: func(l *L) runtime.Object { return PL(l) }}
}

// of puts namespace and resource into a request's path.
func (c *ResourceClient[T, L]) of(r *rest.Request) *rest.Request {
	return r.NamespaceIfScoped(c.namespace, c.namespace != "").Resource(c.plural)
}

func (c *ResourceClient[T, L]) one(ctx context.Context, r *rest.Request) (*T, error) {
	o := new(T)
	return o, r.Do(ctx).Into(c.object(o))
}

// Get returns the object of a name.
func (c *ResourceClient[T, L]) Get(ctx context.Context, name string, opts metav1.GetOptions) (*T, error) {
	return c.one(ctx, c.of(c.rest.Get()).Name(name).VersionedParams(&opts, c.codec))
}

// List returns the objects that match the options' selectors.
func (c *ResourceClient[T, L]) List(ctx context.Context, opts metav1.ListOptions) (*L, error) {
	l := new(L)
	return l, c.of(c.rest.Get()).VersionedParams(&opts, c.codec).Timeout(timeout(opts)).Do(ctx).Into(c.objectList(l))
}

// Watch reports what happens to the objects that match the options' selectors.
func (c *ResourceClient[T, L]) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch = true
	return c.of(c.rest.Get()).VersionedParams(&opts, c.codec).Timeout(timeout(opts)).Watch(ctx)
}

// Create creates the object and returns it as the server has it.
func (c *ResourceClient[T, L]) Create(ctx context.Context, o *T, opts metav1.CreateOptions) (*T, error) {
	return c.one(ctx, c.of(c.rest.Post()).VersionedParams(&opts, c.codec).Body(c.object(o)))
}

// Patch changes the object of a name and returns it as the server has it then.
func (c *ResourceClient[T, L]) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, opts metav1.PatchOptions, subresources ...string) (*T, error) {
	return c.one(ctx, c.of(c.rest.Patch(kind)).Name(name).SubResource(subresources...).VersionedParams(&opts, c.codec).Body(patch))
}

// Delete deletes the object of a name.
func (c *ResourceClient[T, L]) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	return c.of(c.rest.Delete()).Name(name).Body(&opts).Do(ctx).Error()
}

func timeout(opts metav1.ListOptions) time.Duration {
	if opts.TimeoutSeconds == nil {
		return 0
	}
	return time.Duration(*opts.TimeoutSeconds) * time.Second
}
