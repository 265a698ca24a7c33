package rows

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

const (
	decommissionSuite = "DecommissionSuite"
	// readyForDecommission is what the suite's decommission.py says.
	readyForDecommission = "Ready for the decommissioning of executor 1"
	stopping             = "Waited long enough, stopping"
	asked                = "Decommission executors"
)

// migrates are the properties of executors that move their blocks before they go.
var migrates = map[string]string{
	"spark.decommission.enabled":                       "true",
	"spark.storage.decommission.enabled":               "true",
	"spark.storage.decommission.shuffleBlocks.enabled": "true",
	"spark.storage.decommission.rddBlocks.enabled":     "true",
}

func decommission() []trial.Row {
	row := func(number int, name, program string, args []string, conf map[string]string, says ...string) trial.Row {
		r := pyRow(number, decommissionSuite, name, trial.Python+program, args...)
		r.ConfFiles = map[string]string{"log4j2.properties": debugLog}
		r.Conf, r.DriverLog = merge(migrates, conf), says
		return r
	}
	three := map[string]string{"spark.executor.instances": "3", "spark.storage.decommission.replicationReattemptInterval": "1"}
	basicOne := row(41, "Test basic decommissioning", "decommission.py", []string{"30"}, three, asked, "Last count: 100", stopping)
	cleanUp := row(42, "Test basic decommissioning with shuffle cleanup", "decommission.py", []string{"30", "2"},
		merge(three, map[string]string{"spark.dynamicAllocation.shuffleTracking.enabled": "true", "spark.dynamicAllocation.shuffleTracking.timeout": "400"}),
		asked, stopping)
	timeout := row(44, "Test decommissioning timeouts", "decommission.py", []string{"30"},
		map[string]string{"spark.executor.instances": "3", "spark.storage.decommission.replicationReattemptInterval": "8640000", "spark.executor.decommission.forceKillTimeout": "10"},
		asked, "failed to decommission in 10, killing", "killed by driver.", stopping)
	for _, r := range []*trial.Row{&basicOne, &cleanUp, &timeout} {
		r.Executors, r.During = 3, deleteFirst
	}
	return []trial.Row{basicOne, cleanUp, scaleDown(row), timeout, rolling(row)}
}

type rowMaker = func(number int, name, program string, args []string, conf map[string]string, says ...string) trial.Row

// scaleDown: dynamic allocation lets an executor go.
func scaleDown(row rowMaker) trial.Row {
	r := row(43, "Test decommissioning with dynamic allocation & shuffle cleanups", "scale.py", []string{"150"}, map[string]string{
		"spark.dynamicAllocation.enabled":                         "true",
		"spark.dynamicAllocation.minExecutors":                    "1",
		"spark.dynamicAllocation.initialExecutors":                "2",
		"spark.dynamicAllocation.executorIdleTimeout":             "5",
		"spark.dynamicAllocation.cachedExecutorIdleTimeout":       "30",
		"spark.dynamicAllocation.shuffleTracking.enabled":         "true",
		"spark.dynamicAllocation.shuffleTracking.timeout":         "30",
		"spark.storage.decommission.replicationReattemptInterval": "75",
		"spark.kubernetes.executor.decommissionLabel":             "solong",
		"spark.kubernetes.executor.decommissionLabelValue":        "cruelworld",
	}, asked, "Remove reason statistics: (gracefully decommissioned: 1, decommission unfinished: 0, driver killed: 0, unexpectedly exited: 0).", stopping)
	r.Executors, r.Limit = 2, 4*time.Minute
	r.During = func(t *trial.Trial) error {
		return t.Eventually(2*time.Minute, "an executor pod with the label solong", func() error {
			list, err := t.Client.CoreV1().Pods(t.Namespace).List(t.Ctx, metav1.ListOptions{LabelSelector: "spark-role=executor,solong=cruelworld"})
			if err == nil && len(list.Items) == 0 {
				err = errors.New("there is none")
			}
			return err
		})
	}
	return r
}

// rolling: a plug-in of Spark replaces executors one by one.
func rolling(row rowMaker) trial.Row {
	r := row(45, "SPARK-37576: Rolling decommissioning", "", []string{"10000"}, map[string]string{
		"spark.plugins":                          "org.apache.spark.scheduler.cluster.k8s.ExecutorRollPlugin",
		"spark.kubernetes.executor.rollInterval": "30s",
		"spark.kubernetes.executor.rollPolicy":   "ID",
	},
		"Initialized driver component for plugin org.apache.spark.scheduler.cluster.k8s.ExecutorRollPlugin",
		"Ask to decommission executor 1", "Removed 1 successfully in removeExecutor", "Going to request 1 executors")
	r.During = successorRolls
	r.Program = sparksPi
	r.StaysUp = true // the texts come long before the 10,000 tasks are done
	for key := range migrates {
		if key != "spark.decommission.enabled" {
			delete(r.Conf, key)
		}
	}
	return r
}

// successorRolls: the executor that takes the first one's place is replaced as well. It is executor 2, unless another manager has taken over
// in between, which has ids of its own.
func successorRolls(t *trial.Trial) error {
	successor := 0
	err := t.Eventually(t.Patience, "the successor of executor 1", func() error {
		for _, p := range t.SeenExecutors() {
			id, err := strconv.Atoi(p.Labels["spark-exec-id"])
			if err != nil {
				return err
			}
			if id > 1 && (successor == 0 || id < successor) {
				successor = id
			}
		}
		if successor == 0 {
			return errors.New("none was seen")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if successor != 2 && !t.Column.Kill {
		return fmt.Errorf("the successor of executor 1 is executor %d", successor)
	}
	return t.DriverSays(t.Patience, fmt.Sprintf("Ask to decommission executor %d", successor), fmt.Sprintf("Removed %d successfully in removeExecutor", successor))
}

// deleteFirst deletes the pod of executor 1 with a grace time of decades, once the program is ready for it. The executor must
// end by itself, when its blocks have moved or its time is up, and be replaced.
func deleteFirst(t *trial.Trial) error {
	if err := t.DriverSays(t.Patience, readyForDecommission); err != nil {
		return err
	}
	victim := ""
	for _, p := range t.SeenExecutors() {
		if strings.HasSuffix(p.Name, "-1") {
			victim = p.Name
		}
	}
	if victim == "" {
		return errors.New("no pod of executor 1 was seen")
	}
	grace := int64(math.MaxInt32)
	pods := t.Client.CoreV1().Pods(t.Namespace)
	if err := pods.Delete(t.Ctx, victim, metav1.DeleteOptions{GracePeriodSeconds: &grace}); err != nil {
		return err
	}
	err := t.Eventually(t.Patience, "the end of pod "+victim, func() error {
		_, err := pods.Get(t.Ctx, victim, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	})
	if err != nil {
		return err
	}
	return t.Eventually(time.Minute, "another executor in its place", func() error {
		var others []corev1.Pod
		for _, p := range t.SeenExecutors() {
			if p.Name != victim {
				others = append(others, p)
			}
		}
		if len(others) < 3 {
			return fmt.Errorf("%d executors beside the deleted one were seen", len(others))
		}
		return nil
	})
}
