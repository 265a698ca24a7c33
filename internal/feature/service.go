package feature

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

func checkService(b *build) error {
	if conf.DriverBindAddress.IsSet(b.conf) {
		return errors.New("requirement failed: spark.driver.bindAddress is not supported in Kubernetes mode, as the " + //nolint:staticcheck // Spark's own text
			"driver's bind address is managed and set to the driver pod's IP address.")
	}
	if conf.DriverHost.IsSet(b.conf) {
		return errors.New("requirement failed: spark.driver.host is not supported in Kubernetes mode, as the " + //nolint:staticcheck // Spark's own text
			"driver's hostname will be managed via a Kubernetes service.")
	}
	all, err := driverPorts(b)
	if err != nil {
		return err
	}
	return checkPorts(all)
}

// service makes the headless Service by which executors find the driver. It answers to DriverServiceFeatureStep.
func service(b *build) error {
	all, err := driverPorts(b)
	if err != nil {
		return err
	}
	name, warning := sparkpod.ServiceName(b.prefix, b.driver.Unique)
	if warning != "" {
		b.warnings = append(b.warnings, warning)
	}
	labels := b.conf.Family("spark.kubernetes.driver.service.label.")
	if _, taken := labels[sparkpod.LabelAppSelector]; taken {
		return fmt.Errorf("spark.kubernetes.driver.service.label.%s: the label is reserved for Spark, which finds the Service by it; remove it",
			sparkpod.LabelAppSelector)
	}
	labels[sparkpod.LabelAppSelector] = b.appID
	spec, err := serviceSpec(b, all)
	if err != nil {
		return err
	}
	s := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       spec,
	}
	put(&s.Annotations, b.conf.Family("spark.kubernetes.driver.service.annotation."))
	b.objects = append(b.objects, s)
	b.props[conf.DriverHost.Key()] = fmt.Sprintf("%s.%s.svc", name, b.driver.Namespace)
	b.props[conf.DriverPort.Key()] = strconv.Itoa(all[0].service)
	b.props[conf.DriverBlockManagerPort.Key()] = strconv.Itoa(all[1].service)
	return nil
}

func serviceSpec(b *build, all []port) (corev1.ServiceSpec, error) {
	policyText, err := conf.ServiceIPFamilyPolicy.Get(b.conf)
	if err != nil {
		return corev1.ServiceSpec{}, err
	}
	families, err := conf.ServiceIPFamilies.Get(b.conf)
	if err != nil {
		return corev1.ServiceSpec{}, err
	}
	policy := corev1.IPFamilyPolicy(policyText)
	spec := corev1.ServiceSpec{
		ClusterIP:      corev1.ClusterIPNone,
		IPFamilyPolicy: &policy,
		Selector:       podLabels(b),
	}
	for _, f := range strings.Split(families, ",") {
		spec.IPFamilies = append(spec.IPFamilies, corev1.IPFamily(f))
	}
	for _, p := range all {
		sp := corev1.ServicePort{Name: p.name, Port: int32(p.service), TargetPort: intstr.FromInt32(int32(p.service))}
		if p.name == "spark-connect" && b.version.AtLeast(4, 2) {
			grpc := "grpc"
			sp.AppProtocol = &grpc
		}
		spec.Ports = append(spec.Ports, sp)
	}
	if b.version.AtLeast(4, 3) {
		if spec.PublishNotReadyAddresses, err = conf.ServicePublishNotReady.Get(b.conf); err != nil {
			return spec, err
		}
	}
	return spec, nil
}
