package node

import (
	"context"
	"fmt"
	"sort"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// fetcher reads what volumes and environments need straight from the API server: a pod must not start with what a cache had.
type fetcher struct{ client kubernetes.Interface }

func (f fetcher) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return f.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (f fetcher) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return f.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (f fetcher) ClaimPath(ctx context.Context, namespace, name string) (string, error) {
	c, err := f.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if c.Status.Phase != corev1.ClaimBound {
		return "", fmt.Errorf("persistentvolumeclaim %q is not bound yet", name)
	}
	pv, err := f.client.CoreV1().PersistentVolumes().Get(ctx, c.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	switch {
	case pv.Spec.HostPath != nil:
		return pv.Spec.HostPath.Path, nil
	case pv.Spec.Local != nil:
		return pv.Spec.Local.Path, nil
	}
	return "", fmt.Errorf("persistentvolume %q: this node has volumes of the kinds hostPath and local only", pv.Name)
}

func (f fetcher) Token(ctx context.Context, pod *corev1.Pod, audience string, seconds int64) (string, time.Time, error) {
	req := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &seconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	if audience != "" {
		req.Spec.Audiences = []string{audience}
	}
	got, err := f.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, req, metav1.CreateOptions{})
	if err != nil {
		return "", time.Time{}, err
	}
	return got.Status.Token, got.Status.ExpirationTimestamp.Time, nil
}

func (p *provider) envSources(ctx context.Context, namespace string) sources {
	f := fetcher{p.client}
	return sources{
		configMap: func(name string) (*corev1.ConfigMap, error) { return f.ConfigMap(ctx, namespace, name) },
		secret:    func(name string) (*corev1.Secret, error) { return f.Secret(ctx, namespace, name) },
	}
}

func isOptional(flag *bool, err error) bool {
	return flag != nil && *flag && apierrors.IsNotFound(err)
}

func unlessOptional(flag *bool, err error) error {
	if isOptional(flag, err) {
		return nil
	}
	return err
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
