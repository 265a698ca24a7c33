package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubespark/kubespark/internal/executor"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

const (
	appID     = "spark-0123"
	driverPod = "driver"
	prefix    = "app"
	namespace = "spark"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// spark is the driver's JVM: Spark's own tables and what the shim keeps for the next manager (spec section 15).
type spark struct {
	w        *world
	conf     map[string]string
	next     int64
	known    map[int64]*executorOf
	ever     bool // an executor registered once
	created  bool // the manager said that it created a pod, or ever
	killed   map[int64]bool
	leaving  map[int64]bool // decommissioned
	ended    map[int64]bool // reported by the manager
	denied   map[int64]bool
	failures []time.Time
	totals   map[int]int
	profiles map[int]bool
	journal  []command
	seq      int64
	late     []func(*life) // facts since the state for the next manager was gathered
	attached *life
	restart  time.Duration
	exited   bool
	stopping bool
}

type executorOf struct {
	at      time.Time
	process *process
}

type command struct {
	seq  int64
	kind string
	send func(*life)
}

func newSpark(w *world) *spark {
	s := &spark{w: w, next: 1, known: map[int64]*executorOf{}, killed: map[int64]bool{}, leaving: map[int64]bool{},
		ended: map[int64]bool{}, denied: map[int64]bool{}, totals: map[int]int{0: w.plan.initial}, profiles: map[int]bool{0: true},
		restart: 100 * time.Millisecond}
	s.conf = map[string]string{"spark.app.name": "simulated", "spark.app.id": appID, "spark.kubernetes.container.image": "spark",
		"spark.kubernetes.namespace": namespace, "spark.driver.host": "driver-svc", "spark.driver.port": "7078"}
	maps.Copy(s.conf, w.plan.conf)
	return s
}

// pod is the driver's own.
func (s *spark) pod() object {
	ready := "False"
	if time.Since(s.w.began) >= s.w.plan.driverReady {
		ready = "True"
	}
	return object{"kind": "Pod", "apiVersion": "v1", "metadata": object{"name": driverPod, "uid": "uid-driver", "namespace": namespace},
		"status": object{"phase": "Running", "conditions": []any{object{"type": "Ready", "status": ready}}}}
}

// open sends session.open and, when it is answered, session.start and what the journal holds.
func (s *spark) open(l *life) {
	session := executor.Session{SparkVersion: "4.2.0", AppID: appID, Namespace: namespace, APIServer: "http://simulated",
		AuthPrefix: "spark.kubernetes.authenticate.driver.mounted", PodNamePrefix: prefix, ConfigMapName: "spark-exec-conf-map",
		UserName: "spark", Conf: s.conf}
	if s.w.plan.driver {
		session.DriverPodName = driverPod
	}
	s.attached, s.late = nil, nil
	if l.number > 1 {
		session.Resume = s.resume()
	}
	l.resume = session.Resume
	maps.Copy(l.targets, s.totals)
	if r := l.resume; r != nil {
		for id := range r.Executors {
			l.known[id] = true
		}
		for _, id := range r.Denied {
			l.denying[id] = true
		}
		for _, id := range r.Reported {
			l.reported[id] = true
		}
	}
	l.deliver("session.open", func() {
		l.m.Open(session, func(_ string, err error) {
			driver{l: l}.say(fmt.Sprintf("session.open is answered: %v", err), func() { s.opened(l, err) })
		})
	})
}

func (s *spark) opened(l *life, err error) {
	if err != nil {
		s.w.after(0, fmt.Sprintf("manager %d is of no use: %v", l.number, err), s.w.kill)
		return
	}
	if s.stopping {
		s.sendStop(l)
		return
	}
	l.deliver("session.start", func() {
		l.m.Start(s.conf, profileOf(0), s.w.plan.initial, func(err error) {
			driver{l: l}.say(fmt.Sprintf("session.start is answered: %v", err), func() {
				if err != nil {
					s.w.after(0, fmt.Sprintf("manager %d is of no use: %v", l.number, err), s.w.kill)
					return
				}
				l.started = true
				s.attach(l)
			})
		})
	})
}

func (s *spark) attach(l *life) {
	for _, c := range s.journal {
		c.send(l)
	}
	for _, f := range s.late {
		f(l)
	}
	s.late, s.attached = nil, l
	if s.stopping {
		s.sendStop(l)
	}
}

// detached is told when the manager died.
func (s *spark) detached() { s.attached = nil }

func (s *spark) resume() *executor.Resume {
	r := &executor.Resume{Totals: maps.Clone(s.totals), NextID: s.next, Executors: s.times(), Reported: sortedKeys(s.ended),
		Denied: sortedKeys(s.denied), Failures: slices.Clone(s.failures), PodsCreated: s.created}
	for _, id := range sortedKeys(s.profiles) {
		r.Profiles = append(r.Profiles, profileOf(id))
	}
	return r
}

func (s *spark) times() map[int64]time.Time {
	out := map[int64]time.Time{}
	for id, e := range s.known {
		out[id] = e.at
	}
	return out
}

func (s *spark) heard(m message) {
	s.w.note("manager %d says: %s", m.l.number, m.name)
	m.run()
}

// send keeps a command until it is done.
func (s *spark) send(kind string, f func(l *life, seq int64)) {
	s.seq++
	seq := s.seq
	if kind == "targets" {
		s.journal = slices.DeleteFunc(s.journal, func(c command) bool { return c.kind == kind })
	}
	c := command{seq, kind, func(l *life) { f(l, seq) }}
	s.journal = append(s.journal, c)
	if s.attached != nil {
		c.send(s.attached)
	}
}

func (s *spark) fact(f func(l *life)) {
	if s.attached != nil {
		f(s.attached)
	} else {
		s.late = append(s.late, f)
	}
}

func (s *spark) done(seq int64) {
	s.journal = slices.DeleteFunc(s.journal, func(c command) bool { return c.seq == seq })
}

// setTotals asks for executors.
func (s *spark) setTotals(totals map[int]int) {
	for rp, n := range totals {
		s.totals[rp], s.profiles[rp] = n, true
	}
	all := maps.Clone(s.totals)
	var profiles []sparkpod.Profile
	for _, rp := range sortedKeys(s.profiles) {
		profiles = append(profiles, profileOf(rp))
	}
	s.w.note("spark wants %v", all)
	s.send("targets", func(l *life, seq int64) {
		l.deliver(fmt.Sprintf("targets %v (%d)", all, seq), func() {
			maps.Copy(l.targets, all)
			l.m.SetTargets(seq, all, profiles)
		})
	})
}

// kill ends executors as doKillExecutors does.
func (s *spark) kill(ids []int64) {
	s.w.note("spark kills %v", ids)
	for _, id := range ids {
		s.killed[id] = true
		e := s.known[id]
		s.forget(id, true, "killed")
		if e != nil && e.process.alive && !e.process.deaf {
			s.w.after(s.w.between(100*time.Millisecond, 3*time.Second), "", func() { s.w.cluster.exit(e.process, 0, "Completed") })
		}
	}
	issued, grace := time.Now(), s.w.plan.grace
	s.send("kill", func(l *life, seq int64) {
		l.deliver(fmt.Sprintf("kill %v (%d)", ids, seq), func() { l.m.Kill(seq, ids, grace, issued) })
	})
}

// release decommissions executors.
func (s *spark) release(ids []int64) {
	s.w.note("spark decommissions %v", ids)
	for _, id := range ids {
		s.leaving[id] = true
		if e := s.known[id]; e != nil {
			s.w.after(s.w.between(time.Second, 20*time.Second), "", func() { s.w.cluster.exit(e.process, 0, "Completed") })
		}
	}
	s.send("release", func(l *life, seq int64) {
		l.deliver(fmt.Sprintf("release %v (%d)", ids, seq), func() { l.m.Release(seq, ids) })
	})
}

// forget takes an executor out of Spark's tables.
func (s *spark) forget(id int64, ours bool, why string) {
	if s.known[id] == nil {
		return
	}
	delete(s.known, id)
	s.w.note("spark forgets %d: %s", id, why)
	s.fact(func(l *life) {
		l.deliver(fmt.Sprintf("removed %d (%s)", id, why), func() {
			delete(l.known, id)
			l.m.Removed(id, ours)
		})
	})
}

// register is an executor's RegisterExecutor.
func (s *spark) register(x *process) {
	id := x.pod.id
	switch {
	case !x.alive || s.stopping:
	case s.denied[id] || s.known[id] != nil:
		s.w.note("executor %d is refused", id)
		s.w.cluster.exit(x, 1, "Error")
	default:
		s.known[id], s.ever, s.created = &executorOf{time.Now(), x}, true, true
		s.w.note("executor %d registers", id)
		at, profile, host := time.Now(), x.pod.profile, x.pod.node.name
		s.fact(func(l *life) {
			l.deliver(fmt.Sprintf("registered %d", id), func() {
				l.known[id] = true
				l.m.Registered(id, profile, host, at)
			})
		})
		if s.ended[id] { // killed as soon as it shows
			s.w.note("executor %d registers after its end was told", id)
		}
	}
}

// lost is told of a process that ended: the connection breaks after a while, or its heartbeats stay away.
func (s *spark) lost(x *process, after time.Duration) {
	id := x.pod.id
	s.w.after(after, "", func() {
		if e := s.known[id]; e == nil || e.process != x || s.stopping {
			return
		}
		if s.leaving[id] {
			s.forget(id, true, "decommissioned")
		}
		s.fact(func(l *life) {
			l.deliver(fmt.Sprintf("disconnected %d", id), func() { l.m.Disconnected(id) })
		})
	})
	s.w.after(after+2*time.Minute, "", func() {
		if e := s.known[id]; e != nil && e.process == x && !s.stopping {
			s.w.note("executor %d sends no heartbeats", id)
			s.kill([]int64{id})
		}
	})
}

// remove is executor.remove.
func (s *spark) remove(r executor.Removal) {
	if s.ended[r.ID] {
		return
	}
	s.ended[r.ID] = true
	if r.Counts {
		s.failures = append(s.failures, r.At)
	}
	s.w.after(s.w.between(time.Millisecond, 50*time.Millisecond), "", func() { s.forget(r.ID, false, "exited") })
}

func (s *spark) deny(ids []int64) (registered []int64) {
	for _, id := range ids {
		if s.known[id] != nil {
			registered = append(registered, id)
		} else {
			s.denied[id] = true
		}
	}
	return registered
}

func (s *spark) allow(ids []int64) {
	for _, id := range ids {
		delete(s.denied, id)
	}
}

func (s *spark) reserve(n int) (from, to int64) {
	from = s.next
	s.next += int64(n)
	return from, s.next - 1
}

// stop ends the application.
func (s *spark) stop() {
	s.w.note("spark stops")
	s.stopping = true
	for _, id := range sortedKeys(s.known) {
		if x := s.known[id].process; x.alive && !x.deaf {
			s.w.after(s.w.between(50*time.Millisecond, 3*time.Second), "", func() { s.w.cluster.exit(x, 0, "Completed") })
		}
	}
	if s.attached != nil {
		s.sendStop(s.attached)
	}
}

func (s *spark) sendStop(l *life) {
	l.deliver("session.stop", func() {
		l.stopped = true
		l.m.Stop(20*time.Second, func(left int) {
			driver{l: l}.say(fmt.Sprintf("session.stop is answered: %d left", left), func() { l.left = left })
		})
	})
}
