package submit

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// GateName is the scheduling gate that keeps a driver pod from being scheduled before its companions exist.
const GateName = "kubespark.io/companions"

const (
	cleanupTime  = 10 * time.Second
	loggerClient = "Client"
)

// Create makes the uploads and then all objects of a plan. In order that no schedulable driver pod names an object that
// does not exist, the pod is created behind a scheduling gate, its companions follow as its property, and the gate goes
// last. Where the gate cannot be used, the companions come first and are given to the pod afterwards: a pod bound to a node has
// no gate, and one whose gate may not be removed (no right to patch pods) is made again. After a failure nothing of the plan is left; the error is the first one.
//
// Create may be repeated with a plan of the same spark.kubespark.submissionId: it finds its own pod and completes it.
func (c *Client) Create(ctx context.Context, p *Plan) (err error) {
	ctx = kube.Quiet(ctx)
	for _, n := range p.Notices {
		c.logLine(n.Level, n.Logger, n.Text)
	}
	j := &creation{c: c, p: p}
	defer func() {
		if err != nil {
			j.cleanUp(ctx)
		}
	}()
	if err := j.upload(ctx); err != nil {
		return err
	}
	if err := j.preObjects(ctx, nil); err != nil {
		c.logLine(slog.LevelError, loggerClient, `Please check "kubectl auth can-i create [resource]" first. It should be yes. And please also check your feature step implementation.`)
		return err
	}
	switch {
	case p.Stock["create-order"]:
		return j.podFirst(ctx)
	case p.driver.Pod.Spec.NodeName != "":
		return j.companionsFirst(ctx)
	}
	return j.gated(ctx)
}

// creation is one run of Create. Its lists say what to take back.
type creation struct {
	c        *Client
	p        *Plan
	uploaded []Upload
	pre      []kube.ObjectRef
	objects  []kube.ObjectRef // created without an owner
	pod      *corev1.Pod      // created by us
	posted   bool             // the pod may exist, whatever was answered
	goneUID  types.UID        // of a pod that we created and deleted again
	found    bool             // the pod was there from an earlier submission of the same id: it is never taken back
}

func (j *creation) preObjects(ctx context.Context, owner *metav1.OwnerReference) error {
	for _, obj := range j.p.PreObjects {
		r, err := j.apply(ctx, obj, owner)
		if err != nil {
			return err
		}
		if owner == nil && !slices.Contains(j.pre, r) {
			j.pre = append(j.pre, r)
		}
	}
	return nil
}

// apply writes an object by server-side apply, as the owner's property if there is one.
func (j *creation) apply(ctx context.Context, obj runtime.Object, owner *metav1.OwnerReference) (kube.ObjectRef, error) {
	r, err := kube.Ref(obj, j.p.Namespace)
	if err != nil {
		return r, err
	}
	if obj, err = owned(obj, owner); err != nil {
		return r, err
	}
	err = kube.Retry(ctx, kube.StockBackoff, func(ctx context.Context) error {
		return j.c.api.ApplyObject(ctx, j.p.Namespace, obj)
	})
	if err != nil {
		return r, apiError("applying "+r.String(), err)
	}
	return r, nil
}

// gated is the normal order.
func (j *creation) gated(ctx context.Context) error {
	pod, err := j.createPod(ctx, true)
	if err != nil {
		return err
	}
	owner := ownerOf(pod)
	if err := j.preObjects(ctx, owner); err != nil {
		return err
	}
	companions, err := j.companions(ctx, owner)
	if err != nil {
		return err
	}
	if err = j.openGate(ctx, pod); kube.Kind(err) != kube.Forbidden {
		return err
	}
	j.c.logLine(slog.LevelDebug, loggerClient, "the credentials may not patch pods: the driver pod is made again, without a gate")
	return j.replaceGated(ctx, companions)
}

// replaceGated puts a pod without a gate in the place of the gated one, whose gate these credentials cannot remove. Its companions
// are let go of before, else the garbage collector would take them with it.
func (j *creation) replaceGated(ctx context.Context, companions []kube.ObjectRef) error {
	if err := j.preObjects(ctx, nil); err != nil {
		return err
	}
	j.objects = companions
	for _, r := range companions {
		if err := j.own(ctx, r, nil); err != nil {
			return err
		}
	}
	if err := j.deletePod(ctx); err != nil {
		return apiError("deleting the gated driver pod "+j.p.ID(), err)
	}
	return j.podLast(ctx)
}

// companionsFirst creates the companions without an owner, then the pod.
func (j *creation) companionsFirst(ctx context.Context) (err error) {
	if j.objects, err = j.companions(ctx, nil); err != nil {
		return err
	}
	return j.podLast(ctx)
}

