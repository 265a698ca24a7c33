package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"
	utilexec "k8s.io/utils/exec"

	"github.com/kubespark/kubespark/localcluster/internal/container"
	"github.com/kubespark/kubespark/localcluster/internal/metrics"
)

// streamIdle is how long an exec, attach or port-forward connection may be silent.
const streamIdle = 4 * time.Hour

// handler serves the part of a kubelet's API that kubectl logs, exec, attach and port-forward use, what its pods use, and on the node that
// is told to, the metrics of all nodes.
func (p *provider) handler(o Options) (http.Handler, error) {
	const creation = 30 * time.Second
	conf := api.PodHandlerConfig{
		RunInContainer: p.RunInContainer, AttachToContainer: p.AttachToContainer, GetContainerLogs: p.GetContainerLogs, PortForward: p.PortForward,
		GetPods: p.GetPods, GetStatsSummary: p.GetStatsSummary, StreamIdleTimeout: streamIdle, StreamCreationTimeout: creation,
	}
	mux := http.NewServeMux()
	mux.Handle("/", oneOutput(api.PodHandler(conf, false)))
	// For this one the library takes each of the two times for the other, and would end a connection that is silent for 30 s.
	conf.StreamIdleTimeout, conf.StreamCreationTimeout = creation, streamIdle
	mux.Handle("/portForward/", api.PodHandler(conf, false))
	if o.ServeMetrics {
		h, err := p.metricsAPI(o)
		if err != nil {
			return nil, err
		}
		mux.Handle(metrics.Root, h)
		mux.Handle(metrics.Root+"/", h)
	}
	return mux, nil
}

// oneOutput asks for no stderr where a terminal is asked for, as a kubelet does: a terminal has one output. fabric8's client, and
// with it Spark's own suite, asks for both, which the library refuses.
func oneOutput(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get(corev1.ExecTTYParam) == "1" && q.Has(corev1.ExecStderrParam) {
			q.Del(corev1.ExecStderrParam)
			r.URL.RawQuery = q.Encode()
		}
		next.ServeHTTP(w, r)
	})
}

// servingConfig lets in only clients with a certificate of the cluster's CA: whoever reaches this API can run commands in every pod.
func servingConfig(o Options) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(o.ServingCert, o.ServingKey)
	if err != nil {
		return nil, fmt.Errorf("kubelet API: %w", err)
	}
	pem, err := os.ReadFile(o.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("kubelet API: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("kubelet API: %s holds no certificate", o.ClientCA)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{cert}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}, nil
}

// GetContainerLogs opens the log of a container's newest run, or of the one before.
func (p *provider) GetContainerLogs(ctx context.Context, namespace, pod, name string, opts api.ContainerLogOpts) (io.ReadCloser, error) {
	w, err := p.worker(namespace, pod)
	var log *containerLog
	if err == nil {
		log, err = w.logOf(name, opts.Previous)
	} else {
		log, err = p.leftLog(namespace, pod, name, err)
	}
	if err != nil {
		return nil, err
	}
	r, wr := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	go func() { wr.CloseWithError(log.read(ctx, wr, opts)) }()
	return &logReader{r, cancel}, nil
}

type logReader struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (r *logReader) Close() error {
	r.cancel()
	return r.PipeReader.Close()
}

func (w *worker) logOf(name string, previous bool) (*containerLog, error) {
	w.mu.Lock()
	log := w.logs[name]
	state := w.statusNamed(name)
	w.mu.Unlock()
	if log == nil {
		reason := "not known"
		if state != nil && state.State.Waiting != nil {
			reason = state.State.Waiting.Reason
		}
		if old, err := newestLog(filepath.Join(w.p.logDir(w.current()), name)); err == nil {
			return old, nil
		}
		return nil, errdefs.InvalidInputf("container %q in pod %q is waiting to start: %s", name, w.current().Name, reason)
	}
	if !previous {
		return log, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(log.path), ".log"))
	if err != nil || n == 0 {
		return nil, errdefs.InvalidInputf("previous terminated container %q in pod %q not found", name, w.current().Name)
	}
	return endedLog(filepath.Join(filepath.Dir(log.path), strconv.Itoa(n-1)+".log")), nil
}

// leftLog finds the log of a pod that ended in an earlier life of the node.
func (p *provider) leftLog(namespace, pod, name string, notFound error) (*containerLog, error) {
	now, err := p.assigned.Pods(namespace).Get(pod)
	if err != nil {
		return nil, notFound
	}
	log, err := newestLog(filepath.Join(p.logDir(now), name))
	if err != nil {
		return nil, errdefs.NotFoundf("container %q in pod %q has no log", name, pod)
	}
	return log, nil
}

func newestLog(dir string) (*containerLog, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, os.ErrNotExist)
	}
	sort.Slice(files, func(i, j int) bool {
		return len(files[i]) < len(files[j]) || len(files[i]) == len(files[j]) && files[i] < files[j]
	})
	return endedLog(files[len(files)-1]), nil
}

func (p *provider) runningContainer(namespace, pod, name string) (*run, error) {
	w, err := p.worker(namespace, pod)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.live[name]
	if !ok {
		return nil, errdefs.NotFoundf("container %q of pod %q does not run", name, pod)
	}
	return r, nil
}

// RunInContainer runs a command in a container.
func (p *provider) RunInContainer(ctx context.Context, namespace, pod, name string, cmd []string, io api.AttachIO) error {
	r, err := p.runningContainer(namespace, pod, name)
	if err != nil {
		return err
	}
	e := execOf(r.spec, cmd)
	e.Stdin, e.TTY = io.Stdin(), io.TTY()
	if out := io.Stdout(); out != nil {
		e.Stdout = out
		defer out.Close()
	}
	if out := io.Stderr(); out != nil {
		e.Stderr = out
		defer out.Close()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if e.TTY {
		e.Env = append(append([]string{}, e.Env...), "TERM=xterm")
		e.Resize = sizes(ctx, io.Resize())
	}
	code, err := r.c.Exec(ctx, e)
	if err != nil {
		return err
	}
	if code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
	}
	return nil
}

func sizes(ctx context.Context, in <-chan api.TermSize) <-chan container.WindowSize {
	out := make(chan container.WindowSize)
	go func() {
		defer close(out)
		for {
			select {
			case s, ok := <-in:
				if !ok {
					return
				}
				select {
				case out <- container.WindowSize{Width: s.Width, Height: s.Height}:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// AttachToContainer shows what the container writes from now on; nothing can be sent to it, because containers have no stdin here.
func (p *provider) AttachToContainer(ctx context.Context, namespace, pod, name string, io api.AttachIO) error {
	if _, err := p.runningContainer(namespace, pod, name); err != nil {
		return err
	}
	w, err := p.worker(namespace, pod)
	if err != nil {
		return err
	}
	log, err := w.logOf(name, false)
	if err != nil || io.Stdout() == nil {
		return err
	}
	defer io.Stdout().Close()
	return log.read(ctx, io.Stdout(), api.ContainerLogOpts{Follow: true, SinceTime: time.Now()})
}

// PortForward joins a stream with a port of the pod. What listens on the node's 127.0.0.1 is reached by pods of the host's network only.
func (p *provider) PortForward(ctx context.Context, namespace, pod string, port int32, stream io.ReadWriteCloser) error {
	w, err := p.worker(namespace, pod)
	if err != nil {
		return err
	}
	_, ip := w.address()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(ip, strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("port %d of pod %s: %w", port, pod, err)
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, stream) // the client left
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	}()
	_, err = io.Copy(stream, conn)
	return err
}
