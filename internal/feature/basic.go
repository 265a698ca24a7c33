package feature

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// checkImage finds a missing image.
func checkImage(b *build) error {
	_, err := imageName(b)
	return err
}

func imageName(b *build) (string, error) {
	image, err := b.image.Get(b.conf)
	if err != nil {
		return "", err
	}
	if image == "" {
		return "", fmt.Errorf("Must specify the %s container image", b.role) //nolint:staticcheck // Spark's own text
	}
	if b.version.AtLeast(4, 1) {
		image = strings.ReplaceAll(image, "{{SPARK_VERSION}}", b.version.String())
	}
	return image, nil
}

// basic makes what every Spark pod has. It answers to BasicDriverFeatureStep and BasicExecutorFeatureStep.
func basic(b *build) error {
	if err := checkLabels(b); err != nil {
		return err
	}
	if err := checkTexts(b); err != nil {
		return err
	}
	if err := metadata(b); err != nil {
		return err
	}
	if err := placement(b); err != nil {
		return err
	}
	if err := container(b); err != nil {
		return err
	}
	if err := ports(b); err != nil {
		return err
	}
	if err := env(b); err != nil {
		return err
	}
	if err := resources(b); err != nil {
		return err
	}
	if b.driver != nil {
		return driverProperties(b)
	}
	return executorLife(b)
}

// presetLabels are the labels that Spark finds its pods by.
func presetLabels(b *build) map[string]string {
	l := map[string]string{
		sparkpod.LabelVersion:     b.version.String(),
		sparkpod.LabelAppSelector: b.appID,
		sparkpod.LabelAppName:     sparkpod.AppNameLabel(b.conf.Raw(conf.AppName.Key(), "spark")),
		sparkpod.LabelRole:        string(b.role),
	}
	if b.executor != nil {
		l[sparkpod.LabelExecutorID] = b.executorID
		l[sparkpod.LabelResourceProfile] = fmt.Sprint(b.executor.Profile.ID)
	}
	return l
}

// podLabels are the user's labels with the presets over them.
func podLabels(b *build) map[string]string {
	l := b.userLabels()
	maps.Copy(l, presetLabels(b))
	return l
}

func metadata(b *build) error {
	m := &b.sp.Pod.ObjectMeta
	if b.executor != nil {
		m.Name = sparkpod.ExecutorPodName(b.prefix, b.executorID)
		if d := b.executor.Driver; d != nil {
			m.OwnerReferences = append(m.OwnerReferences, *d)
		}
	} else {
		name, ok, err := conf.DriverPodName.Lookup(b.conf)
		if err != nil {
			return err
		}
		if !ok {
			name = b.prefix + "-driver"
		}
		m.Name = name
	}
	if len(m.Name) > sparkpod.MaxName {
		return fmt.Errorf("the name of the %s pod, %s, is longer than the %d characters that Kubernetes allows; shorten %s",
			b.role, m.Name, sparkpod.MaxName, nameKey(b))
	}
	put(&m.Labels, podLabels(b))
	put(&m.Annotations, b.filled(b.annotations))
	return nil
}

func nameKey(b *build) string {
	if b.executor != nil {
		return conf.ExecutorPodNamePrefix.Key()
	}
	return conf.DriverPodName.Key()
}

// placement says where and how the pod is scheduled.
func placement(b *build) error {
	spec := &b.sp.Pod.Spec
	spec.RestartPolicy = corev1.RestartPolicyNever
	put(&spec.NodeSelector, b.conf.Family("spark.kubernetes.node.selector."))
	put(&spec.NodeSelector, b.conf.Family(b.nodeSelector))
	secrets, err := conf.ImagePullSecrets.Get(b.conf)
	if err != nil {
		return err
	}
	for _, s := range secrets {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, corev1.LocalObjectReference{Name: s})
	}
	scheduler, ok, err := b.scheduler.Lookup(b.conf)
	if err != nil {
		return err
	}
	if ok {
		spec.SchedulerName = scheduler
		if scheduler == "" {
			b.sp.SetInPod("", "spec", "schedulerName")
		}
	}
	return nil
}

