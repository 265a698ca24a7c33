package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsv1alpha1 "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubespark/kubespark/localcluster/internal/metrics"
)

// GetStatsSummary is what the node's pods use, and the whole machine.
func (p *provider) GetStatsSummary(context.Context) (*statsv1alpha1.Summary, error) {
	now := metav1.NewTime(p.now())
	s := &statsv1alpha1.Summary{Node: statsv1alpha1.NodeStats{NodeName: p.opts.Name, CPU: &statsv1alpha1.CPUStats{Time: now}, Memory: &statsv1alpha1.MemoryStats{Time: now}}}
	busy, used := machineUsage()
	rate := p.rates.of("", busy, now.Time, now.Time)
	s.Node.CPU.UsageNanoCores, s.Node.Memory.WorkingSetBytes = &rate, &used
	for _, w := range p.running() {
		s.Pods = append(s.Pods, w.stats(now))
	}
	p.rates.forget(now.Time)
	return s, nil
}

func (w *worker) stats(now metav1.Time) statsv1alpha1.PodStats {
	w.mu.Lock()
	pod, runs := w.pod, map[string]*run{}
	for name, r := range w.live {
		runs[name] = r
	}
	w.mu.Unlock()
	out := statsv1alpha1.PodStats{PodRef: statsv1alpha1.PodReference{Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID)}, StartTime: w.start}
	for _, name := range sortedKeys(runs) {
		r := runs[name]
		u, err := r.c.Usage()
		if err != nil || closed(r.c.Done()) { // it has just ended
			continue
		}
		rate, total := w.p.rates.of(r.c.ID(), u.CPU, r.begun, now.Time), uint64(u.CPU.Nanoseconds())
		out.Containers = append(out.Containers, statsv1alpha1.ContainerStats{
			Name: name, StartTime: metav1.NewTime(r.begun),
			CPU:    &statsv1alpha1.CPUStats{Time: now, UsageNanoCores: &rate, UsageCoreNanoSeconds: &total},
			Memory: &statsv1alpha1.MemoryStats{Time: now, UsageBytes: &u.Memory, WorkingSetBytes: &u.WorkingSet},
		})
	}
	return out
}

// rates turns CPU times into CPUs in use: what was used since an earlier question, if there was one, else since the start.
type rates struct {
	mu   sync.Mutex
	seen map[string]*cpuSamples
}

type cpuSamples struct {
	old, last cpuSample
	asked     time.Time
}

type cpuSample struct {
	at   time.Time
	used time.Duration
}

const (
	// rateOver is the least time that a rate is taken over.
	rateOver = 5 * time.Second
	// rateKept is how long an earlier answer counts.
	rateKept = time.Minute
)

// of is a rate in thousand-millionths of a CPU.
func (r *rates) of(id string, used time.Duration, begun, now time.Time) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]*cpuSamples{}
	}
	s := r.seen[id]
	if s == nil || now.Sub(s.asked) > rateKept {
		first := cpuSample{at: begun}
		if !begun.Before(now) { // a clock that has no start of its own: nothing is known yet
			first.used = used
		}
		s = &cpuSamples{old: first, last: first}
		r.seen[id] = s
	}
	s.asked = now
	if now.Sub(s.last.at) >= rateOver {
		s.old, s.last = s.last, cpuSample{now, used}
	}
	if passed := now.Sub(s.old.at); passed > 0 && used > s.old.used {
		return uint64(float64(used-s.old.used) / float64(passed) * 1e9)
	}
	return 0
}

func (r *rates) forget(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, s := range r.seen {
		if now.Sub(s.asked) > rateKept {
			delete(r.seen, id)
		}
	}
}

// machineUsage is the machine's CPU time since its start, and its memory in use in bytes.
func machineUsage() (busy time.Duration, used uint64) {
	stat, err1 := os.ReadFile("/proc/stat")
	mem, err2 := os.ReadFile("/proc/meminfo")
	if err1 != nil || err2 != nil {
		return 0, 0
	}
	return parseMachine(string(stat), string(mem))
}

func parseMachine(stat, meminfo string) (busy time.Duration, used uint64) {
	first, _, _ := strings.Cut(stat, "\n")
	for i, f := range strings.Fields(first) {
		if n, err := strconv.ParseInt(f, 10, 64); err == nil && i <= 8 && i != 4 && i != 5 { // neither idle nor waiting for disks
			busy += time.Duration(n) * (time.Second / 100)
		}
	}
	kib := map[string]uint64{}
	for line := range strings.Lines(meminfo) {
		if f := strings.Fields(line); len(f) > 1 {
			kib[f[0]], _ = strconv.ParseUint(f[1], 10, 64)
		}
	}
	return busy, (kib["MemTotal:"] - kib["MemAvailable:"]) << 10
}

// GetMetricsResource is not part of what this node serves: nothing in the local cluster asks for it.
func (p *provider) GetMetricsResource(context.Context) ([]*dto.MetricFamily, error) {
	return nil, errdefs.NotFound("this node serves no metrics in Prometheus' form")
}

// metricsAPI serves metrics.k8s.io for the whole cluster: this node's summary and those of the others.
func (p *provider) metricsAPI(o Options) (http.Handler, error) {
	client, err := kubeletClient(o)
	if err != nil {
		return nil, err
	}
	return metrics.API{Pods: p.names.all, Summaries: func(ctx context.Context) ([]*statsv1alpha1.Summary, error) {
		own, err := p.GetStatsSummary(ctx)
		if err != nil {
			return nil, err
		}
		all := []*statsv1alpha1.Summary{own}
		for _, address := range o.OtherNodes {
			s, err := askSummary(ctx, client, address)
			if err != nil {
				p.log.Printf("stats of the node at %s: %v", address, err)
				continue
			}
			all = append(all, s)
		}
		return all, nil
	}}, nil
}

// kubeletClient is how the API server, too, asks a node.
func kubeletClient(o Options) (*http.Client, error) {
	cert, err := tls.LoadX509KeyPair(o.ClientCert, o.ClientKey)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	pem, err := os.ReadFile(o.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("metrics: " + o.ClientCA + " holds no certificate")
	}
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool, MinVersion: tls.VersionTLS12}, IdleConnTimeout: time.Minute,
	}}, nil
}

func askSummary(ctx context.Context, c *http.Client, address string) (*statsv1alpha1.Summary, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/stats/summary", nil)
	if err != nil {
		return nil, err
	}
	res, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", res.Status)
	}
	var s statsv1alpha1.Summary
	return &s, json.NewDecoder(res.Body).Decode(&s)
}
