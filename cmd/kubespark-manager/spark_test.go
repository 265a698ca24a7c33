package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kubespark/kubespark/internal/bridge"
	"github.com/kubespark/kubespark/internal/bridgetest"
	"github.com/kubespark/kubespark/internal/executor"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/kubetest"
)

// object is a JSON object.
type object = bridgetest.Object

// spark is the driver's side of the bridge as the shim has it: executor table, reserved ids, deny set, journal of commands
// and what was reported. It outlives the managers that speak with it.
type spark struct {
	t      testing.TB
	server *kubetest.Server
	conf   map[string]string

	mu        sync.Mutex
	pipe      io.WriteCloser // to the manager
	peer      *bridgetest.Peer
	next      int // first executor id never reserved
	known     map[string]int64
	denied    map[string]bool
	removed   []object // params of executor.remove
	failures  []int64
	created   int          // × pods.created
	turns     atomic.Int64 // how often the manager's owner woke
	totals    map[string]int
	exits     []object
	log       []string
	journal   map[int]object
	seq       int
	starts    int
	ended     chan struct{} // of the manager now running
	apiServer string
	onlyOpen  bool // no session.start
	realLogin bool // the manager logs in as the settings say

	session   object // params of session.open that a test sets otherwise
	profiles  []any  // resource profiles other than the default one
	refused   object // the error that ended session.open or session.start, if mayFail
	mayFail   bool
	answers   time.Duration // how long the driver takes for executors.deny and the like
	registers bool          // pods that begin to run register by themselves
	lists     int           // of executors.list
	pause     chan struct{} // full while the driver does nothing, as in a long collection of garbage

	steps func(object) object // answers pod.build
}

const (
	appID  = "spark-app-id"
	prefix = "pi-0123"
	ns     = "default"
)

func newSpark(t testing.TB, conf map[string]string) *spark {
	s := &spark{t: t, server: kubetest.New(), apiServer: "http://kubetest", next: 1, known: map[string]int64{},
		denied: map[string]bool{}, totals: map[string]int{}, journal: map[int]object{}, registers: true,
		pause: make(chan struct{}, 1)}
	s.conf = map[string]string{"spark.app.name": "pi", "spark.app.id": appID, "spark.kubernetes.container.image": "spark:4.2.0",
		"spark.kubernetes.namespace": ns, "spark.kubernetes.driver.pod.name": "driver", "spark.driver.host": "driver-svc",
		"spark.driver.port": "7078"}
	maps.Copy(s.conf, conf)
	s.server.Put("pods", object{"kind": "Pod", "apiVersion": "v1",
		"metadata": object{"name": "driver", "namespace": ns, "labels": object{"spark-app-selector": appID, "spark-role": "driver"}},
		"status":   object{"phase": "Running", "conditions": []any{object{"type": "Ready", "status": "True"}}}})
	return s
}

// kubelet gives the executor pods a life: they run after a while and register.
func (s *spark) kubelet(start, stop time.Duration) *kubetest.Kubelet {
	k := &kubetest.Kubelet{Server: s.server, Start: start, Stop: stop, Runs: func(pod kubetest.Object) {
		id := kubetest.Labels(pod)["spark-exec-id"]
		s.mu.Lock()
		refuse := s.denied[id] || !s.registers
		if !refuse {
			s.known[id] = time.Now().UnixMilli()
		}
		s.mu.Unlock()
		if !refuse {
			profile, _ := strconv.Atoi(kubetest.Labels(pod)["spark-exec-resourceprofile-id"]) // no label: 0
			s.notify("executor.registered", object{"id": id, "host": kubetest.Text(pod, "status", "podIP"), "profile": profile,
				"registeredAt": time.Now().UnixMilli()})
		}
	}}
	k.Attach()
	return k
}

// launch starts a manager in this process and opens and starts the session.
func (s *spark) launch(target int) {
	s.t.Helper()
	toManager, out := io.Pipe()
	in, fromManager := io.Pipe()
	ended := make(chan struct{})
	s.mu.Lock()
	s.pipe, s.peer, s.ended = out, bridgetest.NewPeer(out), ended
	s.starts++
	s.mu.Unlock()
	env := executor.Env{Getenv: func(string) (string, bool) { return "", false }, PID: 42, Version: "test", Hostname: "driver",
		Turn: func() { s.turns.Add(1) },
		Connect: func(o kube.Options) (*rest.Config, error) {
			if s.realLogin {
				cfg, err := kube.Config(o)
				if err == nil {
					cfg.Transport = s.server.Config().Transport
				}
				return cfg, err
			}
			cfg := s.server.Config()
			cfg.UserAgent = o.UserAgent
			kube.Wrap(cfg, o.RequestTimeout)
			return cfg, nil
		}}
	go func() {
		defer close(ended)
		serve(context.Background(), toManager, fromManager, bridge.NewLogHandler(io.Discard), env)
		_ = toManager.Close()
		_ = fromManager.Close()
	}()
	go s.read(in)
	s.open(target)
}