func container(b *build) error {
	c := b.sp.Container
	if c.Name == "" {
		c.Name = sparkpod.DefaultContainerName(b.role)
	}
	image, err := imageName(b)
	if err != nil {
		return err
	}
	c.Image = image
	policy, err := conf.ImagePullPolicy.Get(b.conf)
	if err != nil {
		return err
	}
	c.ImagePullPolicy = corev1.PullPolicy(policy)
	if b.version.AtLeast(4, 3) {
		allow, err := b.escalation.Get(b.conf)
		if err != nil {
			return err
		}
		if c.SecurityContext == nil {
			c.SecurityContext = &corev1.SecurityContext{}
		}
		c.SecurityContext.AllowPrivilegeEscalation = &allow
	}
	if b.executor == nil {
		return nil
	}
	c.Args = append(c.Args, "executor")
	if b.version.AtLeast(4, 2) {
		c.ResizePolicy = append(c.ResizePolicy,
			corev1.ContainerResizePolicy{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired},
			corev1.ContainerResizePolicy{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.NotRequired})
	}
	return nil
}

// driverProperties are the entries of spark.properties that tell the driver what was built.
func driverProperties(b *build) error {
	factor, err := defaultOverheadFactor(b.conf, b.driver.ResourceType)
	if err != nil {
		return err
	}
	b.props[conf.DriverPodName.Key()] = b.sp.Pod.Name
	b.props["spark.app.id"] = b.appID
	b.props["spark.kubernetes.submitInDriver"] = "true"
	b.props[conf.MemoryOverheadFactor.Key()] = conf.FormatDouble(factor)
	maps.Copy(b.props, b.driver.Uploaded)
	return nil
}

// executorLife is how an executor ends, what it is called on the network, and its configuration volume.
func executorLife(b *build) error {
	allocator, native, err := conf.AllocatorOf(b.conf)
	if err != nil {
		return err
	}
	spec := &b.sp.Pod.Spec
	spec.Hostname = sparkpod.Hostname(b.sp.Pod.Name)
	deployment := native && allocator == conf.DeploymentAllocator
	if deployment {
		spec.Hostname = strings.ToLower(spec.Hostname)
	}
	if deployment || allocator == conf.StatefulSetAllocator {
		spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	if b.version.AtLeast(4, 1) {
		grace, err := conf.ExecutorTerminationGrace.Get(b.conf)
		if err != nil {
			return err
		}
		seconds := int64(grace.Seconds())
		spec.TerminationGracePeriodSeconds = &seconds
	}
	if err := preStop(b); err != nil {
		return err
	}
	return executorConf(b)
}

func preStop(b *build) error {
	enabled, err := conf.DecommissionEnabled.Get(b.conf)
	if err != nil || !enabled {
		return err
	}
	script, err := conf.DecommissionScript.Get(b.conf)
	if err != nil {
		return err
	}
	b.sp.DropInContainer("lifecycle")
	b.sp.Container.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
		Exec: &corev1.ExecAction{Command: []string{script}}}}
	return nil
}

func executorConf(b *build) error {
	disabled, err := conf.ExecutorDisableConfigMap.Get(b.conf)
	if err != nil || disabled {
		return err
	}
	if b.executor.ConfigMapName == "" {
		return errors.New("the executors' ConfigMap has no name though spark.kubernetes.executor.disableConfigMap is not set")
	}
	b.addVolume(b.confVolume, configMapVolume(b.executor.ConfigMapName, b.executor.ConfFiles))
	b.addMount(b.confVolume, confDir)
	return nil
}

// confFileMode is the mode of mounted configuration files: rw-r--r--.
const confFileMode int32 = 0o644

// configMapVolume mounts the given keys under their own names; without keys, all.
func configMapVolume(name string, keys []string) corev1.VolumeSource {
	mode := confFileMode
	v := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}
	for _, k := range keys {
		v.Items = append(v.Items, corev1.KeyToPath{Key: k, Path: k, Mode: &mode})
	}
	return corev1.VolumeSource{ConfigMap: v}
}

// configMap is an immutable ConfigMap of the driver.
func configMap(name string, data map[string]string) *corev1.ConfigMap {
	immutable := true
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Immutable:  &immutable,
		Data:       data,
	}
}

// secret is an immutable Secret of the driver.
func secret(name string, data map[string][]byte) *corev1.Secret {
	immutable := true
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Immutable:  &immutable,
		Data:       data,
	}
}
