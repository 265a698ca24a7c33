// Package node is the local cluster's one node: a kubelet's work done with the virtual-kubelet library and real containers. It registers
// the node, keeps its lease, runs the pods that the scheduler assigns to it, reports their statuses and events, and serves logs, exec and
// port-forward. `kubespark-cluster node` is its process.
package node

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"

	"github.com/kubespark/kubespark/localcluster/internal/container"
	"github.com/kubespark/kubespark/localcluster/internal/image"
	"github.com/kubespark/kubespark/localcluster/internal/provisioner"
	"github.com/kubespark/kubespark/localcluster/internal/volume"
)

// Options says what the node is and where it keeps its things.
type Options struct {
	Name string
	// Kubeconfig is the node's own way to the API server.
	Kubeconfig string
	// StateDir holds containers, volumes and logs, as <state>/node; the images are beside it, in <state>/images.
	StateDir string
	// PodIPBase is the loopback network of the pods, such as 127.10.0.0/16. Its first two addresses are not given to pods.
	PodIPBase string
	// APIServerIP and APIServerPort are where pods find kubernetes.default.svc.
	APIServerIP   string
	APIServerPort int
	// ListenAddress is the kubelet API's address and port; ServingCert and ServingKey its identity, ClientCA whom it trusts.
	ListenAddress                     string
	ServingCert, ServingKey, ClientCA string
	// Provision: this node makes the persistent volumes of the cluster.
	Provision bool
	// ServeMetrics: this node serves metrics.k8s.io for all. ClientCert and ClientKey are how it asks the OtherNodes, given by their kubelet
	// APIs' addresses and ports.
	ServeMetrics          bool
	ClientCert, ClientKey string
	OtherNodes            []string
	// CPUs and MemoryMiB are what the node says it has; 0 takes the host's.
	CPUs, MemoryMiB int
	// Capacity is what the node has beside these: extended resources by name, such as example.com/gpu. They are counted, not devices.
	Capacity map[string]int64
}

// podWorkers is how many pods virtual-kubelet handles at once. A pod that is ending holds one until it has ended.
const podWorkers = 256

// Run registers the node and runs its pods until the context ends; then every container is killed. What an earlier life left running is
// killed first, and its pods are told so.
func Run(ctx context.Context, o Options) error {
	if os.Geteuid() != 0 {
		return errors.New("the node needs root to make containers, or a user namespace of its own: `up` starts it so")
	}
	if err := Clean(o.StateDir); err != nil {
		return err
	}
	p, factory, err := newProvider(ctx, &o)
	if err != nil {
		return err
	}
	stopEvents := p.startEvents(o.Name)
	defer stopEvents()
	vk, err := newControllers(p, o)
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), p.names.synced...) {
		return ctx.Err()
	}
	if err := errors.Join(p.prepareDisk(), p.pruneLogs()); err != nil {
		return err
	}
	stopServing, err := p.serve(o)
	if err != nil {
		return err
	}
	defer stopServing()
	go p.names.run(ctx, p)
	if o.Provision {
		stopVolumes := p.provisionVolumes(ctx)
		defer stopVolumes()
	}
	err = vk.run(ctx)
	p.shutDown()
	if cerr := Clean(o.StateDir); cerr != nil {
		return errors.Join(err, cerr)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Clean ends whatever still runs for a node's state folder and removes its mounts, cgroups, volumes and containers. Logs stay: they
// belong to pods that the API server may still have.
func Clean(stateDir string) error {
	stateDir, err := filepath.Abs(stateDir)
	if err != nil {
		return err
	}
	return errors.Join(container.Clean(stateDir), volume.Clean(volumesDir(stateDir)), os.RemoveAll(filepath.Join(stateDir, "pods")))
}

// diskDir holds what lies on a disk of the node: the pods' volumes, and the claims'.
func diskDir(stateDir string) string    { return filepath.Join(stateDir, "disk") }
func volumesDir(stateDir string) string { return filepath.Join(diskDir(stateDir), "volumes") }
func claimsDir(stateDir string) string  { return filepath.Join(diskDir(stateDir), "claims") }

// prepareDisk leaves no volume of an earlier life on the disk.
func (p *provider) prepareDisk() error {
	lacks, err := volume.Disk(diskDir(p.opts.StateDir))
	if err != nil {
		return fmt.Errorf("disk of the node: %w", err)
	}
	if lacks != "" {
		p.log.Print(lacks)
	}
	return volume.Clean(volumesDir(p.opts.StateDir))
}

func newProvider(ctx context.Context, o *Options) (*provider, informers.SharedInformerFactory, error) {
	var err error
	if o.StateDir, err = filepath.Abs(o.StateDir); err != nil {
		return nil, nil, err
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("kubeconfig %s: %w", o.Kubeconfig, err)
	}
	cfg.QPS, cfg.Burst = 400, 800
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("kubeconfig %s: %w", o.Kubeconfig, err)
	}
	rt, err := container.New(o.StateDir, filepath.Dir(o.StateDir))
	if err != nil {
		return nil, nil, err
	}
	ips, err := newAddresses(o.PodIPBase)
	if err != nil {
		return nil, nil, err
	}
	p := &provider{
		opts: *o, client: client, runtime: rt, images: image.Store{Dir: filepath.Join(filepath.Dir(o.StateDir), "images")}, ips: ips,
		log: log.New(os.Stderr, "node: ", log.LstdFlags|log.Lmicroseconds), now: time.Now,
		starts: make(chan struct{}, startsAtOnce), closing: newGate(), ctx: context.WithoutCancel(ctx), workers: map[string]*worker{},
	}
	p.volumes = &volume.Manager{Dir: volumesDir(o.StateDir), Fetcher: fetcher{client}, Now: time.Now, Image: p.images.Root}
	names, factory, err := newNames(client, p.podEvent, p.endNamespace)
	if err != nil {
		return nil, nil, err
	}
	p.names = names
	return p, factory, nil
}

