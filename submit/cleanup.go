package submit

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// cleanUp takes back what a failed creation has made. Each failure is a warning and stops nothing; what the pod owns goes
// with it. The caller's context may have ended already.
func (j *creation) cleanUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	j.findLost(ctx)
	if j.pod != nil && !j.found {
		j.warn("the driver pod "+j.p.ID(), j.deletePod(ctx))
	}
	for _, r := range append(j.objects, j.pre...) {
		j.warn(r.String(), j.removeOrOrphan(ctx, r))
	}
	j.removeUploads(ctx)
}

// findLost looks for a pod whose create was interrupted before the answer came. With a caller's own submission id it may
// be an earlier one, and stays.
func (j *creation) findLost(ctx context.Context) {
	if j.pod != nil || !j.posted || j.goneUID != "" || j.p.Conf.Raw(conf.SubmissionID.Key(), "") != "" {
		return
	}
	pod, err := j.c.api.Pods(j.p.Namespace).Get(ctx, j.p.PodName, metav1.GetOptions{})
	if err == nil && pod.Labels[sparkpod.LabelAppSelector] == j.p.AppID {
		j.pod = pod
	}
}

func (j *creation) warn(what string, err error) {
	if err != nil {
		j.c.logLine(slog.LevelWarn, loggerClient, fmt.Sprintf("%s could not be removed after the failure: %v", what, err))
	}
}

func (j *creation) deletePod(ctx context.Context) error {
	ref, err := kube.Ref(&corev1.Pod{}, j.p.Namespace)
	if err != nil {
		return err
	}
	ref.Name = j.pod.Name
	if err := j.remove(ctx, ref, string(j.pod.UID)); err != nil {
		return err
	}
	j.goneUID, j.pod = j.pod.UID, nil
	return nil
}

func (j *creation) remove(ctx context.Context, r kube.ObjectRef, uid string) error {
	err := kube.Retry(ctx, kube.StockBackoff, func(ctx context.Context) error {
		return j.c.api.DeleteObject(ctx, r, types.UID(uid))
	})
	if kube.Kind(err) == kube.NotFound {
		return nil
	}
	return err
}

// removeOrOrphan deletes an object. A Role made for stock Spark has no right to delete companions, but one to patch them:
// as the property of a pod that does not exist the object is the garbage collector's.
func (j *creation) removeOrOrphan(ctx context.Context, r kube.ObjectRef) error {
	err := j.remove(ctx, r, "")
	if kube.Kind(err) != kube.Forbidden {
		return err
	}
	gone := j.goneUID
	if gone == "" {
		id, uerr := newIDs(Env{Random: rand.Reader}, "").uuid()
		if uerr != nil {
			return err
		}
		gone = types.UID(id)
	}
	owner := &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: j.p.PodName, UID: gone, Controller: new(true)}
	if perr := j.own(ctx, r, owner); perr != nil && kube.Kind(perr) != kube.NotFound {
		return err
	}
	return nil
}
