package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubespark/kubespark/localcluster/internal/statedir"
)

// Prober asks whether components are ready. Its zero value is of no use: make one with NewProber.
type Prober struct {
	dir  statedir.Dir
	spec statedir.Spec
	api  kubernetes.Interface
	// aggregate registers an API that another server than the API server serves.
	aggregate func(ctx context.Context, apiService []byte) error
}

// probeTimeout bounds one question.
const probeTimeout = 2 * time.Second

// NewProber reads the administrator's kubeconfig from the state folder; it connects to nothing yet.
func NewProber(d statedir.Dir, s statedir.Spec) (*Prober, error) {
	config, err := clientcmd.BuildConfigFromFlags("", d.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the cluster's kubeconfig: %w", err)
	}
	config.QPS = -1 // a probe is no load, and must not wait behind the last one
	config.UserAgent = "kubespark-cluster"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make an API client: %w", err)
	}
	return &Prober{dir: d, spec: s, api: client, aggregate: func(ctx context.Context, body []byte) error {
		return client.CoreV1().RESTClient().Post().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices").Body(body).SetHeader("Content-Type", "application/json").Do(ctx).Error()
	}}, nil
}

// Ready returns nil if the component of that name is ready, else why not. A component that serves no probe is ready
// as soon as it runs.
func (p *Prober) Ready(ctx context.Context, component string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	switch component {
	case Etcd:
		return dial(ctx, "unix", p.dir.EtcdSocket())
	case APIServer:
		return p.apiServer(ctx)
	case Service:
		return dial(ctx, "tcp", p.spec.Service().String())
	case ControllerManager:
		return p.defaultNamespace(ctx)
	default:
		for i, name := range p.spec.NodeNames() {
			if component == statedir.Numbered(Node, i) {
				return p.node(ctx, name)
			}
		}
		return nil
	}
}

func dial(ctx context.Context, network, address string) error {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return errors.New("it does not accept connections yet")
	}
	return c.Close()
}

func (p *Prober) apiServer(ctx context.Context) error {
	_, err := p.api.CoreV1().RESTClient().Get().AbsPath("/readyz").MaxRetries(0).DoRaw(ctx)
	if err == nil {
		return nil
	}
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		return errors.New("it answers, but is not ready yet")
	}
	return errors.New("it does not answer yet")
}

// defaultNamespace asks for what the controllers put into a namespace and a pod's volume for its token needs.
func (p *Prober) defaultNamespace(ctx context.Context) error {
	_, err := p.api.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	if err == nil {
		_, err = p.api.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		return errors.New("the default namespace is not complete yet")
	}
	if err != nil {
		return fmt.Errorf("ask for the default namespace's service account and ConfigMap: %w", err)
	}
	return nil
}

func (p *Prober) node(ctx context.Context, name string) error {
	n, err := p.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return errors.New("it has not registered yet")
	}
	if err != nil {
		return fmt.Errorf("ask for the node: %w", err)
	}
	for _, c := range n.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		if c.Status == corev1.ConditionTrue {
			return nil
		}
		return fmt.Errorf("its condition Ready is %s: %s", c.Status, c.Message)
	}
	return errors.New("it has not reported its condition yet")
}
