package rows

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

const (
	driverPort = 7077
	blockPort  = 10000
)

// client is the row of ClientModeTestsSuite: the driver is a pod made by hand behind a headless Service, and spark-submit
// runs in it.
func client() []trial.Row {
	return []trial.Row{{Number: 22, Suite: "ClientModeTestsSuite", Name: "Run in client mode.",
		Start: startClient, MakesDriver: true, Executors: 2,
		Executor: []trial.PodCheck{func(t *trial.Trial, p *corev1.Pod) error {
			id := p.Labels["spark-exec-id"]
			return equal("name", p.Name, executorPrefix(t)+"-exec-"+id)
		}},
		DriverLog: []string{piSays},
	}}
}

func executorPrefix(t *trial.Trial) string { return "client-" + t.Locator[:8] }

func startClient(t *trial.Trial) error {
	labels := map[string]string{"spark-app-selector": t.DriverName, "spark-app-locator": t.Locator, "spark-role": "driver"}
	port := func(name string, p int32) corev1.ServicePort {
		return corev1.ServicePort{Name: name, Port: p, TargetPort: intstr.FromInt32(p)}
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: t.DriverName + "-svc"}, Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: labels, Ports: []corev1.ServicePort{port("driver-port", driverPort), port("block-manager", blockPort)}}}
	if _, err := t.Client.CoreV1().Services(t.Namespace).Create(t.Ctx, service, metav1.CreateOptions{}); err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: t.DriverName, Labels: labels}, Spec: corev1.PodSpec{
		ServiceAccountName: "spark", RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "spark-example", Image: t.Image(),
			// The node's pods share the host's network: what listens does so at the pod's own address.
			Env: []corev1.EnvVar{{Name: "SPARK_LOCAL_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}}}},
	}}
	c := &pod.Spec.Containers[0]
	c.Command = []string{"/opt/spark/bin/spark-submit"}
	if t.Column.Submit == trial.Kubespark {
		if err := mountKubespark(t, pod); err != nil {
			return err
		}
		c.Command = []string{"/kubespark/kubespark", "submit"}
	}
	c.Args = clientArguments(t, service.Name)
	_, err := t.Client.CoreV1().Pods(t.Namespace).Create(t.Ctx, pod, metav1.CreateOptions{})
	return err
}

func clientArguments(t *trial.Trial, service string) []string {
	const secrets = "/var/run/secrets/kubernetes.io/serviceaccount/"
	conf := map[string]string{
		"spark.kubernetes.container.image":                  t.Image(),
		"spark.kubernetes.namespace":                        t.Namespace,
		"spark.kubernetes.driver.pod.name":                  t.DriverName,
		"spark.kubernetes.executor.podNamePrefix":           executorPrefix(t),
		"spark.kubernetes.authenticate.oauthTokenFile":      secrets + "token",
		"spark.kubernetes.authenticate.caCertFile":          secrets + "ca.crt",
		"spark.kubernetes.executor.label.spark-app-locator": t.Locator,
		"spark.executor.memory":                             "500m",
		"spark.executor.cores":                              "1",
		"spark.executor.instances":                          "2",
		"spark.driver.host":                                 fmt.Sprintf("%s.%s.svc", service, t.Namespace),
		"spark.driver.port":                                 fmt.Sprint(driverPort),
		"spark.driver.blockManager.port":                    fmt.Sprint(blockPort),
	}
	maps.Copy(conf, t.ManagerConf())
	args := []string{"--master", "k8s://https://kubernetes.default.svc", "--deploy-mode", "client", "--class", "Pi"}
	for _, k := range slices.Sorted(maps.Keys(conf)) {
		args = append(args, "--conf", k+"="+conf[k])
	}
	return append(args, "/opt/spark/suite/suite.jar", "10")
}

// mountKubespark brings the command line into the pod; the images have the manager alone.
func mountKubespark(t *trial.Trial, pod *corev1.Pod) error {
	text, err := os.ReadFile(filepath.Join(t.Bin, "kubespark"))
	if err != nil {
		return err
	}
	folder := filepath.Join(t.Dir, "kubespark")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "kubespark"), text, 0o755); err != nil {
		return err
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "kubespark", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}}})
	c := &pod.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "kubespark", MountPath: "/kubespark", ReadOnly: true})
	return nil
}
