// Package api makes every call of the manager to the API server (spec section 13): creates, reads, patches and deletes of
// executor pods and of what belongs to them, and the list and the watch that the sources run on. It decodes pods into the
// small records of package snapshot while they stream in, so that a list of thousands never stands in memory.
//
// It answers to what stock does with its fabric8 KubernetesClient.
package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// Client makes the calls of one application. It is safe for concurrent use.
type Client struct {
	kube      *kube.Client
	core      rest.Interface
	namespace string
	appID     string
	resources sync.Map // names in URLs by path and kind
}

// New makes the client of an application.
func New(k *kube.Client, namespace, appID string) *Client {
	return &Client{kube: k, core: k.Core(), namespace: namespace, appID: appID}
}

// Selector selects the executor pods that take part in the snapshot (W1).
func (c *Client) Selector() string {
	return sparkpod.LabelAppSelector + "=" + c.appID + "," + sparkpod.LabelRole + "=executor," +
		sparkpod.LabelInactive + "!=true"
}

func (c *Client) executors() labels.Set {
	return labels.Set{sparkpod.LabelAppSelector: c.appID, sparkpod.LabelRole: string(sparkpod.Executor)}
}

func (c *Client) app() labels.Set { return labels.Set{sparkpod.LabelAppSelector: c.appID} }

// CreatePod posts a pod, given as JSON, and returns the server's record of it.
func (c *Client) CreatePod(ctx context.Context, body []byte) (*snapshot.Wire, error) {
	return wire(c.core.Post().Namespace(c.namespace).Resource("pods").Param("fieldManager", kube.FieldManager).
		SetHeader("Content-Type", "application/json").SetHeader("Accept", protobufOrJSON).Body(body).MaxRetries(0).Do(ctx))
}

// GetPod reads a pod by name.
func (c *Client) GetPod(ctx context.Context, name string) (*snapshot.Wire, error) {
	return wire(c.core.Get().Namespace(c.namespace).Resource("pods").Name(name).SetHeader("Accept", protobufOrJSON).MaxRetries(0).Do(ctx))
}

// answer returns the answer's body. Error, unlike Raw, has the server's own words.
func answer(r rest.Result) ([]byte, error) {
	if err := r.Error(); err != nil {
		return nil, err
	}
	return r.Raw()
}

func wire(r rest.Result) (*snapshot.Wire, error) {
	raw, err := answer(r)
	if err != nil {
		return nil, err
	}
	w, err := decodePod(raw)
	if err != nil {
		return nil, fmt.Errorf("the API server's pod cannot be read: %w", err)
	}
	return w, nil
}

// decodePod reads a pod in the form that the server chose.
func decodePod(object []byte) (*snapshot.Wire, error) {
	if bytes.HasPrefix(object, magic) {
		raw, err := unwrap(object)
		if err != nil {
			return nil, err
		}
		return podOf(raw)
	}
	w := &snapshot.Wire{}
	return w, json.Unmarshal(object, w)
}

// DeletePod deletes one pod with its own grace period. With a uid only that very pod. A pod that is being deleted stays as
// it is.
func (c *Client) DeletePod(ctx context.Context, name, uid string) error {
	return c.deletePod(ctx, name, uid, nil)
}

// HastenPod deletes one pod with a grace period, which can only shorten that of a deletion under way.
func (c *Client) HastenPod(ctx context.Context, name, uid string, grace time.Duration) error {
	return c.deletePod(ctx, name, uid, new(int64(grace/time.Second)))
}

func (c *Client) deletePod(ctx context.Context, name, uid string, grace *int64) error {
	opts := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground), GracePeriodSeconds: grace}
	if uid != "" {
		opts.Preconditions = &metav1.Preconditions{UID: (*types.UID)(&uid)}
	}
	return c.kube.Pods(c.namespace).Delete(ctx, name, opts)
}

// LabelPod sets one label of a pod.
func (c *Client) LabelPod(ctx context.Context, name, key, value string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{key: value}}})
	if err != nil {
		return fmt.Errorf("code the label %s: %w", key, err)
	}
	ref := kube.ObjectRef{Kind: "Pod", Resource: "pods", Namespace: c.namespace, Name: name}
	return c.kube.PatchObject(ctx, ref, types.StrategicMergePatchType, patch)
}

