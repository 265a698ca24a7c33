package node

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/localcluster/internal/volume"
)

// sources gives the ConfigMaps and Secrets that environment variables are taken from, in the pod's namespace.
type sources struct {
	configMap func(name string) (*corev1.ConfigMap, error)
	secret    func(name string) (*corev1.Secret, error)
}

// buildEnv is the environment of a container as name=value, in a kubelet's order of precedence: the image's, the API server's address,
// envFrom, env. A variable that refers to others by $(NAME) sees those before it.
func buildEnv(pod *corev1.Pod, c *corev1.Container, image, cluster []string, src sources) ([]string, error) {
	e := environment{values: map[string]string{}}
	for _, pair := range append(append([]string{}, image...), cluster...) {
		name, value, _ := strings.Cut(pair, "=")
		e.set(name, value)
	}
	if err := e.from(c.EnvFrom, src); err != nil {
		return nil, err
	}
	for i := range c.Env {
		v := &c.Env[i]
		value, set, err := envValue(pod, c, v, src)
		if err != nil {
			return nil, err
		}
		if !set {
			continue
		}
		if v.ValueFrom == nil {
			value = expand(value, e.values)
		}
		e.set(v.Name, value)
	}
	return e.pairs(), nil
}

// environment keeps variables in the order in which they first came.
type environment struct {
	names  []string
	values map[string]string
}

func (e *environment) set(name, value string) {
	if _, ok := e.values[name]; !ok {
		e.names = append(e.names, name)
	}
	e.values[name] = value
}

func (e *environment) pairs() []string {
	out := make([]string, 0, len(e.names))
	for _, n := range e.names {
		out = append(out, n+"="+e.values[n])
	}
	return out
}

func (e *environment) from(list []corev1.EnvFromSource, src sources) error {
	for _, f := range list {
		switch {
		case f.ConfigMapRef != nil:
			cm, err := src.configMap(f.ConfigMapRef.Name)
			if err != nil {
				if isOptional(f.ConfigMapRef.Optional, err) {
					continue
				}
				return err
			}
			for _, k := range sortedKeys(cm.Data) {
				e.set(f.Prefix+k, cm.Data[k])
			}
		case f.SecretRef != nil:
			s, err := src.secret(f.SecretRef.Name)
			if err != nil {
				if isOptional(f.SecretRef.Optional, err) {
					continue
				}
				return err
			}
			for _, k := range sortedKeys(s.Data) {
				e.set(f.Prefix+k, string(s.Data[k]))
			}
		}
	}
	return nil
}

// envValue is a variable's value. set is false for an optional reference to nothing.
func envValue(pod *corev1.Pod, c *corev1.Container, v *corev1.EnvVar, src sources) (value string, set bool, err error) {
	from := v.ValueFrom
	switch {
	case from == nil:
		return v.Value, true, nil
	case from.FieldRef != nil:
		value, err = volume.FieldValue(pod, from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = volume.ResourceValue(containerNamed(pod, from.ResourceFieldRef.ContainerName, c), from.ResourceFieldRef)
		return value, true, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		cm, err := src.configMap(ref.Name)
		if err != nil {
			return "", false, unlessOptional(ref.Optional, err)
		}
		value, ok := cm.Data[ref.Key]
		return value, ok, missingKey(ok, ref.Optional, ref.Key, "ConfigMap", pod.Namespace, ref.Name)
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		s, err := src.secret(ref.Name)
		if err != nil {
			return "", false, unlessOptional(ref.Optional, err)
		}
		value, ok := s.Data[ref.Key]
		return string(value), ok, missingKey(ok, ref.Optional, ref.Key, "Secret", pod.Namespace, ref.Name)
	}
	return "", false, fmt.Errorf("environment variable %s: this node does not know its source", v.Name)
}

func missingKey(ok bool, optional *bool, key, kind, namespace, name string) error {
	if ok || optional != nil && *optional {
		return nil
	}
	return fmt.Errorf("couldn't find key %s in %s %s/%s", key, kind, namespace, name)
}

func containerNamed(pod *corev1.Pod, name string, self *corev1.Container) *corev1.Container {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == name {
			return &pod.Spec.Containers[i]
		}
	}
	return self
}

// expand replaces $(NAME) by the variable's value and $$ by $. An unknown name stays as it is.
func expand(text string, values map[string]string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		switch end := strings.IndexByte(text[i:], ')'); {
		case text[i+1] == '$':
			out.WriteByte('$')
			i++
		case text[i+1] == '(' && end > 0:
			ref := text[i : i+end+1]
			if v, ok := values[ref[2:len(ref)-1]]; ok {
				out.WriteString(v)
			} else {
				out.WriteString(ref)
			}
			i += end
		default:
			out.WriteByte('$')
		}
	}
	return out.String()
}

// commandLine is what a container runs: the pod's command and args where given, the image's otherwise.
func commandLine(c *corev1.Container, entrypoint, cmd, env []string) []string {
	values := map[string]string{}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	first, rest := entrypoint, cmd
	if len(c.Command) > 0 {
		first, rest = c.Command, nil
	}
	if len(c.Args) > 0 {
		rest = c.Args
	}
	var out []string
	for _, a := range append(append([]string{}, first...), rest...) {
		if len(c.Command)+len(c.Args) > 0 {
			a = expand(a, values)
		}
		out = append(out, a)
	}
	return out
}
