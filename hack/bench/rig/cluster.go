// Package rig is what the measurements stand on: a local cluster with kwok's fake node, a manager with a driver's end of
// the bridge, the stock driver in client mode, a bare client, watches that count pods, a forwarder that counts bytes, the
// audit log, and the CPU time of every process that takes part.
package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/kube"
)

// Options say what a cluster is made of.
type Options struct {
	Bin, Dir string // the programs; the folder for everything of the cluster
	Port     int
	Network  string
	Node     bool // the process node, for real containers
	Audit    bool // an audit log of all requests
}

// Cluster is a local cluster with a fake node that kwok keeps alive.
type Cluster struct {
	Options
	URL, Kubeconfig string
	Config          *rest.Config
	Kube            *kube.Client
	HTTP            *http.Client // with the credentials of Config

	kwok *exec.Cmd
}

// Selector puts a pod on the fake node, as Spark's node selector and as a label of the node.
const (
	SelectorKey   = "kubespark.io/bench"
	SelectorValue = "fake"
)

// auditPolicy logs who asked for what, once a request and once a watch's start and end.
const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata"}]}`

// Start starts a cluster; what an earlier one in the same folder left is removed.
func Start(ctx context.Context, o Options) (_ *Cluster, err error) {
	c := &Cluster{Options: o, URL: fmt.Sprintf("https://127.0.0.1:%d", o.Port), Kubeconfig: filepath.Join(o.Dir, "state", "kubeconfig")}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	if err := c.Down(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Down())
		}
	}()
	args := []string{"up", "--port", fmt.Sprint(o.Port), "--network", o.Network, fmt.Sprintf("--node=%t", o.Node)}
	if o.Audit {
		policy := filepath.Join(o.Dir, "audit-policy.json")
		if err := os.WriteFile(policy, []byte(auditPolicy), 0o644); err != nil {
			return nil, err
		}
		args = append(args, "--audit-policy", policy)
	}
	if err := c.Command(ctx, args...); err != nil {
		return nil, err
	}
	if err := c.connect(); err != nil {
		return nil, err
	}
	return c, c.fakeNode(ctx)
}

func (c *Cluster) connect() (err error) {
	if c.Config, c.HTTP, err = c.newHTTP(); err != nil {
		return err
	}
	c.Kube, err = kube.NewClient(c.Config)
	return err
}

// newHTTP makes a client with a connection of its own: a dialer of its own keeps client-go from sharing one.
func (c *Cluster) newHTTP() (*rest.Config, *http.Client, error) {
	cfg, err := kube.Config(kube.Options{Conf: conf.New(nil), APIServer: c.URL, UserAgent: "bench", ConnectTimeout: 10 * time.Second, Env: c.lookup})
	if err != nil {
		return nil, nil, err
	}
	h, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("make a client: %w", err)
	}
	return cfg, h, nil
}

// lookup is the environment of everything that speaks with the cluster.
func (c *Cluster) lookup(name string) (string, bool) {
	if name == "KUBECONFIG" {
		return c.Kubeconfig, true
	}
	return "", false
}

// Env is the environment of a program that speaks with the cluster.
func (c *Cluster) Env(more ...string) []string {
	env := []string{"KUBECONFIG=" + c.Kubeconfig}
	for _, name := range []string{"PATH", "HOME", "JAVA_HOME", "LANG", "TZ"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, more...)
}

func (c *Cluster) state() string { return filepath.Join(c.Dir, "state") }

// Command runs kubespark-cluster.
func (c *Cluster) Command(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(c.Bin, "kubespark-cluster"), append([]string{"--state-dir", c.state()}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("kubespark-cluster %s: %w: %s", args[0], err, lastLines(string(out)))
	}
	return nil
}

func lastLines(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > 600 {
		text = "…" + strings.ToValidUTF8(text[len(text)-600:], "")
	}
	return text
}

