// Package executor is the cluster manager of one Spark application: it keeps as many executor pods as Spark wants, tells
// Spark why one was lost, and cleans up at the end. Manager assembles the rooms below it: sources bring news of pods into
// the snapshot store, the lifecycle manager decides what an ended pod means, the allocator decides what to create, and the
// methods of this package carry their decisions out. One goroutine (Run) owns all state; every call to the cluster or the
// driver runs elsewhere and comes back as a message.
//
// It answers to Spark's KubernetesClusterManager and to the Kubernetes half of KubernetesClusterSchedulerBackend.
package executor

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/executor/allocator"
	"github.com/kubespark/kubespark/internal/executor/api"
	"github.com/kubespark/kubespark/internal/executor/lifecycle"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/executor/source"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// The stock loggers whose lines the manager writes.
const (
	managerLogger   = "org.apache.spark.scheduler.cluster.k8s.KubernetesClusterManager"
	backendLogger   = "org.apache.spark.scheduler.cluster.k8s.KubernetesClusterSchedulerBackend"
	allocatorLogger = "org.apache.spark.scheduler.cluster.k8s.ExecutorPodsAllocator"
	lifecycleLogger = "org.apache.spark.scheduler.cluster.k8s.ExecutorPodsLifecycleManager"
)

// Removal is an executor that Spark must forget, and why.
type Removal = lifecycle.Removal

// Driver is what the manager says to the driver's JVM. Every method returns at once; done is called later, on any
// goroutine.
type Driver interface {
	Remove(r Removal, done func(error))
	Deny(ids []int64, done func(registered []int64, err error))
	Allow(ids []int64)
	Reserve(n int, done func(from, to int64, err error))
	PodsCreated() // said once a life: there is, or was, an executor pod
	List(done func(known map[int64]time.Time, err error))
	Exit(code int, text string)
	CommandDone(seq int64)
	Metrics(values map[string]float64)
	// Build runs the user's own feature steps on a pod.
	Build(b PodBuild, done func(PodBuilt, error))
}

// Env is what the manager takes from the process it runs in.
type Env struct {
	Getenv   func(string) (string, bool)
	Hostname string
	PID      int
	Version  string
	// Connect makes the client configuration; nil: kube.Config.
	Connect func(kube.Options) (*rest.Config, error)
	// Log writes a line into the driver's log under a logger's name. It must return at once.
	Log func(level, logger, text string)
	// Turn is called before the owner goroutine takes its messages and decides; nil: nothing. The simulation holds the
	// owner there until every other goroutine waits, so that one seed gives one order of messages.
	Turn func()
	// Rand gives the random share of pauses, from 0 to below 1; nil: math/rand.
	Rand func() float64
}

// Manager is the cluster manager of one application.
type Manager struct {
	env    Env
	driver Driver
	mail   *mailbox

	// Everything below belongs to the goroutine of Run.
	ctx       context.Context // the life of Run, for the effects it starts
	phase     phase
	deferred  []func() // messages that came before the session was started
	session   Session
	conf      *conf.Conf
	set       settings
	api       *api.Client
	anonymous bool // the client has nothing to log in with
	owner     *metav1.OwnerReference
	template  *sparkpod.Template
	files     map[string]string // of the configuration directory, for the ConfigMap
	conffile  []string          // their names, which pods mount

	driverClaims []string // claims that the driver pod mounts
	claimsEach   int      // claims that one executor needs
	userSteps    bool     // the user's own steps may want objects beside the pod

	reader    *snapshot.Reader
	store     *snapshot.Store
	facts     *snapshot.Queue
	lifecycle *lifecycle.Manager
	allocator *allocator.Allocator
	sets      *setMode // nil: the direct allocator
	profiles  map[int]sparkpod.Profile
	foreign   map[string]bool // UIDs of pods of an earlier life of the driver
	gate      bool            // the driver pod is Ready, or was waited for long enough
	ready     bool            // the driver pod is Ready
	began     bool            // something may have been written
	exited    bool            // the driver was told to end
	told      bool            // of the first executor pod
	dirty     bool            // the allocator has something to decide
	nextRound time.Time
	rounds    int64

	known      map[int64]time.Time
	registered snapshot.IDSet
	killed     snapshot.IDSet
	released   snapshot.IDSet
	strays     snapshot.IDSet // registered, and their pods hidden from lists
	kills      []kill
	nextLook   time.Time
	hosts      map[string]int64 // executor by address, to notice that one is used again
	checkAt    time.Time        // the next look at Spark's own table of executors
	books      claimBooks
	eventsOff  bool
	active     bool // something happened since the gauges were last looked at
	lastGauges map[string]float64
	gaugesAt   time.Time

	limit    chan struct{} // deletes and patches in flight
	creates  sync.WaitGroup
	stopMake context.CancelFunc
	makeCtx  context.Context // ends the creates in flight
	sources  sync.WaitGroup
	stopRead context.CancelFunc
	watch    *source.Watch
}

