package rows

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

// Memory requests: 1 GiB and the overhead that the kind of program gets.
const (
	jvmMemory    = "1408Mi" // 384 MiB, the least
	pythonMemory = "1433Mi" // 40 %
	// With the factor 0.8, and 200 MiB for Python workers.
	moreDriverMemory   = "1843Mi"
	moreExecutorMemory = "2043Mi"
)

// driverPod checks what Spark's suite checks of every driver pod.
func driverPod(memory string) trial.PodCheck {
	return func(t *trial.Trial, p *corev1.Pod) error {
		if p.Name != t.DriverName {
			return fmt.Errorf("its name is not %s", t.DriverName)
		}
		return sparkContainer(t, p, "spark-kubernetes-driver", memory)
	}
}

// executorPod checks what Spark's suite checks of every executor pod.
func executorPod(memory string) trial.PodCheck {
	return func(t *trial.Trial, p *corev1.Pod) error {
		return sparkContainer(t, p, "spark-kubernetes-executor", memory)
	}
}

func sparkContainer(t *trial.Trial, p *corev1.Pod, name, memory string) error {
	c := p.Spec.Containers[0]
	if c.Image != t.Image() || c.Name != name {
		return fmt.Errorf("its container is %s of image %s, expected %s of %s", c.Name, c.Image, name, t.Image())
	}
	return requests(memory)(t, p)
}

// requests checks the first container's memory request.
func requests(memory string) trial.PodCheck {
	return func(_ *trial.Trial, p *corev1.Pod) error {
		if got := p.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory]; got.String() != memory {
			return fmt.Errorf("it requests %s of memory, expected %s", got.String(), memory)
		}
		return nil
	}
}

// hasLabel checks one label.
func hasLabel(key, value string) trial.PodCheck {
	return func(_ *trial.Trial, p *corev1.Pod) error { return equal("label "+key, p.Labels[key], value) }
}

// inContainer checks image and name of the first container.
func inContainer(name string) trial.PodCheck {
	return func(t *trial.Trial, p *corev1.Pod) error {
		c := p.Spec.Containers[0]
		return equal("container", c.Name+" of "+c.Image, name+" of "+t.Image())
	}
}

func equal(what, got, want string) error {
	if got != want {
		return fmt.Errorf("%s is %q, expected %q", what, got, want)
	}
	return nil
}

// variable is the value of a variable that stands in the pod's first container.
func variable(p *corev1.Pod, name string) (string, bool) {
	for _, v := range p.Spec.Containers[0].Env {
		if v.Name == name {
			return v.Value, true
		}
	}
	return "", false
}

// customised checks the labels, annotations and variables that row 8 sets.
func customised(_ *trial.Trial, p *corev1.Pod) error {
	app := p.Labels["spark-app-selector"]
	env1, _ := variable(p, "ENV1")
	env2, _ := variable(p, "ENV2")
	for _, c := range []struct{ what, got, want string }{
		{"label label1", p.Labels["label1"], "label1-value"},
		{"label label2", p.Labels["label2"], "label2-value"},
		{"label customAppIdLabelKey", p.Labels["customAppIdLabelKey"], app},
		{"annotation annotation1", p.Annotations["annotation1"], "annotation1-value"},
		{"annotation annotation2", p.Annotations["annotation2"], "annotation2-value"},
		{"annotation customAppIdAnnotation", p.Annotations["customAppIdAnnotation"], app},
		{"variable ENV1", env1, "VALUE1"},
		{"variable ENV2", env2, "VALUE2"},
	} {
		if err := equal(c.what, c.got, c.want); err != nil {
			return err
		}
	}
	if app == "" {
		return fmt.Errorf("it has no application id")
	}
	return nil
}

// diskAt checks what df says of a path in the pod: tmpfs, or a device.
func diskAt(path, file string) trial.PodCheck {
	return func(t *trial.Trial, p *corev1.Pod) error { return t.ExecShows(p.Name, file, "df", path) }
}

// localDirs checks what df says of the pod's first local directory.
func localDirs(file string) trial.PodCheck {
	return func(t *trial.Trial, p *corev1.Pod) error {
		dirs, ok := variable(p, "SPARK_LOCAL_DIRS")
		if !ok {
			return fmt.Errorf("it has no SPARK_LOCAL_DIRS")
		}
		first, _, _ := strings.Cut(dirs, ",")
		return t.ExecShows(p.Name, file, "df", first)
	}
}
