package rows

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

// others are the resize row and those whose objects are compared with stock Spark's.
func others() []trial.Row {
	compared := func(number int, suite, name string, cases ...string) trial.Row {
		return trial.Row{Number: number, Suite: suite, Name: name, Compared: cases}
	}
	return []trial.Row{
		compared(46, "RTestsSuite", "Run SparkR on simple dataframe.R example", "driver-r"),
		resize(),
		compared(54, "YuniKornSuite, VolcanoSuite", "every test above under the scheduler", "driver-scheduler", "driver-volcano", "executor-volcano"),
	}
}

// resize: a plug-in of Spark raises an executor's memory without a restart.
func resize() trial.Row {
	r := pi(47, "ExecutorResizeSuite", "SPARK-60079: Resize executor memory in place with ExecutorResizePlugin")
	r.Args = []string{"30000"} // tasks, of which some hundred a second are done
	r.Note = "Spark's own test, newer than 4.2.0, keeps the application up with the SQL shell's program, which 4.2.0 refuses in cluster mode, and sets a " +
		"greatest size, which 4.2.0 does not know; here a program with many tasks runs, and the limit must have risen."
	r.StaysUp = true
	const plugin = "org.apache.spark.scheduler.cluster.k8s.ExecutorResizePlugin"
	r.Conf = map[string]string{
		"spark.plugins": plugin,
		"spark.kubernetes.executor.resizeInterval":  "5s",
		"spark.kubernetes.executor.resizeThreshold": "0.01",
		"spark.kubernetes.executor.resizeFactor":    "0.1",
	}
	r.DriverLog = []string{"Initialized driver component for plugin " + plugin, "Increase executor 1 container memory from"}
	r.Prepare = func(t *trial.Trial) error {
		return t.Grant(
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/resize"}, Verbs: []string{"patch", "update", "get"}},
			rbacv1.PolicyRule{APIGroups: []string{"metrics.k8s.io"}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}})
	}
	r.After = resized
	return r
}

// resized waits until the pod has more memory by specification and status, without a restart.
func resized(t *trial.Trial) error {
	return t.Eventually(t.Patience, "executor 1 has more memory", func() error {
		list, err := t.Client.CoreV1().Pods(t.Namespace).List(t.Ctx, metav1.ListOptions{LabelSelector: "spark-role=executor,spark-exec-id=1"})
		if err != nil || len(list.Items) != 1 {
			return fmt.Errorf("%d pods of executor 1: %w", len(list.Items), err)
		}
		p := list.Items[0]
		status := p.Status.ContainerStatuses[0]
		if status.RestartCount != 0 {
			return fmt.Errorf("its container was restarted")
		}
		if status.Resources == nil {
			return fmt.Errorf("its status tells no resources")
		}
		want, got := p.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory], status.Resources.Limits[corev1.ResourceMemory]
		if want.Value() <= 1408<<20 || got.Cmp(want) != 0 {
			return fmt.Errorf("its limit is %s, by its status %s", want.String(), got.String())
		}
		return nil
	})
}
