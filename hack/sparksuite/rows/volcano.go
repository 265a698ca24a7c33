package rows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

const (
	volcanoSuite = "VolcanoTestsSuite"
	volcanoStep  = "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"
	groupFile    = "spark.kubernetes.scheduler.volcano.podGroupTemplateFile"
	// jobCores is what each of a job's two pods asks for, as in Spark's suite.
	jobCores = "0.2"
	// inTurn is how long a job may wait for those before it and run.
	inTurn = 6 * time.Minute
)

var volcanoConf = map[string]string{
	"spark.kubernetes.scheduler.name":            trial.Volcano,
	"spark.kubernetes.driver.pod.featureSteps":   volcanoStep,
	"spark.kubernetes.executor.pod.featureSteps": volcanoStep,
}

// volcano are the rows of VolcanoTestsSuite, with Volcano's scheduler and controllers.
func volcano() []trial.Row {
	one := volcanoPi()
	one.Number, one.Suite, one.Name = 48, volcanoSuite, "Run SparkPi with volcano scheduler"
	one.Compared = []string{"driver-volcano", "executor-volcano"}
	one.Driver = append(one.Driver, driverPod(jvmMemory))
	one.Executor = append(one.Executor, executorPod(jvmMemory))

	row := func(number int, name, compared string, play func(*trial.Trial) error) trial.Row {
		return trial.Row{Number: number, Suite: volcanoSuite, Name: name, Scheduler: trial.Volcano, Play: play,
			Compared: []string{compared, "executor-volcano"}}
	}
	// Spark's suite submits a program without executors here.
	order := row(53, "SPARK-38423: Run driver job to validate priority order", "driver-volcano-file", priorityOrder)
	order.DriverOnly = true
	return []trial.Row{
		one,
		row(49, "SPARK-38187: Run SparkPi Jobs with minCPU", "driver-volcano-file", oneByOne("cpu", "400m")),
		row(50, "SPARK-38187: Run SparkPi Jobs with minMemory", "driver-volcano-file", oneByOne("memory", "3Gi")),
		row(51, "SPARK-38188: Run SparkPi jobs with 2 queues (only 1 enabled)", "driver-volcano-json", oneQueueClosed),
		row(52, "SPARK-38188: Run SparkPi jobs with 2 queues (all enabled)", "driver-volcano-json", bothQueuesOpen),
		order,
	}
}

// volcanoPi is Pi under Volcano with the checks that Spark's suite makes of both roles.
func volcanoPi() trial.Row {
	return trial.Row{Scheduler: trial.Volcano, Program: trial.Jar, Class: "Pi", Conf: volcanoConf, Limit: inTurn, DriverLog: []string{piSays},
		Driver: []trial.PodCheck{underVolcano, ownsGroup}, Executor: []trial.PodCheck{underVolcano}}
}

// underVolcano checks the scheduler and the annotation that leads to the application's PodGroup.
func underVolcano(_ *trial.Trial, p *corev1.Pod) error {
	if err := equal("scheduler", p.Spec.SchedulerName, trial.Volcano); err != nil {
		return err
	}
	return equal("annotation scheduling.k8s.io/group-name", p.Annotations["scheduling.k8s.io/group-name"], groupOf(p))
}

func groupOf(p *corev1.Pod) string { return p.Labels["spark-app-selector"] + "-podgroup" }

// ownsGroup checks that the driver's PodGroup exists and belongs to the driver.
func ownsGroup(t *trial.Trial, p *corev1.Pod) error {
	group, err := t.Dynamic.Resource(trial.PodGroups).Namespace(t.Namespace).Get(t.Ctx, groupOf(p), metav1.GetOptions{})
	if err != nil {
		return err
	}
	owners := group.GetOwnerReferences()
	if len(owners) != 1 || owners[0].UID != p.UID {
		return fmt.Errorf("PodGroup %s is not the driver's: %v", group.GetName(), owners)
	}
	return nil
}

// groupHas checks one field of the PodGroup's spec.
func groupHas(field, value string) trial.PodCheck {
	return func(t *trial.Trial, p *corev1.Pod) error {
		group, err := t.Dynamic.Resource(trial.PodGroups).Namespace(t.Namespace).Get(t.Ctx, groupOf(p), metav1.GetOptions{})
		if err != nil {
			return err
		}
		got, _, err := unstructured.NestedString(group.Object, "spec", field)
		return errors.Join(err, equal("PodGroup's "+field, got, value))
	}
}

// grouped is row with a PodGroup made of a template; fields are the template's spec.
func grouped(row trial.Row, queue string, fields ...string) trial.Row {
	text := "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nspec:\n  queue: " + queue + "\n"
	for _, f := range fields {
		text += "  " + f + "\n"
	}
	row.Prepare = func(t *trial.Trial) error {
		file := filepath.Join(t.Dir, "group.yml")
		t.Conf[groupFile] = file
		return os.WriteFile(file, []byte(text), 0o644)
	}
	row.Driver = append(slices.Clip(row.Driver), groupHas("queue", queue))
	return row
}

