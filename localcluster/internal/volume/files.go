package volume

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// file is one file of a volume with generated content.
type file struct {
	data []byte
	mode int32
	// uid owns the file; nil is root.
	uid *int64
}

const (
	defaultMode = int32(0o644)
	// refreshEvery is how often ConfigMaps and Secrets of running pods are read again.
	refreshEvery = time.Minute
)

// files is the whole content of a volume of a kind that is made of files, by path, and when to make it again.
func (m *Manager) files(ctx context.Context, pod *corev1.Pod, v *corev1.Volume) (map[string]file, time.Time, error) {
	refresh := m.Now().Add(refreshEvery)
	switch {
	case v.ConfigMap != nil:
		out, err := m.configMap(ctx, pod, v.ConfigMap.Name, v.ConfigMap.Items, mode(v.ConfigMap.DefaultMode), v.ConfigMap.Optional)
		return out, refresh, err
	case v.Secret != nil:
		out, err := m.secret(ctx, pod, v.Secret.SecretName, v.Secret.Items, mode(v.Secret.DefaultMode), v.Secret.Optional)
		return out, refresh, err
	case v.DownwardAPI != nil:
		out, err := downward(pod, v.DownwardAPI.Items, mode(v.DownwardAPI.DefaultMode))
		return out, refresh, err
	case v.Projected != nil:
		return m.projected(ctx, pod, v.Projected)
	}
	return nil, time.Time{}, fmt.Errorf("this node does not have volumes of this kind; it has configMap, secret, projected, downwardAPI, emptyDir, hostPath, image and persistentVolumeClaim")
}

func (m *Manager) projected(ctx context.Context, pod *corev1.Pod, p *corev1.ProjectedVolumeSource) (map[string]file, time.Time, error) {
	out := map[string]file{}
	next := m.Now().Add(refreshEvery)
	def := mode(p.DefaultMode)
	for _, s := range p.Sources {
		var part map[string]file
		var err error
		switch {
		case s.ConfigMap != nil:
			part, err = m.configMap(ctx, pod, s.ConfigMap.Name, s.ConfigMap.Items, def, s.ConfigMap.Optional)
		case s.Secret != nil:
			part, err = m.secret(ctx, pod, s.Secret.Name, s.Secret.Items, def, s.Secret.Optional)
		case s.DownwardAPI != nil:
			part, err = downward(pod, s.DownwardAPI.Items, def)
		case s.ServiceAccountToken != nil:
			part, err = m.token(ctx, pod, s.ServiceAccountToken, def)
		default:
			err = fmt.Errorf("a projected source of this kind is not known here")
		}
		if err != nil {
			return nil, time.Time{}, err
		}
		maps.Copy(out, part)
	}
	return out, next, nil
}

func mode(p *int32) int32 {
	if p == nil {
		return defaultMode
	}
	return *p
}

func (m *Manager) configMap(ctx context.Context, pod *corev1.Pod, name string, items []corev1.KeyToPath, def int32, opt *bool) (map[string]file, error) {
	cm, err := m.Fetcher.ConfigMap(ctx, pod.Namespace, name)
	if err != nil {
		return nil, optional(opt, err)
	}
	data := map[string][]byte{}
	for k, v := range cm.Data {
		data[k] = []byte(v)
	}
	maps.Copy(data, cm.BinaryData)
	return pick(data, items, def, opt, fmt.Sprintf("configmap %q", name))
}

func (m *Manager) secret(ctx context.Context, pod *corev1.Pod, name string, items []corev1.KeyToPath, def int32, opt *bool) (map[string]file, error) {
	s, err := m.Fetcher.Secret(ctx, pod.Namespace, name)
	if err != nil {
		return nil, optional(opt, err)
	}
	return pick(s.Data, items, def, opt, fmt.Sprintf("secret %q", name))
}

// pick chooses the keys that items name, or all.
func pick(data map[string][]byte, items []corev1.KeyToPath, def int32, opt *bool, what string) (map[string]file, error) {
	out := map[string]file{}
	if len(items) == 0 {
		for k, v := range data {
			out[k] = file{data: v, mode: def}
		}
		return out, nil
	}
	for _, it := range items {
		v, ok := data[it.Key]
		if !ok {
			if opt != nil && *opt {
				continue
			}
			return nil, fmt.Errorf("references non-existent config key: %s has no key %q", what, it.Key)
		}
		f := file{data: v, mode: def}
		if it.Mode != nil {
			f.mode = *it.Mode
		}
		out[it.Path] = f
	}
	return out, nil
}

func (m *Manager) token(ctx context.Context, pod *corev1.Pod, src *corev1.ServiceAccountTokenProjection, def int32) (map[string]file, error) {
	seconds := int64(3600)
	if src.ExpirationSeconds != nil {
		seconds = *src.ExpirationSeconds
	}
	token, err := m.cachedToken(ctx, pod, src.Audience, seconds)
	if err != nil {
		return nil, fmt.Errorf("failed to fetch token: %w", err)
	}
	f := file{data: []byte(token), mode: def}
	if uid := commonUser(pod); uid != nil {
		f.mode, f.uid = 0o600, uid
	} else if fsGroup(pod) != nil {
		f.mode = 0o600
	}
	return map[string]file{src.Path: f}, nil
}

// commonUser is the user that all containers of the pod run as, if the pod says so. A token then belongs to that user alone.
func commonUser(pod *corev1.Pod) *int64 {
	var common *int64
	for i, c := range append(append([]corev1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		var uid *int64
		if pod.Spec.SecurityContext != nil {
			uid = pod.Spec.SecurityContext.RunAsUser
		}
		if c.SecurityContext != nil && c.SecurityContext.RunAsUser != nil {
			uid = c.SecurityContext.RunAsUser
		}
		if uid == nil || i > 0 && *uid != *common {
			return nil
		}
		common = uid
	}
	return common
}

func downward(pod *corev1.Pod, items []corev1.DownwardAPIVolumeFile, def int32) (map[string]file, error) {
	out := map[string]file{}
	for _, it := range items {
		var text string
		var err error
		if it.FieldRef != nil {
			text, err = FieldValue(pod, it.FieldRef.FieldPath)
		} else if it.ResourceFieldRef != nil {
			text, err = resourceOf(pod, it.ResourceFieldRef)
		}
		if err != nil {
			return nil, err
		}
		f := file{data: []byte(text), mode: def}
		if it.Mode != nil {
			f.mode = *it.Mode
		}
		out[it.Path] = f
	}
	return out, nil
}
