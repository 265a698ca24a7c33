package submit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// Target is what a submission id names: one driver pod, or all whose names begin with a text.
type Target struct {
	Namespace string // "" if the id has none
	Name      string
	Prefix    bool
}

// ParseSubmissionID reads [namespace:]name[*].
func ParseSubmissionID(id string) (Target, error) {
	ns, name, ok := strings.Cut(id, ":")
	if !ok {
		ns, name = "", id
	}
	t := Target{Namespace: ns, Name: name}
	if rest, ok := strings.CutSuffix(name, "*"); ok {
		t.Name, t.Prefix = rest, true
	} else if name == "" {
		return Target{}, sparkError("Submission ID: {" + id + "} is invalid.")
	}
	return t, nil
}

// OperationOptions steer Kill and Status.
type OperationOptions struct {
	GraceSeconds *int64 // nil: the pod's own
	Stock        bool   // no look at the role, nothing found is fine: as stock
	// Print receives the lines of the report, as stock words them.
	Print func(line string)
}

// ErrNotFound says that no application matched; Kill and Status have printed it already.
var ErrNotFound = errors.New("no application was found")

// Kill deletes the driver pods that t names. Its namespace must be set.
func (c *Client) Kill(ctx context.Context, t Target, o OperationOptions) error {
	ctx = kube.Quiet(ctx)
	if t.Prefix {
		return c.each(ctx, t, o, func(pod *corev1.Pod) error {
			o.Print("Deleting driver pod: " + pod.Name + ".")
			return c.deleteDriver(ctx, pod.Namespace, pod.Name, o)
		})
	}
	if !o.Stock {
		pod, err := c.driver(ctx, t)
		if err != nil {
			return err
		}
		if pod == nil {
			o.Print("Application not found.")
			return ErrNotFound
		}
	}
	err := c.deleteDriver(ctx, t.Namespace, t.Name, o)
	if kube.Kind(err) == kube.NotFound {
		return nil
	}
	return err
}

// Status prints the state of the driver pods that t names. Its namespace must be set.
func (c *Client) Status(ctx context.Context, t Target, o OperationOptions) error {
	ctx = kube.Quiet(ctx)
	show := func(pod *corev1.Pod) error {
		o.Print("Application status (driver): " + stateText(pod, driverContainer()))
		return nil
	}
	if t.Prefix {
		return c.each(ctx, t, o, show)
	}
	pod, err := c.driver(ctx, t)
	switch {
	case err != nil:
		return err
	case pod == nil:
		o.Print("Application not found.")
		return notFound(o)
	}
	return show(pod)
}

func notFound(o OperationOptions) error {
	if o.Stock {
		return nil
	}
	return ErrNotFound
}

// driver reads a driver pod; nil if there is none of that name.
func (c *Client) driver(ctx context.Context, t Target) (*corev1.Pod, error) {
	var pod *corev1.Pod
	err := kube.Retry(ctx, kube.StockBackoff, func(ctx context.Context) (err error) {
		pod, err = c.api.Pods(t.Namespace).Get(ctx, t.Name, metav1.GetOptions{})
		return err
	})
	switch {
	case kube.Kind(err) == kube.NotFound:
		return nil, nil
	case err != nil:
		return nil, apiError("reading the pod "+t.Namespace+"/"+t.Name, err)
	case pod.Labels[sparkpod.LabelRole] != string(sparkpod.Driver):
		return nil, nil
	}
	return pod, nil
}

// each runs f on the driver pods that a prefix matches; a failure stops none of the others.
func (c *Client) each(ctx context.Context, t Target, o OperationOptions, f func(*corev1.Pod) error) error {
	var list *corev1.PodList
	err := kube.Retry(ctx, kube.StockBackoff, func(ctx context.Context) (err error) {
		list, err = c.api.Pods(t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: sparkpod.LabelRole + "=" + string(sparkpod.Driver)})
		return err
	})
	if err != nil {
		return apiError("listing the driver pods in "+t.Namespace, err)
	}
	var errs []error
	found := false
	for i := range list.Items {
		if pod := &list.Items[i]; strings.HasPrefix(pod.Name, t.Name) {
			found = true
			errs = append(errs, f(pod))
		}
	}
	if !found {
		o.Print("No applications found.")
		return notFound(o)
	}
	return errors.Join(errs...)
}

func (c *Client) deleteDriver(ctx context.Context, ns, name string, o OperationOptions) error {
	opts := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground), GracePeriodSeconds: o.GraceSeconds}
	err := kube.Retry(ctx, kube.StockBackoff, func(ctx context.Context) error {
		return c.api.Pods(ns).Delete(ctx, name, opts)
	})
	if err != nil {
		return apiError(fmt.Sprintf("deleting the driver pod %s/%s", ns, name), err)
	}
	return nil
}

// driverContainer is the usual name: the templates of a running application are not known here.
func driverContainer() string {
	return sparkpod.DefaultContainerName(sparkpod.Driver)
}