// podLast creates the pod and gives it the companions that are there.
func (j *creation) podLast(ctx context.Context) error {
	pod, err := j.createPod(ctx, false)
	if err != nil {
		return err
	}
	owner := ownerOf(pod)
	if err := j.preObjects(ctx, owner); err != nil {
		return err
	}
	for _, r := range j.objects {
		if err := j.own(ctx, r, owner); err != nil {
			return err
		}
	}
	return nil
}

// own sets an object's owner; nil: none.
func (j *creation) own(ctx context.Context, r kube.ObjectRef, owner *metav1.OwnerReference) error {
	patch, err := ownerPatch(owner)
	if err != nil {
		return err
	}
	if err := kube.Retry(ctx, kube.StockBackoff, func(ctx context.Context) error {
		return j.c.api.PatchObject(ctx, r, types.MergePatchType, patch)
	}); err != nil {
		return apiError("setting the owner of "+r.String(), err)
	}
	return nil
}

// podFirst is stock's order: the pod, then everything else by server-side apply.
func (j *creation) podFirst(ctx context.Context) error {
	pod, err := j.createPod(ctx, false)
	if err != nil {
		return err
	}
	owner := ownerOf(pod)
	if err := j.preObjects(ctx, owner); err != nil {
		return err
	}
	for _, obj := range j.p.Objects {
		if _, err := j.apply(ctx, obj, owner); err != nil {
			return err
		}
	}
	return nil
}

// createPod posts the driver pod. A pod that is already there is ours if it has our application id: then an answer was lost
// or the submission is repeated.
func (j *creation) createPod(ctx context.Context, gate bool) (*corev1.Pod, error) {
	spec := j.p.driver
	spec.Pod = spec.Pod.DeepCopy()
	if spec.Pod.Namespace != "" { // a template's
		spec.Pod.Namespace = j.p.Namespace
	}
	if gate {
		spec.Pod.Spec.SchedulingGates = append(spec.Pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: GateName})
	}
	body, err := spec.Body()
	if err != nil {
		return nil, err
	}
	ref, err := kube.Ref(spec.Pod, j.p.Namespace)
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	j.posted = true
	err = kube.Retry(ctx, kube.StockBackoff, func(ctx context.Context) error {
		return j.c.api.CreateRaw(ctx, ref, body, pod)
	})
	if k := kube.Kind(err); k == kube.AlreadyExists || k == kube.Unknown {
		pod, err = j.settle(ctx, err)
	}
	if err != nil {
		if kube.Kind(err) == kube.Forbidden {
			j.c.logLine(slog.LevelError, loggerClient, `Please check "kubectl auth can-i create pod" first. It should be yes.`)
		}
		return nil, apiError("creating the driver pod "+j.p.Namespace+"/"+j.p.PodName, err)
	}
	j.pod = pod
	return pod, nil
}

// settle looks whose pod has the driver's name.
func (j *creation) settle(ctx context.Context, cause error) (*corev1.Pod, error) {
	pod, err := j.c.api.Pods(j.p.Namespace).Get(ctx, j.p.PodName, metav1.GetOptions{})
	if err != nil {
		return nil, cause
	}
	app := pod.Labels[sparkpod.LabelAppSelector]
	if app == j.p.AppID {
		j.c.logLine(slog.LevelInfo, loggerClient, fmt.Sprintf("the driver pod %s of this submission is there already", j.p.PodName))
		j.found = j.p.Conf.Raw(conf.SubmissionID.Key(), "") != ""
		return pod, nil
	}
	if app == "" {
		app = "none of Spark's"
	}
	return nil, &Error{Class: classClient, Err: cause, Text: fmt.Sprintf("the driver pod %s/%s exists already (phase %s, application id %s): delete it or set another "+
		"spark.kubernetes.driver.pod.name (code=409, reason=AlreadyExists)", j.p.Namespace, j.p.PodName, pod.Status.Phase, app)}
}

// companions creates the objects beside the pod, side by side, as the pod's property if there is an owner. It returns those
// that are this application's, after an error too.
func (j *creation) companions(ctx context.Context, owner *metav1.OwnerReference) ([]kube.ObjectRef, error) {
	created := make([]*kube.ObjectRef, len(j.p.Objects))
	g, ctx := errgroup.WithContext(ctx)
	for i, obj := range j.p.Objects {
		g.Go(func() error {
			r, ours, err := j.companion(ctx, obj, owner)
			if ours {
				created[i] = &r
			}
			return err
		})
	}
	err := g.Wait()
	var refs []kube.ObjectRef
	for _, r := range created {
		if r != nil {
			refs = append(refs, *r)
		}
	}
	return refs, err
}