// queue makes a queue of the row's own with a capability such as cpu=400m, none for empty; it goes with the row.
func queue(t *trial.Trial, name string, capability map[string]any) (string, error) {
	name = t.Namespace + "-" + name
	spec := map[string]any{"weight": int64(1)}
	if capability != nil {
		spec["capability"] = capability
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
		"metadata": map[string]any{"name": name}, "spec": spec}}
	queues := t.Dynamic.Resource(trial.Queues)
	if _, err := queues.Create(t.Ctx, object, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	t.OnEnd(func(ctx context.Context) error { return queues.Delete(ctx, name, metav1.DeleteOptions{}) })
	return name, nil
}

// oneByOne: three jobs in a queue that has room for one. Spark's suite counts the pending drivers as time goes by; here the
// times of the drivers' containers tell the same, and each job is checked like any other.
func oneByOne(resource, amount string) func(*trial.Trial) error {
	return func(t *trial.Trial) error {
		name, err := queue(t, "one", map[string]any{resource: amount})
		if err != nil {
			return err
		}
		row := grouped(volcanoPi(), name, "minMember: 1", "minResources: {"+resource+": "+amount+"}")
		if resource == "cpu" {
			row.Conf = merge(row.Conf, map[string]string{"spark.kubernetes.driver.request.cores": jobCores, "spark.kubernetes.executor.request.cores": jobCores})
		}
		jobs, err := jobsOf(t, map[string]trial.Row{"1": row, "2": row, "3": row})
		if err != nil {
			return err
		}
		if err := trial.Together(jobs, playJob); err != nil {
			return err
		}
		pods, err := driversOf(jobs)
		if err != nil {
			return err
		}
		return inSequence(pods)
	}
}

