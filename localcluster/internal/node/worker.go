package node

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/localcluster/internal/volume"
)

// worker runs one pod. Its main goroutine goes through the pod's life in order: volumes, init containers, containers, end. Each
// container has a goroutine of its own below that. What others see of it is under mu.
type worker struct {
	p   *provider
	key string // namespace/name

	stop *gate         // end gracefully
	kill *gate         // end now
	done chan struct{} // nothing of the pod runs any more, its volumes are gone

	mu         sync.Mutex
	pod        *corev1.Pod
	ip         string
	start      metav1.Time
	conditions []corev1.PodCondition
	init, main []corev1.ContainerStatus
	failed     *failure // the node ended the pod
	volumes    map[string]volume.Volume
	live       map[string]*run          // running containers by name
	sidecars   map[string]*sidecar      // started init containers that run beside the others
	logs       map[string]*containerLog // the newest of each container
	deadline   time.Time                // of the graceful end
	timer      *time.Timer

	resizing *corev1.PodCondition // what keeps containers from the resources of the spec

	resizeMu sync.Mutex

	hostsMu   sync.Mutex
	hosts     string
	hostsGone bool

	dirty  chan struct{} // capacity 1: the status has changed
	sendMu sync.Mutex
	sent   *corev1.PodStatus
}

// failure is a pod's own reason to have failed, over its containers'.
type failure struct{ reason, message string }

// gate is a channel that several may close.
type gate struct {
	once sync.Once
	ch   chan struct{}
}

func newGate() *gate     { return &gate{ch: make(chan struct{})} }
func (g *gate) open()    { g.once.Do(func() { close(g.ch) }) }
func (g *gate) is() bool { return closed(g.ch) }

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func newWorker(p *provider, pod *corev1.Pod) *worker {
	w := &worker{
		p: p, key: pod.Namespace + "/" + pod.Name, pod: pod, stop: newGate(), kill: newGate(), done: make(chan struct{}),
		live: map[string]*run{}, sidecars: map[string]*sidecar{}, logs: map[string]*containerLog{}, dirty: make(chan struct{}, 1), conditions: pod.Status.Conditions,
	}
	w.start = metav1.Now()
	if pod.Status.StartTime != nil {
		w.start = *pod.Status.StartTime
	}
	now := p.now()
	reason := reasonCreating
	if len(pod.Spec.InitContainers) > 0 {
		reason = reasonInitializing
	}
	w.init = startStatuses(pod.Spec.InitContainers, lost(pod.Status.InitContainerStatuses, now), reasonInitializing)
	w.main = startStatuses(pod.Spec.Containers, lost(pod.Status.ContainerStatuses, now), reason)
	return w
}

// startStatuses begins with what the API server has of each container, or waiting.
func startStatuses(containers []corev1.Container, old []corev1.ContainerStatus, reason string) []corev1.ContainerStatus {
	out := make([]corev1.ContainerStatus, len(containers))
	for i := range containers {
		no := false
		out[i] = corev1.ContainerStatus{Name: containers[i].Name, Image: containers[i].Image, State: waiting(reason, ""), Started: &no}
		for j := range old {
			if old[j].Name == containers[i].Name {
				out[i] = old[j]
			}
		}
	}
	return out
}

// run is the pod's life.
func (w *worker) run(ctx context.Context) {
	defer close(w.done)
	over := newGate()
	var writing sync.WaitGroup
	writing.Go(func() { w.writeStatuses(ctx, over) })
	defer func() { over.open(); writing.Wait() }()

	w.changed()
	w.watchDeadline(ctx)
	w.watchSizes(ctx)
	if w.prepare(ctx) && w.runInit(ctx) {
		w.runMain(ctx)
	}
	w.endSidecars()
	if err := w.tearDown(); err != nil {
		w.p.log.Printf("pod %s: %v", w.key, err)
	}
}

// prepare gives the pod its address, files and volumes. It tries until it can, and returns false when the pod is to end before.
func (w *worker) prepare(ctx context.Context) bool {
	wait := 500 * time.Millisecond
	for !w.stop.is() {
		err := w.tryPrepare(ctx)
		if err == nil {
			return true
		}
		w.p.events.pod(w.current(), corev1.EventTypeWarning, "FailedMount", err.Error())
		if !w.pause(wait) {
			return false
		}
		wait = min(wait*2, 10*time.Second)
	}
	return false
}

func (w *worker) tryPrepare(ctx context.Context) error {
	if err := w.takeAddress(); err != nil {
		return err
	}
	if err := w.makeFiles(); err != nil {
		return err
	}
	vols, next, err := w.p.volumes.SetUp(ctx, w.withAddress())
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.volumes = vols
	w.mu.Unlock()
	if !next.IsZero() {
		go w.refresh(ctx, next)
	}
	return w.currentNames(ctx)
}

func (w *worker) takeAddress() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ip != "" {
		return nil
	}
	if w.pod.Spec.HostNetwork {
		w.ip = hostIP
		return nil
	}
	if old := w.pod.Status.PodIP; old != "" && w.p.ips.reserve(old) {
		w.ip = old
		return nil
	}
	var err error
	w.ip, err = w.p.ips.take()
	return err
}

