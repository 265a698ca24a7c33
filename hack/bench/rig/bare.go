package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/yaml"
)

// Bare is a client that does nothing but create pods: bytes made beforehand, 32 workers, one connection, answers thrown away.
type Bare struct {
	http      *http.Client
	cluster   *Cluster
	namespace string
	body      []byte // the pod's JSON, with mark for the number of the executor
	Workers   int
}

// mark stands for the executor's number in the template.
const mark = "987654321"

// NewBare makes the client. Its pod is the executor pod that kubespark makes, as `kubespark render` shows it.
func (c *Cluster) NewBare(ctx context.Context, namespace, appID string) (*Bare, error) {
	args := []string{"render", "--master", "k8s://" + c.URL, "--deploy-mode", "cluster", "--name", "bare", "--class", "Main"}
	for k, v := range SparkConf(namespace, appID) {
		args = append(args, "--conf", k+"="+v)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(c.Bin, "kubespark"), append(args, "local:///bare.jar")...)
	cmd.Env = c.Env()
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("kubespark render: %w", err)
	}
	pod, err := executorOf(string(out))
	if err != nil {
		return nil, err
	}
	meta, _ := pod["metadata"].(Object)
	labels, _ := meta["labels"].(Object)
	if labels == nil {
		return nil, fmt.Errorf("the rendered executor pod has no labels")
	}
	delete(meta, "ownerReferences") // there is no driver pod
	meta["name"], meta["namespace"] = "bare-exec-"+mark, namespace
	labels["spark-app-selector"], labels["spark-exec-id"] = appID, mark

	body, err := json.Marshal(pod)
	if err != nil {
		return nil, fmt.Errorf("code the bare client's pod: %w", err)
	}
	_, h, err := c.newHTTP()
	if err != nil {
		return nil, err
	}
	return &Bare{http: h, cluster: c, namespace: namespace, body: body, Workers: 32}, nil
}

// executorOf finds the executor pod among rendered documents.
func executorOf(text string) (Object, error) {
	for _, doc := range strings.Split(text, "\n---\n") {
		var o Object
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			return nil, fmt.Errorf("read the rendered objects: %w", err)
		}
		meta, _ := o["metadata"].(Object)
		labels, _ := meta["labels"].(Object)
		if o["kind"] == "Pod" && labels["spark-role"] == "executor" {
			return o, nil
		}
	}
	return nil, fmt.Errorf("kubespark render shows no executor pod")
}

// Create creates pods with the numbers from first on, as fast as the server takes them.
func (b *Bare) Create(ctx context.Context, first, n int) error {
	var next atomic.Int64
	next.Store(int64(first))
	g, ctx := errgroup.WithContext(ctx)
	for range b.Workers {
		g.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= first+n {
					return nil
				}
				if err := b.create(ctx, i); err != nil {
					return err
				}
			}
		})
	}
	return g.Wait()
}

func (b *Bare) create(ctx context.Context, i int) error {
	body := bytes.ReplaceAll(b.body, []byte(mark), []byte(strconv.Itoa(i)))
	return b.cluster.do(ctx, b.http, http.MethodPost, "/api/v1/namespaces/"+b.namespace+"/pods", "application/json", body)
}

// Delete deletes all pods of a selector at once, with one request if the server manages that within its own time limit of a minute.
func (c *Cluster) Delete(ctx context.Context, namespace, labels string) error {
	path := "/api/v1/namespaces/" + namespace + "/pods?labelSelector=" + strings.ReplaceAll(labels, ",", "%2C")
	for {
		err := c.do(ctx, c.HTTP, http.MethodDelete, path, "application/json", []byte(`{"gracePeriodSeconds":0}`))
		// Past its limit the server answers with 504, or, once it has begun to answer, breaks the stream off.
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), ": 504 ") && !strings.Contains(err.Error(), "INTERNAL_ERROR") {
			return err
		}
	}
}

// Fail writes the status of a pod as its kubelet would.
func (c *Cluster) Fail(ctx context.Context, namespace, pod, status string) error {
	return c.do(ctx, c.HTTP, http.MethodPatch, "/api/v1/namespaces/"+namespace+"/pods/"+pod+"/status", "application/strategic-merge-patch+json", []byte(status))
}

// do sends one request and throws the answer away.
func (c *Cluster) do(ctx context.Context, h *http.Client, method, path, kind string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	resp, err := h.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500)) // what could be read of it
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// Prober is another client of the API server: one small write after another, 20 ms apart.
type Prober struct {
	stop context.CancelFunc
	done chan struct{}
	took []time.Duration
	err  error
}

// Probe begins to write. The ConfigMap that it patches is made on first use.
func (c *Cluster) Probe(ctx context.Context, namespace string) (*Prober, error) {
	err := c.Post(ctx, "/api/v1/namespaces/"+namespace+"/configmaps", Object{"metadata": Object{"name": "probe"}})
	if err != nil && !strings.Contains(err.Error(), "already exists") {
		return nil, fmt.Errorf("make the ConfigMap of the other client: %w", err)
	}
	_, h, err := c.newHTTP()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &Prober{stop: cancel, done: make(chan struct{})}
	go p.run(ctx, c, h, namespace)
	return p, nil
}

func (p *Prober) run(ctx context.Context, c *Cluster, h *http.Client, namespace string) {
	defer close(p.done)
	for i := 0; ; i++ {
		began := time.Now()
		patch := fmt.Appendf(nil, `{"data":{"n":"%d"}}`, i)
		err := c.do(ctx, h, http.MethodPatch, "/api/v1/namespaces/"+namespace+"/configmaps/probe", "application/merge-patch+json", patch)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			p.err = err
			return
		}
		p.took = append(p.took, time.Since(began))
		select {
		case <-ctx.Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Stop ends it and returns what each write took.
func (p *Prober) Stop() ([]time.Duration, error) {
	p.stop()
	<-p.done
	return p.took, p.err
}
