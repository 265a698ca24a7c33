package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kubespark/kubespark/internal/bridge"
	"github.com/kubespark/kubespark/internal/bridgetest"
)

// Bridge is a real kubespark-manager with this program as its driver's JVM.
type Bridge struct {
	Namespace, AppID string
	Spawned          time.Time // the process was started
	Opened, Started  time.Time // session.open and session.start were answered

	cmd    *exec.Cmd
	in     io.Closer
	stderr bytes.Buffer
	peer   *bridgetest.Peer
	ended  chan error

	mu       sync.Mutex
	next     int // first executor id never reserved
	known    map[string]int64
	denied   map[string]bool
	removed  []string
	trouble  []string // lines from WARN on
	complete waiting  // the allocator says that all run
}

// waiting is the signal that an allocator sees n executors run.
type waiting struct {
	n  int // 0: nobody waits
	at chan time.Time
}

// statusLine is what stock's allocator and ours log of a resource profile, at DEBUG, after news of pods.
var statusLine = regexp.MustCompile(`pod allocation status: (\d+) running`)

// heard looks at a line of the allocator's log.
func (w *waiting) heard(line string) {
	if w.n == 0 {
		return
	}
	m := statusLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	if running, err := strconv.Atoi(m[1]); err == nil && running >= w.n {
		w.n = 0
		w.at <- time.Now()
	}
}

const callLimit = 2 * time.Minute

// SparkConf are the settings that stock and kubespark both get for executors on the fake node.
func SparkConf(namespace, appID string) map[string]string {
	return map[string]string{
		"spark.app.name": "bench", "spark.app.id": appID, "spark.kubernetes.namespace": namespace,
		"spark.kubernetes.container.image": "kubespark/spark:4.2.0", "spark.driver.host": "127.0.0.1", "spark.driver.port": "7078",
		"spark.kubernetes.executor.node.selector." + SelectorKey: SelectorValue, "spark.executor.maxNumFailures": "1000000",
	}
}

// OpenBridge starts a manager that wants target executors. url is where it finds the API server.
func (c *Cluster) OpenBridge(url, namespace, appID string, target int) (*Bridge, error) {
	b := &Bridge{Namespace: namespace, AppID: appID, next: 1, known: map[string]int64{}, denied: map[string]bool{}, ended: make(chan error, 1)}
	b.cmd = exec.Command(filepath.Join(c.Bin, "kubespark-manager"))
	b.cmd.Env, b.cmd.Stderr = c.Env(), &b.stderr
	in, err := b.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	b.in, b.peer, b.Spawned = in, bridgetest.NewPeer(in), time.Now()
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the manager: %w", err)
	}
	go func() { b.ended <- b.peer.Read(out, b) }()
	if err := b.open(url, target); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bridge) open(url string, target int) error {
	conf := SparkConf(b.Namespace, b.AppID)
	profile := Object{"id": 0, "executorResources": Object{"cores": Object{"amount": 1, "vendor": "", "discoveryScript": ""},
		"memory": Object{"amount": 1024, "vendor": "", "discoveryScript": ""}}, "taskResources": Object{"cpus": Object{"amount": 1.0}}}
	if err := b.call("session.open", Object{"protocol": bridge.Protocol, "sparkVersion": "4.2.0", "appId": b.AppID, "namespace": b.Namespace,
		"deployMode": "client", "apiServer": url, "authPrefix": "spark.kubernetes.authenticate", "driverPodName": "",
		"podNamePrefix": b.AppID, "configMapName": b.AppID + "-conf-map", "userName": "bench", "conf": conf, "resume": nil}); err != nil {
		return err
	}
	b.Opened = time.Now()
	err := b.call("session.start", Object{"conf": conf, "defaultProfile": profile, "initialTarget": target})
	b.Started = time.Now()
	return err
}

func (b *Bridge) call(method string, params Object) error {
	answer, err := b.peer.Call(method, params, callLimit)
	if err == nil && answer["error"] != nil {
		err = fmt.Errorf("%s: %v", method, answer["error"])
	}
	return err
}

// Target asks for n executors. The channel gives the time at which the manager says that all run.
func (b *Bridge) Target(seq, n int) (<-chan time.Time, error) {
	b.mu.Lock()
	b.complete = waiting{n: n, at: make(chan time.Time, 1)}
	at := b.complete.at
	b.mu.Unlock()
	return at, b.peer.Notify("targets.set", Object{"seq": seq, "totals": Object{"0": n}, "profiles": []any{}})
}

