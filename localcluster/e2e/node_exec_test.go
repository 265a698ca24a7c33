//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
)

// screen is a terminal whose window changes its size when it is told to.
type screen chan remotecommand.TerminalSize

func (s screen) Next() *remotecommand.TerminalSize {
	size, ok := <-s
	if !ok {
		return nil
	}
	return &size
}

// exec runs a command in a pod's container through the API, as kubectl and Spark's own test suite do: over WebSocket, or over SPDY.
func (j *job) exec(pod string, spdy bool, o *corev1.PodExecOptions, s remotecommand.StreamOptions) error {
	req := cluster.client.CoreV1().RESTClient().Post().Namespace(j.namespace).Resource("pods").Name(pod).SubResource("exec").VersionedParams(o, scheme.ParameterCodec)
	var e remotecommand.Executor
	var err error
	if spdy {
		e, err = remotecommand.NewSPDYExecutor(cluster.config, http.MethodPost, req.URL())
	} else {
		e, err = remotecommand.NewWebSocketExecutor(cluster.config, http.MethodGet, req.URL().String())
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(j.t.Context(), 20*time.Second)
	defer cancel()
	return e.StreamWithContext(ctx, s)
}

// exec with a terminal: the command has one, sees its size and its changes, reads what is typed, and its exit code comes back. Who
// asks for stderr besides, as Spark's own test suite does, has the terminal alone.
func TestExecWithATerminal(t *testing.T) {
	j := newJob(t)
	j.create(shellPod("box", "sleep 60"))
	j.runs("box")
	for _, spdy := range []bool{false, true} {
		typed, keyboard := io.Pipe()
		window := make(screen, 1)
		window <- remotecommand.TerminalSize{Width: 80, Height: 24}
		var shown syncBuffer
		done := make(chan error, 1)
		go func() {
			done <- j.exec("box", spdy, &corev1.PodExecOptions{
				Container: "main", Stdin: true, Stdout: true, Stderr: true, TTY: true,
				Command: []string{"sh", "-c", `test -t 0 && test -t 1 && echo "on a $TERM"; until [ "$(stty size)" = "24 80" ]; do sleep 0.01; done; echo ask; read word; echo "got $word"; until [ "$(stty size)" = "43 132" ]; do sleep 0.01; done; echo wider; exit 7`},
			}, remotecommand.StreamOptions{Stdin: typed, Stdout: &shown, Tty: true, TerminalSizeQueue: window})
		}()
		eventually(t, 10*time.Second, "the command asks", func() (bool, string) { return strings.Contains(shown.String(), "ask"), shown.String() })
		fmt.Fprintln(keyboard, "hello")
		window <- remotecommand.TerminalSize{Width: 132, Height: 43}
		err := <-done
		if code := (utilexec.CodeExitError{}); !errors.As(err, &code) || code.Code != 7 {
			t.Errorf("spdy %v: ended with %v, want exit code 7", spdy, err)
		}
		if got := shown.String(); !strings.HasPrefix(got, "on a xterm\r\n") || !strings.Contains(got, "got hello\r\nwider\r\n") {
			t.Errorf("spdy %v: the terminal shows %q", spdy, got)
		}
	}
}

// exec without a terminal keeps the streams apart.
func TestExecKeepsTheStreamsApart(t *testing.T) {
	j := newJob(t)
	j.create(shellPod("box", "sleep 60"))
	j.runs("box")
	var out, errOut syncBuffer
	err := j.exec("box", false, &corev1.PodExecOptions{Container: "main", Stdin: true, Stdout: true, Stderr: true, Command: []string{"sh", "-c", "cat; echo bad >&2"}},
		remotecommand.StreamOptions{Stdin: strings.NewReader("in"), Stdout: &out, Stderr: &errOut})
	if err != nil || out.String() != "in" || errOut.String() != "bad\n" {
		t.Errorf("stdout %q, stderr %q, error %v", out.String(), errOut.String(), err)
	}
}

// Logs of a container that has ended, of the run before, and of an init container.
func TestLogsOfEndedContainers(t *testing.T) {
	j := newJob(t)
	p := shellPod("twice", `printf x >> /count/n; n=$(wc -c < /count/n); echo "run $n"; exit $((2 - n))`)
	p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	p.Spec.Volumes = []corev1.Volume{{Name: "count", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	mounts := []corev1.VolumeMount{{Name: "count", MountPath: "/count"}}
	p.Spec.Containers[0].VolumeMounts = mounts
	p.Spec.InitContainers = []corev1.Container{{Name: "before", Image: hostImage, Command: []string{"echo", "first of all"}, VolumeMounts: mounts}}
	j.create(p)
	if pod, log := j.ended("twice"); pod.Status.Phase != corev1.PodSucceeded || pod.Status.ContainerStatuses[0].RestartCount != 1 || log != "run 2\n" {
		t.Errorf("phase %s, %d restarts, log %q", pod.Status.Phase, pod.Status.ContainerStatuses[0].RestartCount, log)
	}
	for _, c := range []struct {
		args []string
		want string
	}{{[]string{"--previous"}, "run 1\n"}, {[]string{"-c", "before"}, "first of all\n"}, {[]string{"-c", "main", "--tail=1"}, "run 2\n"}} {
		if out, err := j.kubectl(t.Context(), append([]string{"logs", "twice"}, c.args...)...).Output(); err != nil || string(out) != c.want {
			t.Errorf("logs %q: %q, %v", c.args, out, err)
		}
	}
}

// kubectl port-forward reaches a port of the pod, and kubectl cp carries files in and out.
func TestPortForwardAndCopy(t *testing.T) {
	j := newJob(t)
	j.create(shellPod("web", `mkdir /srv/www && cd /srv/www && echo "from the pod" > page && exec python3 -m http.server 8000 --bind $(hostname -i | cut -d' ' -f1)`))
	j.runs("web")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	forward := j.kubectl(ctx, "port-forward", "pod/web", ":8000")
	var said syncBuffer
	forward.Stdout = &said
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = forward.Wait() }() // it ends by being killed
	var port string
	eventually(t, 10*time.Second, "the port is forwarded", func() (bool, string) {
		if m := regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindStringSubmatch(said.String()); m != nil {
			port = m[1]
		}
		return port != "", said.String()
	})
	eventually(t, 10*time.Second, "the page comes through it", func() (bool, string) {
		res, err := http.Get("http://127.0.0.1:" + port + "/page")
		if err != nil {
			return false, err.Error()
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return err == nil && string(text) == "from the pod\n", fmt.Sprint(string(text), err)
	})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte("to the pod"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"cp", filepath.Join(dir, "in"), "web:/srv/www/in"}, {"cp", "web:/srv/www/in", filepath.Join(dir, "out")}} {
		if out, err := j.kubectl(ctx, args...).Output(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "out")); err != nil || string(text) != "to the pod" {
		t.Errorf("came back as %q, %v", text, err)
	}
}