// open sends session.open and session.start, with what survives a restart.
func (s *spark) open(target int) {
	s.t.Helper()
	s.mu.Lock()
	var resume any
	if s.starts > 1 {
		executors := object{}
		for id, at := range s.known {
			executors[id] = at
		}
		reported := []string{}
		for _, r := range s.removed {
			reported = append(reported, r["id"].(string))
		}
		resume = object{"totals": s.totals, "profiles": append([]any{profile()}, s.profiles...), "nextId": s.next, "executors": executors,
			"reported": reported, "denied": slices.Sorted(maps.Keys(s.denied)), "failures": s.failures, "podsCreated": s.created > 0}
	} else {
		s.totals["0"] = target
	}
	s.mu.Unlock()
	params := object{"protocol": 1, "sparkVersion": "4.2.0", "appId": appID, "namespace": ns,
		"deployMode": "cluster", "apiServer": s.apiServer, "authPrefix": "spark.kubernetes.authenticate.driver.mounted",
		"driverPodName": "driver", "podNamePrefix": prefix, "configMapName": "spark-exec-1-conf-map", "userName": "spark",
		"conf": s.conf, "resume": resume}
	maps.Copy(params, s.session)
	if s.failed("session.open", s.call("session.open", params)) {
		return
	}
	if s.onlyOpen {
		return
	}
	if s.failed("session.start", s.call("session.start", object{"conf": s.conf, "defaultProfile": profile(), "initialTarget": target})) {
		return
	}
	s.mu.Lock()
	journal := slices.Sorted(maps.Keys(s.journal))
	s.mu.Unlock()
	for _, seq := range journal {
		s.mu.Lock()
		msg := maps.Clone(s.journal[seq])
		s.mu.Unlock()
		if msg != nil { // done by now
			s.send(msg)
		}
	}
}

// failed takes an answer and says whether it is a refusal that the test expects.
func (s *spark) failed(method string, answer object) bool {
	s.t.Helper()
	if answer["error"] == nil {
		return false
	}
	if !s.mayFail {
		s.t.Fatalf("%s: %v", method, answer["error"])
	}
	s.refused, _ = answer["error"].(object)
	return true
}

// refusal is the text that ended the start of the session.
func (s *spark) refusal() string {
	text, _ := s.refused["message"].(string)
	return text
}

func profileOf(id int) object {
	p := profile()
	p["id"] = id
	return p
}

// wants sets the totals of several resource profiles, the first time with their descriptions.
func (s *spark) wants(totals map[int]int) {
	params := object{}
	s.mu.Lock()
	for id, n := range totals {
		s.totals[strconv.Itoa(id)] = n
		params[strconv.Itoa(id)] = n
	}
	if s.profiles == nil {
		for _, id := range slices.Sorted(maps.Keys(totals)) {
			if id != 0 {
				s.profiles = append(s.profiles, profileOf(id))
			}
		}
	}
	profiles := slices.Clone(s.profiles)
	s.mu.Unlock()
	s.command("targets.set", object{"totals": params, "profiles": profiles})
}

// register tells the manager that executors registered.
func (s *spark) register(ids ...int) {
	for _, id := range ids {
		at := time.Now().UnixMilli()
		s.mu.Lock()
		s.known[strconv.Itoa(id)] = at
		s.mu.Unlock()
		s.notify("executor.registered", object{"id": strconv.Itoa(id), "host": fmt.Sprint("h", id), "profile": 0, "registeredAt": at})
	}
}

// forget tells the manager that Spark removed executors.
func (s *spark) forget(reason string, ids ...int) {
	for _, id := range ids {
		s.mu.Lock()
		delete(s.known, strconv.Itoa(id))
		s.mu.Unlock()
		s.notify("executor.removed", object{"id": strconv.Itoa(id), "reason": reason})
	}
}

// run makes pods run.
func (s *spark) run(ids ...int) {
	for _, id := range ids {
		s.server.Update("pods", ns, podName(id), func(o kubetest.Object) {
			st := o["status"].(kubetest.Object)
			st["phase"] = "Running"
			st["containerStatuses"] = kubetest.Statuses(o, kubetest.Object{"running": kubetest.Object{}})
		})
	}
}

func profile() object {
	return object{"id": 0, "executorResources": object{"cores": object{"amount": 1, "vendor": "", "discoveryScript": ""},
		"memory": object{"amount": 1024, "vendor": "", "discoveryScript": ""}}, "taskResources": object{"cpus": object{"amount": 1.0}}}
}

// crash ends the manager as a closed pipe does; the session's state stays.
func (s *spark) crash() {
	s.mu.Lock()
	pipe, ended := s.pipe, s.ended
	s.mu.Unlock()
	_ = pipe.Close() // the only error is that it is closed already
	<-ended
}

func (s *spark) send(msg object) {
	_ = s.end().Send(msg) // a manager that is gone is what some tests want
}

