package trial

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const label = "spark-app-locator"

// executorWatch keeps the last state of every executor pod that was ever seen.
type executorWatch struct {
	watch watch.Interface
	mu    sync.Mutex
	seen  map[string]corev1.Pod
	order []string
}

func (t *Trial) watchExecutors() (*executorWatch, error) {
	of := "spark-role=executor"
	if t.of != nil {
		of += "," + label + "=" + t.Locator
	}
	w, err := t.Client.CoreV1().Pods(t.Namespace).Watch(t.Ctx, metav1.ListOptions{LabelSelector: of})
	if err != nil {
		return nil, err
	}
	e := &executorWatch{watch: w, seen: map[string]corev1.Pod{}}
	go func() {
		for event := range w.ResultChan() {
			if p, ok := event.Object.(*corev1.Pod); ok {
				e.add(*p)
			}
		}
	}()
	return e, nil
}

func (e *executorWatch) add(p corev1.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, known := e.seen[p.Name]; !known {
		e.order = append(e.order, p.Name)
	}
	e.seen[p.Name] = p
}

func (e *executorWatch) stop() { e.watch.Stop() }

// all are the pods in the order of their first appearance.
func (e *executorWatch) all() []corev1.Pod {
	e.mu.Lock()
	defer e.mu.Unlock()
	var pods []corev1.Pod
	for _, name := range e.order {
		pods = append(pods, e.seen[name])
	}
	return pods
}

// SeenExecutors are all executor pods that ever were, with their last state.
func (t *Trial) SeenExecutors() []corev1.Pod { return t.executors.all() }

// DriverPod reads the driver pod.
func (t *Trial) DriverPod() (*corev1.Pod, error) {
	return t.Client.CoreV1().Pods(t.Namespace).Get(t.Ctx, t.DriverName, metav1.GetOptions{})
}

// Eventually polls until the condition holds; its last error tells why it never did.
func (t *Trial) Eventually(limit time.Duration, what string, condition func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := condition()
		if err == nil {
			return nil
		}
		if final := (*finalError)(nil); errors.As(err, &final) {
			return fmt.Errorf("%s: %w", what, err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not within %s: %s: %w", limit, what, err)
		}
		select {
		case <-t.Ctx.Done():
			return t.Ctx.Err()
		case <-time.After(Every):
		}
	}
}

// finalError ends an Eventually: waiting on would not help.
type finalError struct{ error }

func (f *finalError) Unwrap() error { return f.error }

// CheckDriver finds the driver by the locator's label and checks it.
func (t *Trial) CheckDriver() error {
	list, err := t.Client.CoreV1().Pods(t.Namespace).List(t.Ctx, metav1.ListOptions{LabelSelector: label + "=" + t.Locator + ",spark-role=driver"})
	if err != nil {
		return err
	}
	if len(list.Items) != 1 {
		return fmt.Errorf("%d driver pods have the locator's label, expected one", len(list.Items))
	}
	checks := append([]PodCheck{scheduledBy}, t.Row.Driver...)
	if !t.Row.MakesDriver {
		checks = append(checks, submittedBy)
	}
	return t.check(&list.Items[0], checks)
}

// checkPods finds the driver, then the executors, checks them, and kills the manager where the column says so.
func (t *Trial) checkPods() error {
	if err := t.CheckDriver(); err != nil {
		return err
	}
	if t.Row.DriverOnly {
		return nil
	}
	if err := t.awaitExecutors(); err != nil {
		return err
	}
	killed := make(chan error, 1)
	go func() { killed <- t.kill() }()
	var all []error
	for _, p := range t.SeenExecutors()[:t.Row.executors()] {
		all = append(all, t.check(&p, append([]PodCheck{managedBy, scheduledBy}, t.Row.Executor...)))
	}
	return errors.Join(append(all, <-killed)...)
}

func (t *Trial) check(p *corev1.Pod, checks []PodCheck) error {
	var all []error
	for _, check := range checks {
		if err := check(t, p); err != nil {
			all = append(all, fmt.Errorf("pod %s: %w", p.Name, err))
		}
	}
	return errors.Join(all...)
}

func (t *Trial) awaitExecutors() error {
	return t.Eventually(t.limit(), fmt.Sprintf("%d executor pods", t.Row.executors()), func() error {
		if n := len(t.SeenExecutors()); n < t.Row.executors() {
			return errors.Join(fmt.Errorf("there were %d", n), t.driverAlive())
		}
		return nil
	})
}

func (t *Trial) limit() time.Duration { return max(t.Row.Limit, t.Patience) }

// driverAlive ends the waiting when the driver has failed.
func (t *Trial) driverAlive() error {
	p, err := t.DriverPod()
	if err != nil {
		return &finalError{fmt.Errorf("the driver pod: %w", err)}
	}
	if p.Status.Phase == corev1.PodFailed {
		return &finalError{fmt.Errorf("the driver failed: %s", ended(p))}
	}
	return nil
}

func ended(p *corev1.Pod) string {
	for _, c := range p.Status.ContainerStatuses {
		if s := c.State.Terminated; s != nil {
			return fmt.Sprintf("container %s ended with %d %s %s", c.Name, s.ExitCode, s.Reason, s.Message)
		}
	}
	return p.Status.Reason + " " + p.Status.Message
}

// awaitSuccess waits for the driver's end.
func (t *Trial) awaitSuccess() error {
	return t.Eventually(time.Minute, "the driver's success", func() error {
		p, err := t.DriverPod()
		if err != nil {
			return err
		}
		switch p.Status.Phase {
		case corev1.PodSucceeded:
			return nil
		case corev1.PodFailed:
			return &finalError{errors.New(ended(p))}
		default:
			return fmt.Errorf("it is %s", p.Status.Phase)
		}
	})
}

// submittedBy and managedBy hold that the column is what it says.
func submittedBy(t *Trial, p *corev1.Pod) error { return writtenBy(p, t.Column.Submit) }

func managedBy(t *Trial, p *corev1.Pod) error { return writtenBy(p, t.Column.Manager) }

// scheduledBy holds that the pod is in the hands of the column's scheduler: no other one places a pod of that name.
func scheduledBy(t *Trial, p *corev1.Pod) error {
	if s := t.Column.Scheduler; s != "" && p.Spec.SchedulerName != s {
		return fmt.Errorf("its scheduler is %s, which is not the column's", p.Spec.SchedulerName)
	}
	return nil
}

func writtenBy(p *corev1.Pod, who string) error {
	creator := creatorOf(p)
	if creator == "kube-controller-manager" {
		return nil // a pod of a set
	}
	if ours := strings.HasPrefix(creator, "kubespark"); ours != (who == Kubespark) {
		return fmt.Errorf("%s created it, which is not the column's", creator)
	}
	return nil
}

// creatorOf is the field manager that wrote the pod first.
func creatorOf(p *corev1.Pod) string {
	fields := slices.Clone(p.ManagedFields)
	fields = slices.DeleteFunc(fields, func(f metav1.ManagedFieldsEntry) bool { return f.Subresource != "" })
	if len(fields) == 0 {
		return ""
	}
	return slices.MinFunc(fields, func(a, b metav1.ManagedFieldsEntry) int { return a.Time.Compare(b.Time.Time) }).Manager
}