// CreateClaim posts a claim.
func (c *Client) CreateClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	return c.kube.CreateObject(ctx, c.namespace, claim)
}

// ListClaims lists the application's claims, from the server's cache if that will do.
func (c *Client) ListClaims(ctx context.Context, cached bool) ([]corev1.PersistentVolumeClaim, error) {
	opts := metav1.ListOptions{LabelSelector: c.app().String()}
	if cached {
		opts.ResourceVersion = "0"
	}
	list, err := c.kube.PersistentVolumeClaims(c.namespace).List(ctx, opts)
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// CreateConfigMap posts a ConfigMap.
func (c *Client) CreateConfigMap(ctx context.Context, m *corev1.ConfigMap) error {
	return c.kube.CreateObject(ctx, c.namespace, m)
}

// GetConfigMap reads a ConfigMap.
func (c *Client) GetConfigMap(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	return c.kube.ConfigMaps(c.namespace).Get(ctx, name, metav1.GetOptions{})
}

// CreateEvent posts an Event.
func (c *Client) CreateEvent(ctx context.Context, e *corev1.Event) error {
	_, err := c.kube.Events(c.namespace).Create(ctx, e, metav1.CreateOptions{FieldManager: kube.FieldManager})
	return err
}

// Family is a set of objects that stop removes.
type Family string

// The families, in the order of stop.
const (
	Services   Family = "services"
	Claims     Family = "persistentvolumeclaims"
	Pods       Family = "pods"
	ConfigMaps Family = "configmaps"
)

func (c *Client) selector(f Family) string {
	if f == Pods || f == ConfigMaps {
		return c.executors().String()
	}
	return c.app().String()
}

// collectionTime is what a delete of a collection may take, whatever other requests may: it is a server's own limit.
const collectionTime = time.Minute

// DeleteFamily deletes all objects of a family with one delete-collection, or one by one where that is refused.
func (c *Client) DeleteFamily(ctx context.Context, f Family) error {
	opts := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	err := c.deleteCollection(ctx, f, opts)
	if status := (interface{ Status() metav1.Status })(nil); errors.As(err, &status) {
		if code := status.Status().Code; code == http.StatusForbidden || code == http.StatusMethodNotAllowed {
			return c.deleteEach(ctx, f, opts)
		}
	}
	return err
}

// deleteCollection does not read the answer, which is every object that was deleted: of 10,000 pods, three times as much memory as
// the manager ever has. The context has the limit, because a stream has none of its own.
func (c *Client) deleteCollection(ctx context.Context, f Family, opts metav1.DeleteOptions) error {
	ctx, cancel := context.WithTimeout(ctx, collectionTime)
	defer cancel()
	body, err := c.core.Delete().Namespace(c.namespace).Resource(string(f)).Param("labelSelector", c.selector(f)).Timeout(collectionTime).
		Body(&opts).MaxRetries(0).Stream(ctx)
	if err != nil {
		return err
	}
	return body.Close()
}

func (c *Client) deleteEach(ctx context.Context, f Family, opts metav1.DeleteOptions) error {
	names, err := c.Names(ctx, f)
	for _, name := range names {
		e := c.core.Delete().Namespace(c.namespace).Resource(string(f)).Name(name).Body(&opts).MaxRetries(0).Do(ctx).Error()
		if kube.Kind(e) != kube.NotFound {
			err = errors.Join(err, e)
		}
	}
	return err
}

// Names lists the names of a family's objects that are not being deleted, from their metadata alone.
func (c *Client) Names(ctx context.Context, f Family) ([]string, error) {
	var names []string
	for next := ""; ; {
		req := c.core.Get().Namespace(c.namespace).Resource(string(f)).Param("labelSelector", c.selector(f)).Param("limit", "500").
			SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json").MaxRetries(0)
		if next != "" {
			req.Param("continue", next)
		}
		raw, err := answer(req.Do(ctx))
		if err != nil {
			return names, err
		}
		var list struct {
			Metadata listMeta `json:"metadata"`
			Items    []struct {
				Metadata struct {
					Name              string `json:"name"`
					DeletionTimestamp string `json:"deletionTimestamp"`
				} `json:"metadata"`
			} `json:"items"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return names, fmt.Errorf("the API server's list of %s cannot be read: %w", f, err)
		}
		for _, item := range list.Items {
			if item.Metadata.DeletionTimestamp == "" {
				names = append(names, item.Metadata.Name)
			}
		}
		if next = list.Metadata.Continue; next == "" {
			return names, nil
		}
	}
}

// ListPods lists the executor pods, page by page, and hands each to f as it comes in. version "0" asks the server's
// cache; empty asks for the newest state. It returns the resourceVersion of the list.
func (c *Client) ListPods(ctx context.Context, version string, f func(*snapshot.Wire)) (string, error) {
	var at, next string
	for {
		req := c.core.Get().Namespace(c.namespace).Resource("pods").Param("labelSelector", c.Selector()).MaxRetries(0)
		if version != "" {
			req.Param("resourceVersion", version)
		} else {
			req.Param("limit", "500")
		}
		if next != "" {
			req.Param("continue", next)
		}
		body, err := req.Stream(ctx)
		if err != nil {
			return "", err
		}
		meta, err := decodeList(body, f)
		if cerr := body.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return "", fmt.Errorf("the list of executor pods cannot be read: %w", err)
		}
		if at == "" {
			at = meta.ResourceVersion // all pages are of the first one's version
		}
		if next = meta.Continue; next == "" {
			return at, nil
		}
	}
}

// Event is one event of the watch.
type Event struct {
	Type    string // ADDED, MODIFIED, DELETED, BOOKMARK or Opened
	Pod     *snapshot.Wire
	Version string // resourceVersion of the event's object
}

// Opened is the type of the first event: the server has accepted the watch. It carries no pod.
const Opened = "OPENED"

// ErrExpired says that the version is too old to watch from: list again.
var ErrExpired = errors.New("the watch's version is too old")

// ErrDecode says that an event could not be read; the watch is closed.
var ErrDecode = errors.New("an event of the watch cannot be read")

// WatchPods watches the executor pods from a version until the server ends it, an error, or silence: no event and no
// bookmark for that long. A nil error is a clean end.
func (c *Client) WatchPods(ctx context.Context, version string, timeout, silence time.Duration, f func(Event)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req := c.core.Get().Namespace(c.namespace).Resource("pods").Param("labelSelector", c.Selector()).
		Param("watch", "true").Param("allowWatchBookmarks", "true").
		Param("timeoutSeconds", fmt.Sprint(int(timeout.Seconds()))).SetHeader("Accept", protobufOrJSONWatch).MaxRetries(0)
	if version != "" {
		req.Param("resourceVersion", version)
	}
	body, err := req.Stream(ctx)
	if err != nil {
		if kube.Kind(err) == kube.Expired {
			return ErrExpired
		}
		return err
	}
	quiet := time.AfterFunc(silence, func() {
		cancel(fmt.Errorf("the watch has been silent for %s", silence))
	})
	defer quiet.Stop()
	stop := context.AfterFunc(ctx, func() { _ = body.Close() }) // ends a Read that waits
	defer stop()
	f(Event{Type: Opened})
	err = decodeEvents(body, func(e Event) {
		quiet.Reset(silence)
		f(e)
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if cerr := body.Close(); err == nil && cerr != nil {
		return cerr
	}
	return err
}

// decodeEvents reads the events in the form that the server chose. JSON begins with a brace, the length of a frame does not.
func decodeEvents(body io.Reader, f func(Event)) error {
	in := bufio.NewReader(body)
	switch first, err := in.Peek(1); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return err
	case first[0] != '{':
		return decodeFrames(in, f)
	}
	dec := json.NewDecoder(in)
	for {
		var e struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := dec.Decode(&e); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			if bad := (*json.SyntaxError)(nil); errors.As(err, &bad) {
				return fmt.Errorf("%w: %w", ErrDecode, err)
			}
			return err
		}
		if e.Type == "ERROR" {
			var s metav1.Status
			if err := json.Unmarshal(e.Object, &s); err != nil {
				return fmt.Errorf("%w: %w", ErrDecode, err)
			}
			return statusError(s)
		}
		w, err := decodePod(e.Object)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDecode, err)
		}
		f(Event{Type: e.Type, Pod: w, Version: w.Metadata.ResourceVersion})
	}
}

func statusError(s metav1.Status) error {
	if s.Code == http.StatusGone || s.Reason == metav1.StatusReasonExpired {
		return ErrExpired
	}
	return fmt.Errorf("the API server ended the watch: %s", s.Message)
}
