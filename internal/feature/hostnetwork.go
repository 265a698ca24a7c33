package feature

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// checkHostNetwork warns of what is missing for a pod in its node's network.
func (b *build) checkHostNetwork(role sparkpod.Role, pod *corev1.Pod, c *conf.Conf) error {
	text, err := hostNetworkWarning(role, pod, c)
	if text != "" {
		b.warnings = append(b.warnings, text)
	}
	return err
}

// hostNetworkWarning says what a template that puts a pod into its node's network leaves to set. The pod stays as it is.
// Empty: nothing is left.
func hostNetworkWarning(role sparkpod.Role, pod *corev1.Pod, c *conf.Conf) (string, error) {
	if pod == nil || !pod.Spec.HostNetwork {
		return "", nil
	}
	spec := pod.Spec
	var todo []string
	if spec.DNSPolicy != corev1.DNSClusterFirstWithHostNet {
		todo = append(todo, "dnsPolicy: ClusterFirstWithHostNet in the template, or the driver's Service has no name there")
	}
	if role == sparkpod.Executor {
		port, err := rawInt(c, conf.BlockManagerPort)
		if err != nil {
			return "", err
		}
		if port != 0 {
			todo = append(todo, fmt.Sprintf("%s=0 and %s=%d, or a node takes one executor only: each asks for port %d of its node",
				conf.BlockManagerPort.Key(), conf.DriverBlockManagerPort.Key(), port, port))
		}
		if c.Raw("spark.shuffle.readHostLocalDisk", "true") != "false" {
			todo = append(todo, "spark.shuffle.readHostLocalDisk=false, or executors of one node look for each other's shuffle files in their own folders")
		}
	}
	if len(todo) == 0 {
		return "", nil
	}
	return fmt.Sprintf("The %s pod is in its node's network (hostNetwork in its template). Set %s.", role, strings.Join(todo, "; ")), nil
}
