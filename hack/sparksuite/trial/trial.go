package trial

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Trial is one row in one column on one Spark version.
type Trial struct {
	*Cluster
	Ctx    context.Context
	Row    Row
	Column Column
	Spark  string // version

	Namespace  string
	DriverName string
	Locator    string // value of the label spark-app-locator of all pods
	Dir        string // scratch folder of this machine; every user may enter

	// What the submission is made of; Prepare may add to it.
	Program string
	Conf    map[string]string
	Args    []string
	Options []string
	Env     map[string]string

	of         *Trial   // the row's trial, if this is one of its jobs
	jobs       []*Trial // the row's jobs, if it has several
	executors  *executorWatch
	submission string // output of the submitter
	killed     bool
	cleanUps   []func(context.Context) error
}

// Run runs a row and returns what is wrong, with what a reader needs to understand it in details.
func Run(ctx context.Context, c *Cluster, row Row, column Column, spark string) (details string, err error) {
	t := &Trial{Cluster: c, Ctx: ctx, Row: row, Column: column, Spark: spark, DriverName: "spark-test-app-" + unique(), Locator: unique(),
		Program: row.Program, Conf: map[string]string{}, Args: row.Args, Options: row.Options, Env: maps.Clone(row.Env)}
	if t.Env == nil {
		t.Env = map[string]string{}
	}
	if err := t.begin(); err != nil {
		return t.diagnosis(), errors.Join(err, t.end())
	}
	if err := t.play(); err != nil {
		return t.diagnosis(), errors.Join(err, t.end())
	}
	if err := t.end(); err != nil {
		return t.diagnosis(), err
	}
	return "", nil
}

func unique() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// OnEnd adds what must be undone after the row.
func (t *Trial) OnEnd(f func(context.Context) error) {
	if t.of != nil {
		t = t.of
	}
	t.cleanUps = append(t.cleanUps, f)
}

// begin makes the namespace with the service account, and the scratch folder.
func (t *Trial) begin() error {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: fmt.Sprintf("suite-%d-", t.Row.Number)}}
	made, err := t.Client.CoreV1().Namespaces().Create(t.Ctx, ns, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	t.Namespace = made.Name
	if t.Dir, err = t.scratch(); err != nil {
		return err
	}
	return t.grant()
}

func (t *Trial) scratch() (string, error) {
	dir, err := os.MkdirTemp(t.Work, "row-")
	if err != nil {
		return "", err
	}
	t.OnEnd(func(context.Context) error { return os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(filepath.Join(dir, "conf"), 0o755)
}

// play runs the row's own way, or that of every single application.
func (t *Trial) play() error {
	if t.Row.Play != nil {
		return t.Row.Play(t)
	}
	if err := t.Launch(); err != nil {
		return err
	}
	return t.Follow()
}

// Launch submits the application.
func (t *Trial) Launch() error {
	t.configure()
	for name, text := range t.Row.ConfFiles {
		if err := os.WriteFile(filepath.Join(t.Dir, "conf", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if t.Row.Prepare != nil {
		if err := t.Row.Prepare(t); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	var err error
	if t.executors, err = t.watchExecutors(); err != nil {
		return err
	}
	start := t.submit
	if t.Row.Start != nil {
		start = func() error { return t.Row.Start(t) }
	}
	return start()
}

// Follow checks the pods, and waits for the texts in the logs and the application's end.
func (t *Trial) Follow() error {
	if err := t.checkPods(); err != nil {
		return err
	}
	during := make(chan error, 1)
	go func() { during <- t.during() }()
	logs := t.awaitLogs()
	return errors.Join(logs, t.joined(during, logs), t.finish(logs))
}

func (t *Trial) during() error {
	if t.Row.During == nil {
		return nil
	}
	return t.Row.During(t)
}

// joined waits for During, which has the row's own patience; not when the logs already tell of a failure.
func (t *Trial) joined(during <-chan error, logs error) error {
	if logs != nil {
		select {
		case err := <-during:
			return err
		case <-time.After(Every):
			return nil
		}
	}
	return <-during
}

// finish is what comes after the texts in the logs: the driver's end, the row's own checks, the kill's trace.
func (t *Trial) finish(logs error) error {
	if logs != nil {
		return nil
	}
	if !t.Row.StaysUp {
		if err := t.awaitSuccess(); err != nil {
			return err
		}
	}
	if err := t.checkKill(); err != nil {
		return err
	}
	if t.Row.After != nil {
		return t.Row.After(t)
	}
	return nil
}

// end deletes the namespace and waits until it is gone.
func (t *Trial) end() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Ctx), 90*time.Second)
	defer cancel()
	for _, each := range append([]*Trial{t}, t.jobs...) {
		if each.executors != nil {
			each.executors.stop()
		}
	}
	var all []error
	for i := len(t.cleanUps) - 1; i >= 0; i-- {
		all = append(all, t.cleanUps[i](ctx))
	}
	if t.Namespace != "" {
		all = append(all, t.deleteNamespace(ctx))
	}
	return errors.Join(all...)
}

// namespaceLimit is how long a namespace may take to go.
const namespaceLimit = time.Minute

func (t *Trial) deleteNamespace(ctx context.Context) error {
	namespaces := t.Client.CoreV1().Namespaces()
	if err := t.deleteLasting(ctx); err != nil {
		return err
	}
	if err := namespaces.Delete(ctx, t.Namespace, metav1.DeleteOptions{}); err != nil {
		return err
	}
	began := time.Now()
	for {
		list, err := namespaces.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + t.Namespace})
		if err == nil && len(list.Items) == 0 {
			return nil
		}
		if err != nil || time.Since(began) > namespaceLimit {
			return fmt.Errorf("namespace %s was not gone after %s: %w", t.Namespace, namespaceLimit, errors.Join(err, t.conditions(list)))
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// deleteLasting ends pods at once that a failed row has left with a grace time of years.
func (t *Trial) deleteLasting(ctx context.Context) error {
	pods := t.Client.CoreV1().Pods(t.Namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	now := int64(0)
	for _, p := range list.Items {
		if p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds > int64(namespaceLimit.Seconds()) {
			if err := pods.Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
	}
	return nil
}

func (t *Trial) conditions(list *corev1.NamespaceList) error {
	var texts []string
	for _, n := range list.Items {
		for _, c := range n.Status.Conditions {
			if c.Status == corev1.ConditionTrue {
				texts = append(texts, c.Message)
			}
		}
	}
	return errors.New(strings.Join(texts, "; "))
}