func (p *provider) startEvents(name string) (stop func()) {
	b := record.NewBroadcaster()
	b.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: p.client.CoreV1().Events("")})
	p.events = events{b.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "kubelet", Host: name})}
	return b.Shutdown
}

// provisionVolumes serves claims until the function it returns is called.
func (p *provider) provisionVolumes(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	v := provisioner.Provisioner{Client: p.client, Dir: claimsDir(p.opts.StateDir), Events: p.events.r, Log: p.log.Printf}
	var running sync.WaitGroup
	running.Go(func() {
		if err := v.Run(ctx); err != nil {
			p.log.Printf("persistent volumes: %v", err)
		}
	})
	return func() { cancel(); running.Wait() }
}

// serve starts the kubelet API.
func (p *provider) serve(o Options) (stop func(), err error) {
	conf, err := servingConfig(o)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", o.ListenAddress)
	if err != nil {
		return nil, fmt.Errorf("kubelet API: %w", err)
	}
	h, err := p.handler(o)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	srv := &http.Server{Handler: h, TLSConfig: conf, ReadHeaderTimeout: 30 * time.Second, ErrorLog: p.log}
	go func() {
		if err := srv.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			p.log.Printf("kubelet API: %v", err)
		}
	}()
	return func() { _ = srv.Close() }, nil
}

// pruneLogs removes the logs of pods that the API server has no more.
func (p *provider) pruneLogs() error {
	dir := filepath.Join(p.opts.StateDir, "logs")
	have, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("logs: %w", err)
	}
	pods, err := p.names.all()
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, pod := range pods {
		keep[filepath.Base(p.logDir(pod))] = true
	}
	for _, e := range have {
		if !keep[e.Name()] {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("logs: %w", err)
			}
		}
	}
	return nil
}

// nodeSpec is the node as it registers itself, without any taint.
func nodeSpec(o Options) (corev1.Node, error) {
	host, port, err := net.SplitHostPort(o.ListenAddress)
	if err != nil {
		return corev1.Node{}, fmt.Errorf("kubelet API address %q: %w", o.ListenAddress, err)
	}
	portNumber, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return corev1.Node{}, fmt.Errorf("kubelet API address %q: %w", o.ListenAddress, err)
	}
	if o.CPUs == 0 {
		o.CPUs = runtime.NumCPU()
	}
	memory := resource.NewQuantity(int64(o.MemoryMiB)<<20, resource.BinarySI)
	if o.MemoryMiB == 0 {
		memory = resource.NewQuantity(hostMemory(), resource.BinarySI)
	}
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(int64(o.CPUs), resource.DecimalSI), corev1.ResourceMemory: *memory,
		corev1.ResourcePods: *resource.NewQuantity(1000, resource.DecimalSI), corev1.ResourceEphemeralStorage: *resource.NewQuantity(1<<40, resource.BinarySI),
	}
	for name, amount := range o.Capacity {
		capacity[corev1.ResourceName(name)] = *resource.NewQuantity(amount, resource.DecimalSI)
	}
	n := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: o.Name, Labels: map[string]string{
			corev1.LabelHostname: o.Name, corev1.LabelOSStable: runtime.GOOS, corev1.LabelArchStable: runtime.GOARCH,
		}},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity, Phase: corev1.NodeRunning,
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}, {Type: corev1.NodeHostName, Address: o.Name}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(portNumber)}},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH, KernelVersion: kernelVersion(), KubeletVersion: "v1.37.2-kubespark", ContainerRuntimeVersion: "libcontainer://1.5.3",
			},
		},
	}
	for t, ok := range map[corev1.NodeConditionType]bool{
		corev1.NodeReady: true, corev1.NodeMemoryPressure: false, corev1.NodeDiskPressure: false, corev1.NodePIDPressure: false, corev1.NodeNetworkUnavailable: false,
	} {
		c := corev1.NodeCondition{Type: t, Status: status(ok), Reason: "KubeletHasSufficient", LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}
		if t == corev1.NodeReady {
			c.Reason, c.Message = "KubeletReady", "node is posting ready status"
		}
		n.Status.Conditions = append(n.Status.Conditions, c)
	}
	return n, nil
}

func kernelVersion() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// hostMemory is the host's memory in bytes.
func hostMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 8 << 30
	}
	return int64(info.Totalram) * int64(info.Unit)
}