func (s *spark) end() *bridgetest.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peer
}

func (s *spark) notify(method string, params object) {
	s.send(object{"method": method, "params": params})
}

// command sends a notification that stays in the journal until the manager names it done.
func (s *spark) command(method string, params object) {
	s.mu.Lock()
	s.seq++
	params["seq"] = s.seq
	msg := object{"method": method, "params": params}
	s.journal[s.seq] = msg
	s.mu.Unlock()
	s.send(maps.Clone(msg))
}

func (s *spark) target(n int) {
	s.mu.Lock()
	s.totals["0"] = n
	s.mu.Unlock()
	s.command("targets.set", object{"totals": object{"0": n}, "profiles": []any{}})
}

func (s *spark) call(method string, params object) object {
	answer, err := s.end().Call(method, params, 2*time.Minute)
	if err != nil {
		s.t.Error(err)
		return object{"error": err.Error()}
	}
	return answer
}

// read takes what one manager says until it is gone.
func (s *spark) read(in io.Reader) {
	if err := s.end().Read(in, handler{s}); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		s.t.Error(err)
	}
}

// handler answers the manager.
type handler struct{ *spark }

func (h handler) Request(method string, params object) (object, func()) {
	s := h.spark
	s.idle()
	if s.answers > 0 && method == "executors.deny" {
		time.Sleep(s.answers)
	}
	result := s.request(method, params)
	if method != "executor.remove" {
		return result, nil
	}
	return result, func() { s.notify("executor.removed", object{"id": params["id"], "reason": "exited"}) }
}

func (h handler) Notified(method string, params object) {
	h.idle()
	h.notified(method, params)
}

// idle waits while the driver does nothing.
func (s *spark) idle() {
	s.pause <- struct{}{}
	<-s.pause
}

func (s *spark) request(method string, params object) object {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch method {
	case "ids.reserve":
		from := s.next
		s.next += int(params["n"].(float64))
		return object{"from": from, "to": s.next - 1}
	case "executor.remove":
		s.removed = append(s.removed, params)
		delete(s.known, params["id"].(string))
		if params["countsAsFailure"] == true {
			s.failures = append(s.failures, int64(params["at"].(float64)))
		}
		return object{}
	case "executors.deny":
		registered := []string{}
		for _, id := range params["ids"].([]any) {
			id := id.(string)
			if _, ok := s.known[id]; ok {
				registered = append(registered, id)
				continue
			}
			s.denied[id] = true
		}
		return object{"registered": registered}
	case "pod.build":
		return s.steps(params)
	case "executors.list":
		s.lists++
		return object{"ids": maps.Clone(s.known), "active": slices.Sorted(maps.Keys(s.known))}
	}
	s.t.Errorf("unexpected request %s", method)
	return object{}
}

func (s *spark) notified(method string, params object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch method {
	case "log":
		s.log = append(s.log, fmt.Sprintf("%s %s", params["level"], params["text"]))
	case "app.exit":
		s.exits = append(s.exits, params)
	case "command.done":
		delete(s.journal, int(params["seq"].(float64)))
	case "executors.allow":
		for _, id := range params["ids"].([]any) {
			delete(s.denied, id.(string))
		}
	case "pods.created":
		s.created++
	case "metrics":
	default:
		s.t.Errorf("unexpected notification %s", method)
	}
}

// executors lists the executor pods that are there, by id.
func (s *spark) executors() map[int]kubetest.Object {
	out := map[int]kubetest.Object{}
	for _, p := range s.server.List("pods") {
		if l := kubetest.Labels(p); l["spark-role"] == "executor" {
			id, err := strconv.Atoi(l["spark-exec-id"])
			if err != nil || out[id] != nil {
				s.t.Errorf("pod %s: executor id %q is bad or doubled", kubetest.Text(p, "metadata", "name"), l["spark-exec-id"])
			}
			out[id] = p
		}
	}
	return out
}

func (s *spark) ids() []int { return slices.Sorted(maps.Keys(s.executors())) }

func (s *spark) removals() []object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.removed)
}

func (s *spark) logged(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, l := range s.log {
		if strings.Contains(l, text) {
			n++
		}
	}
	return n
}

func (s *spark) registered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.known)
}

// name is an executor id as Spark writes it.
func (s *spark) name(id int) string { return strconv.Itoa(id) }

func podName(id int) string { return fmt.Sprintf("%s-exec-%d", prefix, id) }

// stop ends the session as Spark does.
func (s *spark) stop() int {
	got := s.call("session.stop", object{"deadlineMs": 20000})
	result, _ := got["result"].(object)
	left, ok := result["left"].(float64)
	if !ok {
		s.t.Errorf("session.stop: %v", got)
	}
	return int(left)
}

func (s *spark) dump() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, l := range s.log {
		if !strings.HasPrefix(l, "DEBUG") {
			b.WriteString("  " + l + "\n")
		}
	}
	return b.String()
}
