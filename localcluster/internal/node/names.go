package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// names keeps the hosts file of every running pod as the Services and pods of the cluster have it.
type names struct {
	services corelisters.ServiceLister
	pods     corelisters.PodLister
	synced   []cache.InformerSynced
	changed  chan struct{}
}

// newNames watches Services and pods of all namespaces. onPod hears of every pod event: a pod that is gone must stop at once, and a
// shorter grace period counts at once.
//
// onEnding hears of namespaces that are being deleted, again with each of their changes.
func newNames(client kubernetes.Interface, onPod func(pod *corev1.Pod, gone bool), onEnding func(namespace string)) (*names, informers.SharedInformerFactory, error) {
	f := informers.NewSharedInformerFactory(client, 0)
	n := &names{
		services: f.Core().V1().Services().Lister(), pods: f.Core().V1().Pods().Lister(), changed: make(chan struct{}, 1),
		synced: []cache.InformerSynced{f.Core().V1().Services().Informer().HasSynced, f.Core().V1().Pods().Informer().HasSynced},
	}
	touch := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { n.touch() }, UpdateFunc: func(any, any) { n.touch() }, DeleteFunc: func(any) { n.touch() },
	}
	if _, err := f.Core().V1().Services().Informer().AddEventHandler(touch); err != nil {
		return nil, nil, err
	}
	watch := cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { n.touch(); onPod(o.(*corev1.Pod), false) },
		UpdateFunc: func(old, o any) {
			if old.(*corev1.Pod).Status.PodIP != o.(*corev1.Pod).Status.PodIP || !labels.Equals(old.(*corev1.Pod).Labels, o.(*corev1.Pod).Labels) ||
				old.(*corev1.Pod).Status.Phase != o.(*corev1.Pod).Status.Phase {
				n.touch()
			}
			onPod(o.(*corev1.Pod), false)
		},
		DeleteFunc: func(o any) {
			n.touch()
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			if pod, ok := o.(*corev1.Pod); ok {
				onPod(pod, true)
			}
		},
	}
	if _, err := f.Core().V1().Pods().Informer().AddEventHandler(watch); err != nil {
		return nil, nil, err
	}
	ends := func(o any) {
		if ns, ok := o.(*corev1.Namespace); ok && ns.DeletionTimestamp != nil {
			onEnding(ns.Name)
		}
	}
	_, err := f.Core().V1().Namespaces().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: ends, UpdateFunc: func(_, o any) { ends(o) }})
	return n, f, err
}

func (n *names) all() ([]*corev1.Pod, error) { return n.pods.List(labels.Everything()) }

func (n *names) touch() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// settle is how long changes are gathered before the hosts files are written.
const settle = 5 * time.Millisecond

// run writes hosts files until the context ends.
func (n *names) run(ctx context.Context, p *provider) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.changed:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settle):
		}
		list, err := n.resolved(p, nil)
		if err != nil {
			p.log.Printf("hosts files: %v", err)
			continue
		}
		for _, w := range p.running() {
			if err := w.writeHosts(list); err != nil {
				p.log.Printf("hosts file of pod %s: %v", w.key, err)
			}
		}
	}
}

// resolved is every Service with its addresses. fresh are Services that the watch may not have told of yet.
func (n *names) resolved(p *provider, fresh []corev1.Service) ([]serviceNames, error) {
	services, err := n.services.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, s := range services {
		known[s.Namespace+"/"+s.Name] = true
	}
	for i := range fresh {
		if !known[fresh[i].Namespace+"/"+fresh[i].Name] {
			services = append(services, &fresh[i])
		}
	}
	pods, err := n.pods.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	local := map[string]podAddress{}
	for _, w := range p.running() {
		pod, ip := w.address()
		local[w.key] = podAddress{pod.Namespace, pod.Labels, ip}
	}
	for _, pod := range pods {
		key := pod.Namespace + "/" + pod.Name
		if _, ok := local[key]; !ok && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			local[key] = podAddress{pod.Namespace, pod.Labels, pod.Status.PodIP}
		}
	}
	list := make([]podAddress, 0, len(local))
	for _, a := range local {
		list = append(list, a)
	}
	return resolveServices(services, list), nil
}

// currentNames makes the pod's hosts file current before a container starts. The Services of the pod's namespace are read from the API
// server itself: a JVM remembers for ten seconds that a name was not there, so the watch's small delay would be costly.
func (w *worker) currentNames(ctx context.Context) error {
	pod := w.current()
	fresh, err := w.p.client.CoreV1().Services(pod.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("services of namespace %s: %w", pod.Namespace, err)
	}
	list, err := w.p.names.resolved(w.p, fresh.Items)
	if err != nil {
		return err
	}
	return w.writeHosts(list)
}

// writeHosts writes the hosts file if it says something new.
func (w *worker) writeHosts(list []serviceNames) error {
	pod, ip := w.address()
	text := hostsFile(pod, ip, hostnameOf(pod), w.p.opts.APIServerIP, list)
	w.hostsMu.Lock()
	defer w.hostsMu.Unlock()
	if text == w.hosts || w.hostsGone {
		return nil
	}
	if err := rewrite(filepath.Join(w.p.podFiles(pod), "hosts"), text); err != nil {
		return err
	}
	w.hosts = text
	return nil
}

// makeFiles writes what a pod's containers find in /etc beside the image's own.
func (w *worker) makeFiles() error {
	pod := w.current()
	dir := w.p.podFiles(pod)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	resolv, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		resolv = nil // a host without resolver configuration: the hosts file is all there is
	}
	for name, text := range map[string]string{"hostname": hostnameOf(pod) + "\n", "resolv.conf": string(resolv)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
