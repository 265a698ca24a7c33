package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// action is what a hook or a probe does to a running container: one of its fields is set.
type action struct {
	exec  *corev1.ExecAction
	get   *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

func hookAction(h *corev1.LifecycleHandler) action {
	return action{exec: h.Exec, get: h.HTTPGet, tcp: h.TCPSocket, sleep: h.Sleep}
}

func probeAction(p *corev1.Probe) action {
	return action{exec: p.Exec, get: p.HTTPGet, tcp: p.TCPSocket, grpc: p.GRPC}
}

// maxSaid is how much of an action's output is shown, in bytes.
const maxSaid = 1024

// act does it. The error says in a kubelet's words how it failed.
func (l *loop) act(ctx context.Context, r *run, a action) error {
	_, ip := l.w.address()
	switch {
	case a.exec != nil:
		return execAction(ctx, r, a.exec.Command)
	case a.get != nil:
		return httpAction(ctx, l.c, ip, a.get)
	case a.tcp != nil:
		port, err := portOf(l.c, a.tcp.Port)
		if err != nil {
			return err
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(orElse(a.tcp.Host, ip), port))
		if err != nil {
			return err
		}
		return conn.Close()
	case a.grpc != nil:
		return grpcAction(ctx, ip, a.grpc)
	case a.sleep != nil:
		select {
		case <-time.After(time.Duration(a.sleep.Seconds) * time.Second):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.New("this node knows exec, httpGet, tcpSocket, grpc and sleep actions only")
}

func execAction(ctx context.Context, r *run, command []string) error {
	said := &head{limit: maxSaid}
	e := execOf(r.spec, command)
	e.Stdout, e.Stderr = said, said
	code, err := r.c.Exec(ctx, e)
	if err != nil {
		return err
	}
	if code != 0 {
		return fmt.Errorf("command %q exited with %d: %s", strings.Join(command, " "), code, strings.TrimSpace(said.String()))
	}
	return nil
}

// head keeps the beginning of what is written to it, and takes the rest as well.
type head struct {
	limit int

	mu   sync.Mutex
	text bytes.Buffer
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if left := h.limit - h.text.Len(); left > 0 {
		h.text.Write(p[:min(left, len(p))])
	}
	return len(p), nil
}

// probeAgent is who asks, as a kubelet says it.
const probeAgent = "kube-probe/1.37"

// anybody is TLS that takes every certificate: a probe asks whether somebody answers and not who it is.
func anybody() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
}

// httpAction asks a URL of the pod and takes any answer from 200 to 399 as well done. A redirect is an answer.
func httpAction(ctx context.Context, c *corev1.Container, ip string, g *corev1.HTTPGetAction) error {
	port, err := portOf(c, g.Port)
	if err != nil {
		return err
	}
	path, query, _ := strings.Cut(g.Path, "?")
	u := url.URL{Scheme: strings.ToLower(orElse(string(g.Scheme), "http")), Host: net.JoinHostPort(orElse(g.Host, ip), port), Path: path, RawQuery: query}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", probeAgent)
	for _, h := range g.HTTPHeaders {
		if strings.EqualFold(h.Name, "host") {
			req.Host = h.Value
		} else {
			req.Header.Add(h.Name, h.Value)
		}
	}
	// Each of a probe's connections is new.
	transport := &http.Transport{TLSClientConfig: anybody(), DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(res.Body, 10<<10)); err != nil {
		return err
	}
	if res.StatusCode < 200 || res.StatusCode >= 400 {
		return fmt.Errorf("HTTP probe failed with statuscode: %d", res.StatusCode)
	}
	return nil
}

// grpcAction asks the pod's grpc.health.v1.Health service. Only SERVING is well done.
func grpcAction(ctx context.Context, ip string, g *corev1.GRPCAction) error {
	creds := insecure.NewCredentials()
	if g.Mode != nil && *g.Mode == corev1.GRPCProbeModeTLS {
		creds = credentials.NewTLS(anybody())
	}
	conn, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(ip, strconv.Itoa(int(g.Port))),
		grpc.WithTransportCredentials(creds), grpc.WithUserAgent(probeAgent), grpc.WithNoProxy())
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: ptr.Deref(g.Service, "")})
	if err != nil {
		return fmt.Errorf("health rpc probe failed: %w", err)
	}
	if s := answer.GetStatus(); s != healthpb.HealthCheckResponse_SERVING {
		return fmt.Errorf("service unhealthy (responded with %q)", s)
	}
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// portOf is the number of a port that is given by number or by the container's name for it.
func portOf(c *corev1.Container, p intstr.IntOrString) (string, error) {
	if p.Type == intstr.Int {
		return strconv.Itoa(p.IntValue()), nil
	}
	for _, have := range c.Ports {
		if have.Name == p.StrVal {
			return strconv.Itoa(int(have.ContainerPort)), nil
		}
	}
	if n, err := strconv.Atoi(p.StrVal); err == nil {
		return strconv.Itoa(n), nil
	}
	return "", fmt.Errorf("container %s has no port named %q", c.Name, p.StrVal)
}