func (j *creation) companion(ctx context.Context, obj runtime.Object, owner *metav1.OwnerReference) (r kube.ObjectRef, ours bool, err error) {
	ns := j.p.Namespace
	if r, err = kube.Ref(obj, ns); err != nil {
		return r, false, err
	}
	if obj, err = owned(obj, owner); err != nil {
		return r, false, err
	}
	unknown := false
	err = kube.Retry(ctx, kube.StockBackoff, func(ctx context.Context) error {
		err := j.c.api.CreateObject(ctx, ns, obj)
		unknown = unknown || kube.Kind(err) == kube.Unknown
		return err
	})
	switch k := kube.Kind(err); {
	case err == nil:
		return r, true, nil
	case k != kube.AlreadyExists:
		// An unknown outcome without an owner may have left the object: it is taken back with the others.
		return r, owner == nil && (k == kube.Unknown || k == kube.Canceled), apiError("creating "+r.String(), err)
	}
	ours, err = j.meets(ctx, r, obj, owner, unknown)
	return r, ours, err
}

// meets decides about an object that has the name of a companion already. unknown says that it may come from a create
// whose answer was lost.
func (j *creation) meets(ctx context.Context, r kube.ObjectRef, obj runtime.Object, owner *metav1.OwnerReference, unknown bool) (ours bool, err error) {
	there, err := j.c.api.GetObject(ctx, j.p.Namespace, obj)
	if err != nil {
		return false, apiError("reading "+r.String(), err)
	}
	m, err := meta.Accessor(there)
	if err != nil {
		return false, fmt.Errorf("read the metadata of %s: %w", r, err)
	}
	of := metav1.GetControllerOf(m)
	switch _, claim := obj.(*corev1.PersistentVolumeClaim); {
	case of != nil && owner != nil && of.UID == owner.UID, of == nil && owner == nil && unknown:
		return true, nil
	case claim && !strings.HasPrefix(r.Name, j.p.prefix+"-"):
		j.c.logLine(slog.LevelInfo, loggerClient, fmt.Sprintf("the claim %s exists already and is used as it is", r.Name))
		return false, nil
	}
	return false, &Error{Class: classClient, Text: fmt.Sprintf("%s exists already and is not this application's: delete it or choose another name", r)}
}

// openGate lets the scheduler have the pod. Gates can only go, so the list that was read is safe to write without ours; the
// server refuses it when another gate went in between, and a fresh look helps.
func (j *creation) openGate(ctx context.Context, pod *corev1.Pod) (err error) {
	ref, err := kube.Ref(pod, j.p.Namespace)
	if err != nil {
		return err
	}
	for try := 0; try < 3 && hasGate(pod); try++ {
		var gates []corev1.PodSchedulingGate // null removes the list
		for _, g := range pod.Spec.SchedulingGates {
			if !isOurGate(g) {
				gates = append(gates, g)
			}
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "spec": map[string]any{"schedulingGates": gates}})
		if err != nil {
			return fmt.Errorf("encode a patch: %w", err)
		}
		err = kube.Retry(ctx, kube.StockBackoff, func(ctx context.Context) error {
			return j.c.api.PatchObject(ctx, ref, types.MergePatchType, patch)
		})
		if err == nil {
			return nil
		}
		now, gerr := j.c.api.Pods(j.p.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if k := kube.Kind(err); gerr != nil || k != kube.Unknown && k != kube.Invalid || try == 2 {
			return apiError("removing the scheduling gate of the driver pod "+j.p.Namespace+"/"+j.p.PodName, err)
		}
		pod = now
	}
	return nil
}

func isOurGate(g corev1.PodSchedulingGate) bool { return g.Name == GateName }

func hasGate(pod *corev1.Pod) bool { return slices.ContainsFunc(pod.Spec.SchedulingGates, isOurGate) }

func ownerOf(pod *corev1.Pod) *metav1.OwnerReference {
	return &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: new(true)}
}

// ownerPatch is a merge patch; null removes the list.
func ownerPatch(owner *metav1.OwnerReference) ([]byte, error) {
	var owners []*metav1.OwnerReference
	if owner != nil {
		owners = append(owners, owner)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": owners}})
	if err != nil {
		return nil, fmt.Errorf("encode an owner reference: %w", err)
	}
	return patch, nil
}

// owned returns a copy of obj with the owner in place of any other.
func owned(obj runtime.Object, owner *metav1.OwnerReference) (runtime.Object, error) {
	if owner == nil {
		return obj, nil
	}
	obj = obj.DeepCopyObject()
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("set the owner of a %T: %w", obj, err)
	}
	m.SetOwnerReferences([]metav1.OwnerReference{*owner})
	return obj, nil
}
