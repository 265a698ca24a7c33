package submit

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubespark/kubespark/internal/kube"
)

// cleanUp takes back what a failed creation has made. Each failure is a warning and stops nothing; what the pod owns goes
// with it. The caller's context may have ended already.
func (j *creation) cleanUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	if j.pod != nil && !j.found {
		j.warn("the driver pod "+j.p.ID(), j.deletePod(ctx))
	}
	for _, r := range append(j.objects, j.pre...) {
		j.warn(r.String(), j.remove(ctx, r, ""))
	}
	for _, u := range j.uploaded {
		j.warn("the upload "+u.Target, u.remove())
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
	j.pod = nil
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
