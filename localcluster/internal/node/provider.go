package node

import (
	"context"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/kubespark/kubespark/localcluster/internal/container"
	"github.com/kubespark/kubespark/localcluster/internal/image"
	"github.com/kubespark/kubespark/localcluster/internal/volume"
)

// hostIP is the node's address, and that of pods on the host's network.
const hostIP = "127.0.0.1"

// startsAtOnce is how many containers are made at the same time; more only slows each of them down.
const startsAtOnce = 8

// provider is what virtual-kubelet drives: it starts and ends a worker for each pod.
type provider struct {
	opts    Options
	client  kubernetes.Interface
	runtime *container.Runtime
	images  image.Store
	volumes *volume.Manager
	ips     *addresses
	names   *names
	events  events
	rates   rates
	// assigned are the pods of this node as virtual-kubelet knows them.
	assigned corelisters.PodLister
	log      *log.Logger
	now      func() time.Time
	starts   chan struct{}
	closing  *gate // the node ends: no status is written any more

	ctx     context.Context // the node's life; workers outlive the call that made them
	mu      sync.Mutex
	workers map[string]*worker
	ending  sync.WaitGroup
}

// CreatePod starts a pod. What goes wrong later is the pod's status, never an error here.
func (p *provider) CreatePod(ctx context.Context, pod *corev1.Pod) error {
	key := pod.Namespace + "/" + pod.Name
	p.mu.Lock()
	old, ok := p.workers[key]
	p.mu.Unlock()
	if ok && old.current().UID == pod.UID {
		return nil
	}
	if ok { // deleted by force, and made anew under the same name
		old.terminate(0)
		select {
		case <-old.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := os.RemoveAll(p.logDir(old.current())); err != nil {
			p.log.Printf("logs of pod %s: %v", key, err)
		}
	}
	w := newWorker(p, pod)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.workers[key] = w
	p.ending.Go(func() { w.run(p.ctx) })
	return nil
}

// UpdatePod takes new labels, annotations and the like, and new resources of running containers.
func (p *provider) UpdatePod(_ context.Context, pod *corev1.Pod) error {
	w, err := p.worker(pod.Namespace, pod.Name)
	if err != nil {
		return err
	}
	w.replace(pod)
	go w.resize()
	p.names.touch()
	return nil
}

// DeletePod ends a pod and returns when nothing of it runs and the API server has forgotten it. It must not return earlier:
// virtual-kubelet counts the grace period from then on and removes the pod when it is over, whatever runs.
func (p *provider) DeletePod(ctx context.Context, pod *corev1.Pod) error {
	w, err := p.worker(pod.Namespace, pod.Name)
	if err != nil {
		if pod.DeletionTimestamp == nil {
			return err
		}
		return p.deleteObject(ctx, pod) // of an earlier life of the node: nothing of it runs
	}
	grace := time.Duration(0) // the API server has forgotten it already
	if pod.DeletionTimestamp != nil {
		grace = graceOf(pod)
	}
	w.terminate(grace)
	select {
	case <-w.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := w.finish(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	if p.workers[w.key] == w {
		delete(p.workers, w.key)
	}
	p.mu.Unlock()
	return os.RemoveAll(p.logDir(w.current()))
}

// podEvent hears of every change of a pod. virtual-kubelet's queue does not look at a pod again that it is just ending, and what it ends may
// be older than the newest deletion: every deletion counts here.
func (p *provider) podEvent(pod *corev1.Pod, gone bool) {
	w, err := p.worker(pod.Namespace, pod.Name)
	if err != nil || w.current().UID != pod.UID {
		if gone { // it ended in an earlier life of the node, of which its logs are left
			if err := os.RemoveAll(p.logDir(pod)); err != nil {
				p.log.Printf("logs of pod %s/%s: %v", pod.Namespace, pod.Name, err)
			}
		}
		return
	}
	switch {
	case gone:
		w.terminate(0)
	case pod.DeletionTimestamp != nil:
		w.terminate(graceOf(pod))
	}
}

// endNamespace deletes this node's pods of a namespace that is being deleted. The namespace controller would do so 5 seconds later, and then
// look again only after half of their grace period, which most pods do not use.
func (p *provider) endNamespace(namespace string) {
	for _, w := range p.running() {
		pod := w.current()
		if pod.Namespace != namespace || pod.DeletionTimestamp != nil || w.stop.is() {
			continue
		}
		go func() {
			opts := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
			err := p.client.CoreV1().Pods(namespace).Delete(p.ctx, pod.Name, opts)
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				p.log.Printf("pod %s of a namespace that ends: %v", w.key, err)
			}
		}()
	}
}

// GetPod returns a pod with its present status. A pod whose name another one has taken is not there any more.
func (p *provider) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	w, err := p.worker(namespace, name)
	if err != nil {
		return nil, err
	}
	if now, err := p.assigned.Pods(namespace).Get(name); err == nil && now.UID != w.current().UID {
		return nil, errdefs.NotFoundf("pod %s/%s is another one now", namespace, name)
	}
	pod := w.current().DeepCopy()
	pod.Status = *w.snapshot()
	return pod, nil
}

// GetPodStatus returns a pod's present status.
func (p *provider) GetPodStatus(_ context.Context, namespace, name string) (*corev1.PodStatus, error) {
	w, err := p.worker(namespace, name)
	if err != nil {
		return nil, err
	}
	return w.snapshot(), nil
}

// GetPods returns every pod of the node.
func (p *provider) GetPods(context.Context) ([]*corev1.Pod, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*corev1.Pod, 0, len(p.workers))
	for _, w := range p.workers {
		pod := w.current().DeepCopy()
		pod.Status = *w.snapshot()
		out = append(out, pod)
	}
	return out, nil
}

// NotifyPods is how virtual-kubelet would hear of changes. The workers write their statuses themselves, so it hears of none.
func (p *provider) NotifyPods(context.Context, func(*corev1.Pod)) {}

func (p *provider) worker(namespace, name string) (*worker, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.workers[namespace+"/"+name]
	if !ok {
		return nil, errdefs.NotFoundf("pod %s/%s is not on this node", namespace, name)
	}
	return w, nil
}

// running are the pods that have not ended.
func (p *provider) running() []*worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*worker
	for _, w := range p.workers {
		if !closed(w.done) {
			out = append(out, w)
		}
	}
	return out
}

// start makes a container when it is its turn.
func (p *provider) start(ctx context.Context, s container.Spec) (*container.Container, error) {
	select {
	case p.starts <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-p.starts }()
	return p.runtime.Start(s)
}

// shutDown kills everything that runs and waits for it. The pods' statuses stay as they are: the next life of the node settles them.
func (p *provider) shutDown() {
	p.closing.open()
	for _, w := range p.running() {
		w.terminate(0)
	}
	p.ending.Wait()
}

func (p *provider) logDir(pod *corev1.Pod) string {
	return filepath.Join(p.opts.StateDir, "logs", pod.Namespace+"_"+pod.Name+"_"+string(pod.UID))
}
