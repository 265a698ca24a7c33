package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/localcluster/internal/container"
)

// loop runs one container of a pod, again and again as its restart policy says.
type loop struct {
	w       *worker
	c       *corev1.Container
	status  *corev1.ContainerStatus // under w.mu
	policy  corev1.RestartPolicy
	sidecar bool
	stop    *gate
	started chan struct{} // closed at the first start; nil if nobody waits
}

// run is one running container.
type run struct {
	c     *container.Container
	spec  container.Spec
	begun time.Time
	// resources are those it has; the worker's resize changes them.
	resources corev1.ResourceRequirements
	restart   chan unhealthy // why it is to end and start again
}

// sidecar is a loop that runs until the pod's other containers have ended.
type sidecar struct {
	loop  *loop
	ended chan struct{}
}

func (l *loop) run(ctx context.Context) {
	failures, resume := 0, l.w.statusOf(l.status)
	if t := resume.State.Terminated; t != nil {
		if !restarts(l.policy, l.sidecar, t.ExitCode) {
			return // ended in an earlier life of the node
		}
		l.restarting()
	}
	for !l.stop.is() {
		ended, err := l.once(ctx)
		if err != nil {
			failures++
			l.wait(err, failures)
			if !pauseUnless(retryAfter(failures), l.stop) {
				return
			}
			continue
		}
		failures = 0
		if l.stop.is() || !restarts(l.policy, l.sidecar, ended.ExitCode) {
			return
		}
		if !l.backOff(ended) {
			return
		}
	}
}

// retryAfter is the wait before what could not start is tried again.
func retryAfter(failures int) time.Duration {
	return min(time.Second<<min(failures-1, 6), 30*time.Second)
}

// wait shows why the container cannot start.
func (l *loop) wait(err error, failures int) {
	reason, text := reasonConfigError, err.Error()
	var we *waitError
	if errors.As(err, &we) {
		reason = we.reason
	}
	event := "Failed"
	if reason == reasonErrImagePull {
		l.w.p.events.container(l.w.current(), l.c.Name, corev1.EventTypeWarning, "Failed", "Failed to pull image \""+l.c.Image+"\": "+text)
		if failures > 1 {
			reason, event = reasonPullBackOff, "BackOff"
			text = fmt.Sprintf("Back-off pulling image %q: %s: %s", l.c.Image, reasonErrImagePull, text)
		}
	}
	l.w.p.events.container(l.w.current(), l.c.Name, corev1.EventTypeWarning, event, "Error: "+text)
	l.w.update(func() {
		l.status.State = waiting(reason, text)
		l.status.Ready = false
	})
}

// backOff waits before the next start. It returns false when the container is to end.
func (l *loop) backOff(ended corev1.ContainerStateTerminated) bool {
	n := int(l.w.statusOf(l.status).RestartCount) + 1
	if ended.FinishedAt.Sub(ended.StartedAt.Time) > 10*time.Minute {
		n = 1
	}
	d := backOff(n)
	if d > 0 {
		text := fmt.Sprintf("back-off %v restarting failed container=%s pod=%s", d, l.c.Name, l.w.key)
		l.w.update(func() {
			state := l.status.State
			l.status.LastTerminationState = state
			l.status.State = waiting(reasonCrashLoop, text)
		})
		l.w.p.events.container(l.w.current(), l.c.Name, corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container "+l.c.Name+" in pod "+l.w.key)
		if !pauseUnless(d, l.stop) {
			l.w.update(func() { l.status.State = l.status.LastTerminationState }) // it ends as it ended
			return false
		}
	}
	l.restarting()
	return true
}

func (l *loop) restarting() {
	l.w.update(func() {
		if l.status.State.Terminated != nil {
			l.status.LastTerminationState = l.status.State
		}
		l.status.RestartCount++
		l.status.State = waiting(reasonCreating, "")
		l.status.Ready = false
	})
}

// once starts the container and waits for its end. An error means that it could not be tried; a command that cannot be started is an
// ended container.
func (l *loop) once(ctx context.Context) (corev1.ContainerStateTerminated, error) {
	w, n := l.w, int(l.w.statusOf(l.status).RestartCount)
	l.c = w.containerNow(l.c)
	spec, err := w.containerSpec(ctx, l.c, n)
	if err != nil {
		return corev1.ContainerStateTerminated{}, err
	}
	log, err := w.openLog(l.c.Name, n)
	if err != nil {
		return corev1.ContainerStateTerminated{}, err
	}
	out, errOut := log.stream("stdout"), log.stream("stderr")
	spec.Stdout, spec.Stderr = out, errOut
	pod := w.current()
	w.p.events.container(pod, l.c.Name, corev1.EventTypeNormal, "Pulled", fmt.Sprintf("Container image %q already present on machine", l.c.Image))
	begun := w.p.now()
	c, err := w.p.start(ctx, spec)
	if err != nil {
		return l.notStarted(err, log, begun)
	}
	r := &run{c: c, spec: spec, begun: begun, resources: l.c.Resources, restart: make(chan unhealthy, 1)}
	id := "kubespark://" + c.ID()
	w.mu.Lock()
	w.live[l.c.Name] = r
	w.mu.Unlock()
	w.p.events.container(pod, l.c.Name, corev1.EventTypeNormal, "Created", "Container created")
	w.p.events.container(pod, l.c.Name, corev1.EventTypeNormal, "Started", "Container started")
	l.live(ctx, r, begun)
	if err := errors.Join(out.flush(), errOut.flush(), log.close()); err != nil {
		w.p.log.Printf("pod %s container %s: log: %v", w.key, l.c.Name, err)
	}
	exit := c.Exit()
	state := terminated(exit.Code, exit.OOMKilled, begun, w.p.now(), id, w.terminationMessage(l.c, n, log, exit.Code))
	if err := c.Remove(); err != nil {
		w.p.log.Printf("pod %s container %s: %v", w.key, l.c.Name, err)
	}
	l.ended(state)
	return *state.Terminated, nil
}

func (l *loop) notStarted(err error, log *containerLog, begun time.Time) (corev1.ContainerStateTerminated, error) {
	if cerr := log.close(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	state := terminated(startErrorExitCode, false, begun, l.w.p.now(), "", err.Error())
	state.Terminated.Reason = reasonStartError
	l.w.p.events.container(l.w.current(), l.c.Name, corev1.EventTypeWarning, "Failed", "Error: "+err.Error())
	l.ended(state)
	return *state.Terminated, nil
}

func (l *loop) ended(state corev1.ContainerState) {
	no := false
	l.w.update(func() {
		delete(l.w.live, l.c.Name)
		l.status.State, l.status.Ready, l.status.Started = state, false, &no
		l.status.ContainerID = state.Terminated.ContainerID
	})
}

// live goes with the container from its start to its end.
func (l *loop) live(ctx context.Context, r *run, begun time.Time) {
	if err := l.postStart(ctx, r); err != nil {
		l.killing("Container " + l.c.Name + " failed postStart hook")
		l.end(ctx, r, graceOf(l.w.current()))
		return
	}
	l.w.update(func() {
		l.status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(begun)}}
		l.status.ContainerID, l.status.ImageID = "kubespark://"+r.c.ID(), l.c.Image
		l.status.Resources, l.status.AllocatedResources = l.c.Resources.DeepCopy(), l.c.Resources.Requests.DeepCopy()
	})
	go l.w.resize() // the spec may have changed while the container started
	if l.c.StartupProbe == nil {
		l.hasStarted()
	}
	probing, stop := l.whileRunning(ctx, r, l.w.kill.ch, l.stop.ch)
	var probes sync.WaitGroup
	probes.Go(func() { l.probes(probing, r, r.restart) })
	l.await(ctx, r)
	stop()
	probes.Wait()
}

