package kube

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// podGroup is the kind of Volcano's gangs. It is handled as a JSON tree, as its Go types are not linked in.
var podGroup = schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "PodGroup"}

// ObjectRef names an object of a kind that this client knows, for calls whose kind is data.
type ObjectRef struct {
	Kind, Resource, Namespace, Name string
	group                           string
}

func (r ObjectRef) String() string { return r.Kind + " " + r.Namespace + "/" + r.Name }

// Ref describes obj, placed in namespace ns whatever its own metadata say.
func Ref(obj runtime.Object, ns string) (ObjectRef, error) {
	r := ObjectRef{Namespace: ns}
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		if o.GroupVersionKind() != podGroup {
			return r, fmt.Errorf("objects of kind %s in %s are not known to this client", o.GetKind(), o.GetAPIVersion())
		}
		r.Kind, r.Resource, r.group = podGroup.Kind, "podgroups", podGroup.Group
	case *corev1.Pod:
		r.Kind, r.Resource = "Pod", "pods"
	case *corev1.ConfigMap:
		r.Kind, r.Resource = "ConfigMap", "configmaps"
	case *corev1.Service:
		r.Kind, r.Resource = "Service", "services"
	case *corev1.Secret:
		r.Kind, r.Resource = "Secret", "secrets"
	case *corev1.PersistentVolumeClaim:
		r.Kind, r.Resource = "PersistentVolumeClaim", "persistentvolumeclaims"
	case *networkingv1.NetworkPolicy:
		r.Kind, r.Resource, r.group = "NetworkPolicy", "networkpolicies", "networking.k8s.io"
	default:
		return r, fmt.Errorf("objects of type %T are not known to this client", obj)
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return r, fmt.Errorf("read the metadata of a %s: %w", r.Kind, err)
	}
	r.Name = m.GetName()
	return r, nil
}

func (c *Client) rest(r ObjectRef) rest.Interface {
	switch r.group {
	case "networking.k8s.io":
		return c.networking
	case podGroup.Group:
		return c.volcano
	}
	return c.core
}

// Encode writes obj as it goes on the wire: apiVersion and kind set, no status, nothing that was not given a value.
func Encode(obj runtime.Object) ([]byte, error) {
	if o, ok := obj.(*unstructured.Unstructured); ok {
		tree := o.DeepCopy().Object
		delete(tree, "status")
		return json.Marshal(tree)
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	kinds, _, err := scheme.ObjectKinds(obj)
	if err != nil {
		return nil, fmt.Errorf("encode a %T: %w", obj, err)
	}
	obj = obj.DeepCopyObject()
	obj.GetObjectKind().SetGroupVersionKind(kinds[0])
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("encode a %s: %w", kinds[0].Kind, err)
	}
	delete(tree, "status")
	return json.Marshal(tree)
}

// CreateRaw posts an object given as JSON and returns the server's answer in into. The pod of a submission goes this way,
// because a template may hold fields that our Go types do not know.
func (c *Client) CreateRaw(ctx context.Context, r ObjectRef, body []byte, into runtime.Object) error {
	return c.post(r, body).Do(ctx).Into(into)
}

func (c *Client) post(r ObjectRef, body []byte) *rest.Request {
	return c.rest(r).Post().Namespace(r.Namespace).Resource(r.Resource).
		VersionedParams(&metav1.CreateOptions{FieldManager: FieldManager}, c.codec).
		SetHeader("Content-Type", "application/json").Body(body)
}

// metadataOnly is for answers that are not read: the server leaves all but the metadata out. A server that cannot sends all.
const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// CreateObject posts obj into namespace ns.
func (c *Client) CreateObject(ctx context.Context, ns string, obj runtime.Object) error {
	r, err := Ref(obj, ns)
	if err != nil {
		return err
	}
	body, err := Encode(obj)
	if err != nil {
		return err
	}
	return c.post(r, body).SetHeader("Accept", metadataOnly).Do(ctx).Error()
}

// GetObject reads the object of obj's kind and name in namespace ns.
func (c *Client) GetObject(ctx context.Context, ns string, obj runtime.Object) (runtime.Object, error) {
	r, err := Ref(obj, ns)
	if err != nil {
		return nil, err
	}
	out := newLike(obj)
	return out, c.rest(r).Get().Namespace(ns).Resource(r.Resource).Name(r.Name).Do(ctx).Into(out)
}

// ApplyObject applies obj on the server, taking over fields of other managers: what stock Spark does.
func (c *Client) ApplyObject(ctx context.Context, ns string, obj runtime.Object) error {
	r, err := Ref(obj, ns)
	if err != nil {
		return err
	}
	body, err := Encode(obj)
	if err != nil {
		return err
	}
	return c.rest(r).Patch(types.ApplyPatchType).Namespace(ns).Resource(r.Resource).Name(r.Name).
		VersionedParams(&metav1.PatchOptions{FieldManager: FieldManager, Force: new(true)}, c.codec).
		SetHeader("Accept", metadataOnly).Body(body).Do(ctx).Error()
}

// PatchObject sends a patch of the given type.
func (c *Client) PatchObject(ctx context.Context, r ObjectRef, pt types.PatchType, patch []byte) error {
	return c.rest(r).Patch(pt).Namespace(r.Namespace).Resource(r.Resource).Name(r.Name).SetHeader("Accept", metadataOnly).
		VersionedParams(&metav1.PatchOptions{FieldManager: FieldManager}, c.codec).Body(patch).Do(ctx).Error()
}

// DeleteObject deletes in the background. A uid, when given, must be the object's.
func (c *Client) DeleteObject(ctx context.Context, r ObjectRef, uid types.UID) error {
	opts := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	if uid != "" {
		opts.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	return c.rest(r).Delete().Namespace(r.Namespace).Resource(r.Resource).Name(r.Name).Body(&opts).Do(ctx).Error()
}

func newLike(obj runtime.Object) runtime.Object {
	switch obj.(type) {
	case *unstructured.Unstructured:
		return &unstructured.Unstructured{}
	case *corev1.Pod:
		return &corev1.Pod{}
	case *corev1.ConfigMap:
		return &corev1.ConfigMap{}
	case *corev1.Service:
		return &corev1.Service{}
	case *corev1.Secret:
		return &corev1.Secret{}
	case *corev1.PersistentVolumeClaim:
		return &corev1.PersistentVolumeClaim{}
	}
	return &networkingv1.NetworkPolicy{}
}