// jobsOf makes the jobs in the order of their suffixes.
func jobsOf(t *trial.Trial, rows map[string]trial.Row) ([]*trial.Trial, error) {
	var jobs []*trial.Trial
	for _, suffix := range sorted(rows) {
		j, err := t.Job(suffix, rows[suffix])
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

func sorted(rows map[string]trial.Row) []string {
	var out []string
	for suffix := range rows {
		out = append(out, suffix)
	}
	slices.Sort(out)
	return out
}

func playJob(j *trial.Trial) error {
	if err := j.Launch(); err != nil {
		return err
	}
	return j.Follow()
}

func driversOf(jobs []*trial.Trial) ([]*corev1.Pod, error) {
	var pods []*corev1.Pod
	for _, j := range jobs {
		p, err := j.DriverPod()
		if err != nil {
			return nil, err
		}
		pods = append(pods, p)
	}
	return pods, nil
}

// inSequence holds that the ended drivers ran one after the other, and that all had been there before the first ended.
func inSequence(pods []*corev1.Pod) error {
	for _, p := range pods {
		if len(p.Status.ContainerStatuses) != 1 || ranAs(p) == nil {
			return fmt.Errorf("driver %s has not ended", p.Name)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return ranAs(a).StartedAt.Compare(ranAs(b).StartedAt.Time) })
	for i, p := range pods {
		if ranAs(pods[0]).FinishedAt.Before(&p.CreationTimestamp) {
			return fmt.Errorf("driver %s came after the first had ended, so the queue proves nothing", p.Name)
		}
		if i > 0 && ranAs(p).StartedAt.Before(&ranAs(pods[i-1]).FinishedAt) {
			return fmt.Errorf("driver %s started at %s, while %s ran until %s", p.Name, ranAs(p).StartedAt, pods[i-1].Name, ranAs(pods[i-1]).FinishedAt)
		}
	}
	return nil
}

func ranAs(p *corev1.Pod) *corev1.ContainerStateTerminated {
	return p.Status.ContainerStatuses[0].State.Terminated
}

// twoQueues makes two queues, two jobs in each, and says which jobs are in which queue.
func twoQueues(t *trial.Trial, first map[string]any) (inFirst, inSecond []*trial.Trial, err error) {
	for i, capability := range []map[string]any{first, nil} {
		name, err := queue(t, fmt.Sprint("queue", i), capability)
		if err != nil {
			return nil, nil, err
		}
		row := grouped(volcanoPi(), name)
		jobs, err := jobsOf(t, map[string]trial.Row{fmt.Sprintf("%d-1", i): row, fmt.Sprintf("%d-2", i): row})
		if err != nil {
			return nil, nil, err
		}
		inFirst, inSecond = inSecond, jobs
	}
	return inFirst, inSecond, nil
}

// closed is a capability too small for any pod: Spark's suite closes a queue that way.
var closed = map[string]any{"cpu": "0.001"}

// oneQueueClosed: the jobs of the open queue succeed while those of the closed one stay pending.
func oneQueueClosed(t *trial.Trial) error {
	waiting, running, err := twoQueues(t, closed)
	if err != nil {
		return err
	}
	if err := trial.Together(waiting, func(j *trial.Trial) error { return errors.Join(j.Launch(), j.CheckDriver()) }); err != nil {
		return err
	}
	if err := trial.Together(running, playJob); err != nil {
		return err
	}
	pods, err := driversOf(waiting)
	if err != nil {
		return err
	}
	return pendingOnly(pods)
}

// pendingOnly holds that no driver was placed on a node.
func pendingOnly(pods []*corev1.Pod) error {
	for _, p := range pods {
		if p.Status.Phase != corev1.PodPending || p.Spec.NodeName != "" {
			return fmt.Errorf("driver %s is %s on node %q, though its queue is closed", p.Name, p.Status.Phase, p.Spec.NodeName)
		}
	}
	return nil
}

func bothQueuesOpen(t *trial.Trial) error {
	first, second, err := twoQueues(t, nil)
	if err != nil {
		return err
	}
	return trial.Together(slices.Concat(first, second), playJob)
}

// priorities of the jobs of the last row, the first job first.
var priorities = []struct {
	name  string
	value int32
}{{"high", 100}, {"medium", 50}, {"low", 0}}

// priorityOrder: three jobs wait in a closed queue; when it gets room for one, they run in the order of their priorities.
func priorityOrder(t *trial.Trial) error {
	name, err := queue(t, "queue", closed)
	if err != nil {
		return err
	}
	rows := map[string]trial.Row{}
	for _, p := range priorities {
		class, err := priorityClass(t, p.name, p.value)
		if err != nil {
			return err
		}
		rows[p.name] = sleeper(name, class)
	}
	jobs, err := jobsOf(t, rows)
	if err != nil {
		return err
	}
	if err := trial.Together(jobs, (*trial.Trial).Launch); err != nil {
		return err
	}
	// Some of the scheduler's rounds, which are a second apart.
	time.Sleep(3 * time.Second)
	pods, err := driversOf(jobs)
	if err != nil {
		return err
	}
	if err := pendingOnly(pods); err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"capability":{"cpu":%q}}}`, jobCores)
	if _, err := t.Dynamic.Resource(trial.Queues).Patch(t.Ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	if err := trial.Together(jobs, (*trial.Trial).Follow); err != nil {
		return err
	}
	if pods, err = driversOf(jobs); err != nil {
		return err
	}
	return placedInOrder(pods)
}

// sleeper is a job without executors whose pod and PodGroup have a priority.
func sleeper(queue, class string) trial.Row {
	row := grouped(volcanoPi(), queue, "priorityClassName: "+class)
	row.Class, row.Args, row.DriverLog, row.DriverOnly = "Sleeper", []string{"2"}, []string{"Slept 2 seconds"}, true
	row.Conf = merge(row.Conf, map[string]string{"spark.kubernetes.driver.request.cores": jobCores})
	template := fromTemplate(0, "", "  priorityClassName: "+class+"\n")
	group := row.Prepare
	row.Prepare = func(t *trial.Trial) error { return errors.Join(group(t), template.Prepare(t)) }
	row.Driver = append(row.Driver, groupHas("priorityClassName", class), func(_ *trial.Trial, p *corev1.Pod) error {
		return equal("priority class", p.Spec.PriorityClassName, class)
	})
	return row
}

func priorityClass(t *trial.Trial, name string, value int32) (string, error) {
	classes := t.Client.SchedulingV1().PriorityClasses()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: t.Namespace + "-" + name}, Value: value}
	if _, err := classes.Create(t.Ctx, class, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	t.OnEnd(func(ctx context.Context) error {
		if err := classes.Delete(ctx, class.Name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
	return class.Name, nil
}

// placedInOrder compares when the drivers were given their nodes; the API has whole seconds, and each job takes longer.
func placedInOrder(drivers []*corev1.Pod) error {
	var last time.Time
	for _, priority := range priorities {
		i := slices.IndexFunc(drivers, func(p *corev1.Pod) bool { return strings.HasSuffix(p.Name, "-"+priority.name) })
		if i < 0 {
			return fmt.Errorf("there is no driver of priority %s", priority.name)
		}
		at := placedAt(drivers[i])
		if !at.After(last) {
			return fmt.Errorf("the driver of priority %s was placed at %s, the one before it at %s", priority.name, at, last)
		}
		last = at
	}
	return nil
}

func placedAt(p *corev1.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
