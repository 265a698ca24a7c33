package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/localcluster/internal/container"
	"github.com/kubespark/kubespark/localcluster/internal/image"
	"github.com/kubespark/kubespark/localcluster/internal/userns"
	"github.com/kubespark/kubespark/localcluster/internal/volume"
)

// waitError is why a container cannot start yet: the reason of its waiting state, and the event that goes with it.
type waitError struct {
	reason string
	err    error
}

func (e *waitError) Error() string { return e.err.Error() }
func (e *waitError) Unwrap() error { return e.err }

// podFiles is the folder of a pod's own files on the node: hosts, hostname, resolv.conf, termination messages.
func (p *provider) podFiles(pod *corev1.Pod) string {
	return filepath.Join(p.opts.StateDir, "pods", string(pod.UID))
}

// containerSpec is everything that the runtime must know of the n-th run of a container.
func (w *worker) containerSpec(ctx context.Context, c *corev1.Container, run int) (container.Spec, error) {
	img, err := w.p.images.Get(c.Image)
	if err != nil {
		return container.Spec{}, &waitError{reasonErrImagePull, err}
	}
	pod := w.withAddress()
	id, err := identify(pod, c, img, passwdOf(img))
	if err != nil {
		return container.Spec{}, &waitError{reasonConfigError, err}
	}
	asked := id.uid
	id = id.among(userns.Known)
	if run == 0 && id.uid != asked && asksUser(pod, c) {
		w.p.events.container(pod, c.Name, corev1.EventTypeWarning, "RunAsUserIgnored",
			fmt.Sprintf("User %d does not exist on this node, which runs without root: the container runs as the node's own user, without capabilities", asked))
	}
	env, err := buildEnv(pod, c, imageEnv(img), w.p.clusterEnv(pod), w.p.envSources(ctx, pod.Namespace))
	if err != nil {
		return container.Spec{}, &waitError{reasonConfigError, err}
	}
	mounts, err := w.mounts(c, img, env, run)
	if err != nil {
		return container.Spec{}, &waitError{reasonConfigError, err}
	}
	s := container.Spec{
		ID: fmt.Sprintf("%s-%s-%d", pod.UID, c.Name, run), Hostname: hostnameOf(pod), Layer: img.Layer, Alone: img.Alone, Mounts: mounts,
		ReadOnlyRoot: id.readOnlyRoot, Args: commandLine(c, img.Entrypoint, img.Cmd, env), Env: env, Cwd: c.WorkingDir,
		UID: id.uid, GID: id.gid, Groups: id.groups, Capabilities: id.capabilities, NoNewPrivileges: id.noNewPrivileges,
	}
	if s.Cwd == "" {
		s.Cwd = img.WorkingDir
	}
	limits(&s, c.Resources)
	return s, nil
}

func limits(s *container.Spec, r corev1.ResourceRequirements) {
	s.MemoryLimit = r.Limits.Memory().Value()
	cpu := r.Requests.Cpu()
	if cpu.IsZero() {
		cpu = r.Limits.Cpu()
	}
	s.CPUShares = container.CPUShares(cpu.MilliValue())
	s.CPUQuota = container.CPUQuota(r.Limits.Cpu().MilliValue())
}

func imageEnv(img image.Manifest) []string {
	for _, e := range img.Env {
		if strings.HasPrefix(e, "PATH=") {
			return img.Env
		}
	}
	return append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, img.Env...)
}

// clusterEnv is what every container is told: its host name, and where the API server is.
func (p *provider) clusterEnv(pod *corev1.Pod) []string {
	host, port := p.opts.APIServerIP, fmt.Sprint(p.opts.APIServerPort)
	url := "tcp://" + host + ":" + port
	return []string{
		"HOSTNAME=" + hostnameOf(pod),
		"KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port, "KUBERNETES_SERVICE_PORT_HTTPS=" + port,
		"KUBERNETES_PORT=" + url, "KUBERNETES_PORT_" + port + "_TCP=" + url, "KUBERNETES_PORT_" + port + "_TCP_PROTO=tcp",
		"KUBERNETES_PORT_" + port + "_TCP_PORT=" + port, "KUBERNETES_PORT_" + port + "_TCP_ADDR=" + host,
	}
}

// mounts binds the image's folders, the pod's own files and its volumes, outer places before inner ones.
func (w *worker) mounts(c *corev1.Container, img image.Manifest, env []string, run int) ([]container.Mount, error) {
	var out []container.Mount
	for _, b := range img.Binds {
		out = append(out, container.Mount{Source: b.Source, Destination: b.Destination, ReadOnly: true})
	}
	dir := w.p.podFiles(w.current())
	for _, name := range []string{"hosts", "hostname", "resolv.conf"} {
		out = append(out, container.Mount{Source: filepath.Join(dir, name), Destination: "/etc/" + name})
	}
	if c.TerminationMessagePath != "" {
		file := w.terminationFile(c.Name, run)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return nil, err
		}
		if err := os.Chmod(file, 0o666); err != nil {
			return nil, err
		}
		out = append(out, container.Mount{Source: file, Destination: c.TerminationMessagePath})
	}
	values := map[string]string{}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		values[name] = value
	}
	for _, vm := range c.VolumeMounts {
		v, ok := w.volume(vm.Name)
		if !ok {
			return nil, fmt.Errorf("volume mount %s: the pod has no volume of this name", vm.Name)
		}
		src, err := mountSource(v, vm, values)
		if err != nil {
			return nil, fmt.Errorf("volume mount %s: %w", vm.Name, err)
		}
		out = append(out, container.Mount{Source: src, Destination: vm.MountPath, ReadOnly: v.ReadOnly || vm.ReadOnly})
	}
	sort.SliceStable(out, func(i, j int) bool { return depth(out[i].Destination) < depth(out[j].Destination) })
	return out, nil
}

func depth(path string) int { return strings.Count(filepath.Clean(path), "/") }

// mountSource is the host path behind a volume mount, with its subPath.
func mountSource(v volume.Volume, vm corev1.VolumeMount, env map[string]string) (string, error) {
	sub := vm.SubPath
	if vm.SubPathExpr != "" {
		sub = expand(vm.SubPathExpr, env)
	}
	if sub == "" {
		return v.HostPath, nil
	}
	if !filepath.IsLocal(sub) {
		return "", fmt.Errorf("subPath %q leaves the volume", sub)
	}
	path := filepath.Join(v.HostPath, sub)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) && !v.ReadOnly {
		if err := os.MkdirAll(path, 0o750); err != nil {
			return "", err
		}
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	root, err := filepath.EvalSymlinks(v.HostPath)
	if err != nil {
		return "", err
	}
	if real != root && !strings.HasPrefix(real, root+"/") {
		return "", fmt.Errorf("subPath %q leaves the volume", sub)
	}
	return real, nil
}

func (w *worker) terminationFile(name string, run int) string {
	return filepath.Join(w.p.podFiles(w.current()), fmt.Sprintf("termination-%s-%d", name, run))
}

const (
	maxMessage      = 4096
	maxFallback     = 2048
	maxFallbackRows = 80
)

// terminationMessage is what an ended container left to say.
func (w *worker) terminationMessage(c *corev1.Container, run int, log *containerLog, code int) string {
	if c.TerminationMessagePath != "" {
		if text, err := os.ReadFile(w.terminationFile(c.Name, run)); err == nil && len(text) > 0 {
			return string(text[:min(len(text), maxMessage)])
		}
	}
	if c.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError && code != 0 {
		return log.tail(maxFallbackRows, maxFallback)
	}
	return ""
}