// refresh brings volumes up to date until the pod ends.
func (w *worker) refresh(ctx context.Context, next time.Time) {
	for {
		select {
		case <-w.done:
			return
		case <-ctx.Done():
			return
		case <-w.stop.ch:
			return
		case <-time.After(time.Until(next)):
		}
		_, again, err := w.p.volumes.SetUp(ctx, w.withAddress())
		if err != nil {
			w.p.log.Printf("pod %s: %v", w.key, err)
			again = w.p.now().Add(10 * time.Second)
		}
		next = again
	}
}

// runInit runs the init containers one after the other. Sidecars among them are started and left running.
func (w *worker) runInit(ctx context.Context) bool {
	pod := w.current()
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if t := w.statusOf(&w.init[i]).State.Terminated; t != nil && t.ExitCode == 0 && !isSidecar(c) {
			continue // done in an earlier life of the node
		}
		l := &loop{w: w, c: c, status: &w.init[i], policy: initPolicy(pod.Spec.RestartPolicy), stop: w.stop}
		if isSidecar(c) {
			l.sidecar, l.stop, l.started = true, newGate(), make(chan struct{})
			w.startSidecar(ctx, l)
			select {
			case <-l.started:
			case <-w.stop.ch:
				return false
			}
			continue
		}
		l.run(ctx)
		if t := w.statusOf(l.status).State.Terminated; t == nil || t.ExitCode != 0 {
			return false
		}
	}
	return !w.stop.is()
}

// initPolicy: an init container that failed starts again unless the pod never restarts; one that succeeded does not.
func initPolicy(p corev1.RestartPolicy) corev1.RestartPolicy {
	if p == corev1.RestartPolicyNever {
		return p
	}
	return corev1.RestartPolicyOnFailure
}

func (w *worker) runMain(ctx context.Context) {
	pod := w.current()
	var all sync.WaitGroup
	for i := range pod.Spec.Containers {
		l := &loop{w: w, c: &pod.Spec.Containers[i], status: &w.main[i], policy: pod.Spec.RestartPolicy, stop: w.stop}
		all.Go(func() { l.run(ctx) })
	}
	all.Wait()
}

func (w *worker) startSidecar(ctx context.Context, l *loop) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &sidecar{loop: l, ended: make(chan struct{})}
	w.sidecars[l.c.Name] = s
	go func() { defer close(s.ended); l.run(ctx) }()
}

// endSidecars stops what ran beside the pod's containers, the last started first.
func (w *worker) endSidecars() {
	pod := w.current()
	for i := len(pod.Spec.InitContainers) - 1; i >= 0; i-- {
		w.mu.Lock()
		s := w.sidecars[pod.Spec.InitContainers[i].Name]
		w.mu.Unlock()
		if s == nil {
			continue
		}
		if !w.stop.is() { // the pod ends by itself: its grace period is the sidecars'
			w.armKill(graceOf(pod))
		}
		s.loop.stop.open()
		<-s.ended
	}
}

// tearDown gives back what the pod had. Logs stay until the pod is deleted.
func (w *worker) tearDown() error {
	w.mu.Lock()
	ip := w.ip
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	pod := w.current()
	w.hostsMu.Lock()
	w.hostsGone = true
	w.hostsMu.Unlock()
	w.p.volumes.Tokens.Forget(pod.UID)
	err := errors.Join(w.p.volumes.TearDown(pod), os.RemoveAll(w.p.podFiles(pod)))
	if ip != hostIP {
		w.p.ips.release(ip)
	}
	w.p.names.touch()
	return err
}

// terminate ends the pod: SIGTERM now, SIGKILL after the grace period. A later call can only shorten it.
func (w *worker) terminate(grace time.Duration) {
	if grace <= 0 {
		w.kill.open()
	} else {
		w.armKill(grace)
	}
	w.stop.open()
}

func (w *worker) armKill(grace time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.p.now().Add(grace)
	if w.timer != nil && !at.Before(w.deadline) {
		return
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.deadline = at
	w.timer = time.AfterFunc(grace, w.kill.open)
}

func graceOf(pod *corev1.Pod) time.Duration {
	if g := pod.DeletionGracePeriodSeconds; g != nil {
		return time.Duration(*g) * time.Second
	}
	if g := pod.Spec.TerminationGracePeriodSeconds; g != nil {
		return time.Duration(*g) * time.Second
	}
	return 30 * time.Second
}

// pause waits, and returns false when the pod is to end.
func (w *worker) pause(d time.Duration) bool { return pauseUnless(d, w.stop) }

func pauseUnless(d time.Duration, stop *gate) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return !stop.is()
	case <-stop.ch:
		return false
	}
}

func (w *worker) current() *corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pod
}

func (w *worker) replace(pod *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pod = pod
}

func (w *worker) address() (*corev1.Pod, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pod, w.ip
}

// withAddress is the pod as its containers see it: the address may not have reached the API server yet.
func (w *worker) withAddress() *corev1.Pod {
	pod, ip := w.address()
	pod = pod.DeepCopy()
	pod.Status.PodIP, pod.Status.HostIP = ip, hostIP
	return pod
}

func (w *worker) volume(name string) (volume.Volume, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, ok := w.volumes[name]
	return v, ok
}
