package submit

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/feature"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// DriverPod returns a copy of the driver pod as it is posted in stock's order: fields that only a template knows are
// missing in it. DriverBody has them.
func (p *Plan) DriverPod() *corev1.Pod { return p.driver.Pod.DeepCopy() }

// DriverBody returns the JSON of the driver pod.
func (p *Plan) DriverBody() ([]byte, error) {
	spec := p.driver
	spec.Pod = spec.Pod.DeepCopy()
	spec.Pod.Namespace = p.Namespace
	return spec.Body()
}

// SampleExecutor returns the JSON of an executor pod as the driver will create it for the default resource profile: names
// that the driver makes up when it runs are shown with the text of their place.
func (p *Plan) SampleExecutor() ([]byte, error) {
	c := p.Conf.With(p.driver.Properties)
	profile, err := feature.DefaultProfile(c)
	if err != nil {
		return nil, err
	}
	prefix, ok, err := conf.ExecutorPodNamePrefix.Lookup(c)
	if err != nil {
		return nil, err
	}
	if !ok {
		prefix = p.prefix
	}
	spec, err := feature.BuildExecutor(feature.ExecutorInput{
		Conf: c, AppID: p.AppID, Namespace: p.Namespace, ExecutorID: "1", PodNamePrefix: prefix, Profile: profile,
		ConfigMapName: sparkpod.ExecutorConfigMapName("sample"), Template: p.template, UserName: p.userName,
		LocalDirs: p.localDirs(),
	})
	if err != nil {
		return nil, err
	}
	spec.Pod.Namespace = p.Namespace
	return spec.Body()
}

// localDirs is SPARK_LOCAL_DIRS of the driver's container: executors inherit it.
func (p *Plan) localDirs() string {
	for _, c := range p.driver.Pod.Spec.Containers {
		if c.Name != p.ContainerName {
			continue
		}
		for _, e := range c.Env {
			if e.Name == "SPARK_LOCAL_DIRS" {
				return e.Value
			}
		}
	}
	return ""
}
