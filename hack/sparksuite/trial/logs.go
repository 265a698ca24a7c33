package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	protocols "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
)

// Log reads a pod's log through the API.
func (t *Trial) Log(pod string) (string, error) {
	text, err := t.Client.CoreV1().Pods(t.Namespace).GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(t.Ctx)
	return string(text), err
}

// DriverSays waits for a text in the driver's log.
func (t *Trial) DriverSays(limit time.Duration, texts ...string) error {
	return t.Eventually(limit, "the driver's log", func() error {
		log, err := t.Log(t.DriverName)
		if err != nil {
			return err
		}
		if missing := lacks(log, texts); missing != "" {
			return errors.Join(fmt.Errorf("it lacks %q", missing), t.driverAlive())
		}
		return nil
	})
}

func lacks(log string, texts []string) string {
	for _, text := range texts {
		if !strings.Contains(log, text) {
			return text
		}
	}
	return ""
}

func (t *Trial) awaitLogs() error {
	if err := t.DriverSays(t.limit(), t.Row.DriverLog...); err != nil {
		return err
	}
	if len(t.Row.ExecutorLog) == 0 {
		return nil
	}
	return t.Eventually(t.limit(), "the executors' logs", func() error {
		var all strings.Builder
		for _, p := range t.SeenExecutors() {
			log, err := t.Log(p.Name)
			if err != nil {
				return err
			}
			all.WriteString(log)
		}
		if missing := lacks(all.String(), t.Row.ExecutorLog); missing != "" {
			return fmt.Errorf("they lack %q", missing)
		}
		return nil
	})
}

// Exec runs a command with a terminal in a pod's first container, in the form of Spark's suite (fabric8's client): over a websocket,
// asking for stderr although a terminal has one output.
func (t *Trial) Exec(pod string, command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Ctx, 20*time.Second)
	defer cancel()
	request := t.Client.CoreV1().RESTClient().Get().Resource("pods").Namespace(t.Namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: command, Stdout: true, Stderr: true, TTY: true}, scheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutorForProtocols(t.Config, http.MethodGet, request.URL().String(),
		protocols.StreamProtocolV4Name)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &out, Tty: true})
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out.String())
	}
	return out.String(), err
}

// ExecShows waits until a command in the pod prints a text.
func (t *Trial) ExecShows(pod, text string, command ...string) error {
	return t.Eventually(30*time.Second, strings.Join(command, " ")+" in the pod", func() error {
		out, err := t.Exec(pod, command...)
		if err != nil {
			return errors.Join(err, t.driverAlive())
		}
		if !strings.Contains(out, text) {
			return fmt.Errorf("it prints %q, without %q", out, text)
		}
		return nil
	})
}

// diagnosis is what a reader needs to understand a failure.
func (t *Trial) diagnosis() string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Ctx), 30*time.Second)
	defer cancel()
	var b strings.Builder
	for _, each := range append([]*Trial{t}, t.jobs...) {
		fmt.Fprintf(&b, "--- submission\n%s\n", each.submission)
	}
	pods, err := t.Client.CoreV1().Pods(t.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Fprintln(&b, err)
		return b.String()
	}
	for _, p := range pods.Items {
		log, err := t.Client.CoreV1().Pods(t.Namespace).GetLogs(p.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		if err != nil {
			log = []byte(err.Error())
		}
		fmt.Fprintf(&b, "--- pod %s: %s %s %+v\n%s\n", p.Name, p.Status.Phase, p.Status.Reason, p.Status.ContainerStatuses, log)
	}
	events, err := t.Client.CoreV1().Events(t.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Fprintln(&b, err)
		return b.String()
	}
	for _, e := range events.Items {
		fmt.Fprintf(&b, "event %s %s: %s %s\n", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
	}
	return b.String()
}