func (l *loop) killing(why string) {
	l.w.p.events.container(l.w.current(), l.c.Name, corev1.EventTypeNormal, "Killing", why)
}

// await waits for the container's end, or brings it about.
func (l *loop) await(ctx context.Context, r *run) {
	select {
	case <-r.c.Done():
		return
	case why := <-r.restart:
		grace := graceOf(l.w.current())
		if why.grace != nil {
			grace = time.Duration(*why.grace) * time.Second
		}
		l.killing(why.text)
		l.end(ctx, r, grace)
		return
	case <-l.w.kill.ch:
	case <-l.stop.ch:
		l.killing("Stopping container " + l.c.Name)
		l.preStop(ctx, r)
		if l.signalled(r, unix.SIGTERM, nil) {
			return
		}
	}
	l.signalled(r, unix.SIGKILL, nil)
}

// end stops the container as if its pod ended, though the pod goes on; what remains after the grace period is killed.
func (l *loop) end(ctx context.Context, r *run, grace time.Duration) {
	limit := time.NewTimer(grace)
	defer limit.Stop()
	hook, cancel := context.WithTimeout(ctx, grace)
	l.preStop(hook, r)
	cancel()
	if !l.signalled(r, unix.SIGTERM, limit.C) {
		l.signalled(r, unix.SIGKILL, nil)
	}
}

// signalled sends the signal and waits for the container's end. After any but SIGKILL it waits until the limit, or the pod's end, and says
// whether the container has ended.
func (l *loop) signalled(r *run, sig unix.Signal, limit <-chan time.Time) bool {
	if err := r.c.Signal(sig); err != nil {
		l.w.p.log.Printf("pod %s container %s: %s: %v", l.w.key, l.c.Name, unix.SignalName(sig), err)
	}
	kill := l.w.kill.ch
	if sig == unix.SIGKILL {
		kill = nil
	}
	select {
	case <-r.c.Done():
		return true
	case <-limit:
	case <-kill:
	}
	return false
}

func execOf(s container.Spec, command []string) container.Exec {
	return container.Exec{
		Args: command, Env: s.Env, Cwd: s.Cwd, UID: s.UID, GID: s.GID, Groups: s.Groups, Capabilities: s.Capabilities, NoNewPrivileges: s.NoNewPrivileges,
	}
}

// openLog makes the log of a container's n-th run.
func (w *worker) openLog(name string, n int) (*containerLog, error) {
	dir := filepath.Join(w.p.logDir(w.current()), name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	log, err := newContainerLog(filepath.Join(dir, fmt.Sprintf("%d.log", n)))
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logs[name] = log
	return log, nil
}