// Down stops everything of the cluster.
func (c *Cluster) Down() error {
	if c.kwok != nil {
		_ = c.kwok.Process.Kill() // the only error is that it has ended
		_ = c.kwok.Wait()         // killed
		c.kwok = nil
	}
	if _, err := os.Stat(c.state()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return c.Command(context.Background(), "down")
}

// AuditLog is the path of the audit log.
func (c *Cluster) AuditLog() string { return filepath.Join(c.state(), "logs", "audit.log") }

// fakeNode makes the node and starts kwok, and waits until the node takes pods.
func (c *Cluster) fakeNode(ctx context.Context) error {
	many := corev1.ResourceList{"cpu": resource.MustParse("1000000"), "memory": resource.MustParse("1000Ti"), "pods": resource.MustParse("100000")}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "fake", Labels: map[string]string{SelectorKey: SelectorValue}},
		Status: corev1.NodeStatus{Capacity: many, Allocatable: many}}
	if _, err := c.Kube.Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make the fake node: %w", err)
	}
	logPath := filepath.Join(c.Dir, "kwok.log")
	log, err := os.Create(logPath)
	if err != nil {
		return err
	}
	defer log.Close()
	c.kwok = exec.Command(filepath.Join(c.Bin, "kwok"), "--kubeconfig="+c.Kubeconfig, "--config="+filepath.Join(c.Bin, "kwok-stages.yaml"),
		"--manage-nodes-with-label-selector="+SelectorKey+"="+SelectorValue, "--cidr=10.64.0.1/10", "--node-ip=127.0.0.1", "--server-address=")
	c.kwok.Stdout, c.kwok.Stderr, c.kwok.Env = log, log, c.Env()
	if err := c.kwok.Start(); err != nil {
		return fmt.Errorf("start kwok: %w", err)
	}
	err = c.eventually(ctx, 30*time.Second, "the fake node takes pods", func(ctx context.Context) (bool, error) {
		n, err := c.Kube.Nodes().Get(ctx, "fake", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		ready := len(n.Spec.Taints) == 0
		for _, cond := range n.Status.Conditions {
			ready = ready && (cond.Type != corev1.NodeReady || cond.Status == corev1.ConditionTrue)
		}
		return ready && len(n.Status.Conditions) > 0, nil
	})
	if err != nil {
		text, rerr := os.ReadFile(logPath)
		return errors.Join(err, rerr, fmt.Errorf("the log of kwok ends with: %s", lastLines(string(text))))
	}
	return nil
}

func (c *Cluster) eventually(ctx context.Context, limit time.Duration, what string, f func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		ok, err := f(ctx)
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("not within %s: %s", limit, what), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Post posts an object below a path of the API.
func (c *Cluster) Post(ctx context.Context, path string, object any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("code an object: %w", err)
	}
	return c.Kube.Core().Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
}

// Namespace makes a namespace in which pods can be made, and lets its default service account edit what is in it.
func (c *Cluster) Namespace(ctx context.Context, name string) error {
	if err := c.Post(ctx, "/api/v1/namespaces", Object{"metadata": Object{"name": name}}); err != nil {
		return fmt.Errorf("make namespace %s: %w", name, err)
	}
	binding := Object{"metadata": Object{"name": "edit"},
		"roleRef":  Object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
		"subjects": []any{Object{"kind": "ServiceAccount", "name": "default", "namespace": name}}}
	if err := c.Post(ctx, "/apis/rbac.authorization.k8s.io/v1/namespaces/"+name+"/rolebindings", binding); err != nil {
		return fmt.Errorf("bind a role in namespace %s: %w", name, err)
	}
	return c.eventually(ctx, 30*time.Second, "namespace "+name+" has its service account", func(ctx context.Context) (bool, error) {
		err := c.Kube.Core().Get().Namespace(name).Resource("serviceaccounts").Name("default").Do(ctx).Error()
		return err == nil, err
	})
}

// Object is a JSON object.
type Object = map[string]any