type phase int

const (
	fresh phase = iota
	opened
	running
	stopping
)

// New makes a manager that speaks to the driver.
func New(env Env, driver Driver) *Manager {
	return &Manager{env: env, driver: driver, mail: newMailbox(), store: snapshot.NewStore(),
		profiles: map[int]sparkpod.Profile{}, foreign: map[string]bool{}, known: map[int64]time.Time{}, hosts: map[string]int64{},
		limit: make(chan struct{}, 32)}
}

// Env returns what the manager was given of its process.
func (m *Manager) Env() Env { return m.env }

// Rounds is how many rounds the allocator made. Call it when Run has returned.
func (m *Manager) Rounds() int64 { return m.rounds }

// Run owns the state until ctx ends.
func (m *Manager) Run(ctx context.Context) {
	m.ctx = ctx
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.mail.wake:
		case <-timer.C:
		}
		if m.env.Turn != nil {
			m.env.Turn()
		}
		for _, f := range m.mail.take() {
			m.active = true
			f.run()
		}
		if m.phase == running {
			timer.Reset(m.step(time.Now()))
		}
	}
}

// step lets the lifecycle manager and the allocator decide what is due, and returns the time until something is due by
// itself.
func (m *Manager) step(now time.Time) time.Duration {
	next := now.Add(time.Minute)
	earliest := func(t time.Time) {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	if at, ok := m.lifecycle.Due(m.facts.HasFinal(), m.facts.Pending() || m.fullChanged()); ok {
		if !at.After(now) {
			m.guard(func() { m.runLifecycle(now) })
		} else {
			earliest(at)
		}
	}
	earliest(m.runKills(now))
	earliest(m.stepClaims(now))
	if m.gate && (m.dirty || (!m.nextRound.IsZero() && !m.nextRound.After(now))) {
		m.dirty = false
		m.nextRound = now.Add(time.Second) // if the round fails
		m.guard(func() { m.runAllocator(now) })
	}
	earliest(m.checkKnown(now))
	if m.gate { // while it is closed no round is due, whatever the last one said
		earliest(m.nextRound)
		if m.dirty {
			earliest(now)
		}
	}
	if !m.told && (m.allocator.EverCreated() || m.sets != nil && m.sets.EverMade()) {
		m.told = true
		m.driver.PodsCreated()
	}
	earliest(m.gauges(now))
	return max(time.Millisecond, next.Sub(now))
}

// guard keeps a mistake in one part from ending the manager: it is said, and the part's next run goes on (T3).
func (m *Manager) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			m.log("WARN", managerLogger, fmt.Sprintf("Exception when notifying snapshot subscriber. %v", p))
		}
	}()
	f()
}

func (m *Manager) log(level, logger, text string) { m.env.Log(level, logger, text) }

// post runs f on the owner goroutine.
func (m *Manager) post(f func()) { m.mail.post(f) }

// whenStarted runs f now, or once the session is started.
func (m *Manager) whenStarted(f func()) {
	m.post(func() {
		switch m.phase {
		case running:
			f()
		case fresh, opened:
			m.deferred = append(m.deferred, f)
		}
	})
}

// effect runs f on a goroutine of its own, at most as many at a time as the limit allows.
func (m *Manager) effect(f func(ctx context.Context)) {
	ctx := m.ctx
	go func() {
		select {
		case m.limit <- struct{}{}:
			defer func() { <-m.limit }()
			f(ctx)
		case <-ctx.Done():
		}
	}()
}

func (m *Manager) podName(id string) string {
	return sparkpod.ExecutorPodName(m.session.PodNamePrefix, id)
}

// gauges sends the counts at most every ten seconds, and only after something happened and changed them.
func (m *Manager) gauges(now time.Time) time.Time {
	if !m.active {
		return time.Time{}
	}
	if at := m.gaugesAt.Add(10 * time.Second); now.Before(at) {
		return at
	}
	m.active, m.gaugesAt = false, now
	values := map[string]float64{"pods.known": float64(len(m.known)), "creates.inFlight": float64(m.allocator.InFlight())}
	for state := snapshot.Unknown; state <= snapshot.Terminating; state++ {
		if n := m.store.Count(state); n > 0 {
			values["pods."+strings.ToLower(state.String())] = float64(n)
		}
	}
	for _, n := range m.allocator.Targets() {
		values["pods.target"] += float64(n)
	}
	if !maps.Equal(values, m.lastGauges) {
		m.lastGauges = values
		m.driver.Metrics(values)
	}
	return time.Time{}
}