// Register tells the manager that an executor registered with the driver.
func (b *Bridge) Register(id string) error {
	now := time.Now().UnixMilli()
	b.mu.Lock()
	if b.denied[id] {
		b.mu.Unlock()
		return nil
	}
	b.known[id] = now
	b.mu.Unlock()
	return b.peer.Notify("executor.registered", Object{"id": id, "host": "10.64.0.1", "profile": 0, "registeredAt": now})
}

// Known is how many executors are registered and not removed.
func (b *Bridge) Known() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.known)
}

// Removed lists the executors that the manager reported as lost.
func (b *Bridge) Removed() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.removed...)
}

// Trouble lists the manager's warnings and errors.
func (b *Bridge) Trouble() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.trouble...)
}

// PID is the manager's process.
func (b *Bridge) PID() int { return b.cmd.Process.Pid }

// Ping waits until the manager has taken everything said before.
func (b *Bridge) Ping() error { return b.call("ping", Object{}) }

// Stop ends the session as Spark does, with the time that the manager may take; left is what could not be deleted.
func (b *Bridge) Stop(limit time.Duration) (left int, err error) {
	answer, err := b.peer.Call("session.stop", Object{"deadlineMs": limit.Milliseconds()}, limit+callLimit)
	if err != nil {
		return 0, err
	}
	result, _ := answer["result"].(Object)
	n, ok := result["left"].(float64)
	if !ok {
		return 0, fmt.Errorf("session.stop: %v", answer)
	}
	return int(n), nil
}

// Close ends the manager and waits for it.
func (b *Bridge) Close() error {
	_ = b.in.Close() // the only error is that it is closed
	err := <-b.ended
	if werr := b.cmd.Wait(); werr != nil {
		err = errors.Join(err, fmt.Errorf("the manager: %w: %s", werr, lastLines(b.stderr.String())))
	}
	return err
}

// Request answers the manager as the shim does.
func (b *Bridge) Request(method string, params Object) (Object, func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch method {
	case "ids.reserve":
		from := b.next
		n, _ := params["n"].(float64)
		b.next += int(n)
		return Object{"from": from, "to": b.next - 1}, nil
	case "executor.remove":
		id, _ := params["id"].(string)
		b.removed = append(b.removed, id)
		delete(b.known, id)
		return Object{}, func() { b.tell("executor.removed", Object{"id": id, "reason": "exited"}) }
	case "executors.deny":
		return Object{"registered": b.deny(params)}, nil
	case "executors.list":
		active := []string{}
		for id := range b.known {
			active = append(active, id)
		}
		return Object{"ids": maps.Clone(b.known), "active": active}, nil
	}
	b.trouble = append(b.trouble, "unexpected request "+method)
	return Object{}, nil
}

func (b *Bridge) deny(params Object) []string {
	registered := []string{}
	ids, _ := params["ids"].([]any)
	for _, v := range ids {
		id, _ := v.(string)
		if _, ok := b.known[id]; ok {
			registered = append(registered, id)
		} else {
			b.denied[id] = true
		}
	}
	return registered
}

func (b *Bridge) tell(method string, params Object) {
	if err := b.peer.Notify(method, params); err != nil {
		b.mu.Lock()
		b.trouble = append(b.trouble, err.Error())
		b.mu.Unlock()
	}
}

// Notified takes the manager's notifications.
func (b *Bridge) Notified(method string, params Object) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch method {
	case "log":
		text, _ := params["text"].(string)
		level, _ := params["level"].(string)
		b.complete.heard(text)
		expected := strings.HasPrefix(text, "No driver pod is named") // this driver is no pod
		if (level == "WARN" || level == "ERROR") && !expected {
			b.trouble = append(b.trouble, level+" "+text)
		}
	case "app.exit":
		b.trouble = append(b.trouble, fmt.Sprint("app.exit ", params))
	case "executors.allow":
		ids, _ := params["ids"].([]any)
		for _, v := range ids {
			id, _ := v.(string)
			delete(b.denied, id)
		}
	}
}

// Executors selects the executor pods of an application.
func Executors(appID string) string { return "spark-role=executor,spark-app-selector=" + appID }

// RegisterRunning registers each executor whose pod begins to run, as the executors themselves do in a real application.
func (c *Cluster) RegisterRunning(ctx context.Context, b *Bridge) (*Watch, error) {
	return c.WatchPods(ctx, b.Namespace, Executors(b.AppID), "status.phase=Running", func(_ string, labels map[string]string) {
		if id := labels["spark-exec-id"]; id != "" {
			if _, err := strconv.Atoi(id); err == nil {
				if err := b.Register(id); err != nil {
					b.mu.Lock()
					b.trouble = append(b.trouble, err.Error())
					b.mu.Unlock()
				}
			}
		}
	})
}
