// Package sets decides what StatefulSets and Deployments an application's executors live in: which to create, how many
// replicas each has, and which pods carry a deletion cost before their set shrinks. Allocator is a state machine without
// I/O: targets, ids and outcomes come in, Round returns the calls wanted now. Its owner (internal/executor) makes the calls
// and tells how they ended. Body makes the object to post.
//
// Spark lowers a target before it kills idle executors, and a controller that is scaled down at once kills others that
// still work. So replicas never fall below the executors that Spark has not released (K4).
//
// It answers to Spark's StatefulSetPodsAllocator and DeploymentPodsAllocator.
package sets

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is a kind of set. What differs between the two is data.
type Kind struct {
	Object   string // StatefulSet, Deployment
	Resource string // in URLs and roles
	prefix   string // of the names of sets
	ordinals bool   // pods are numbered, and the highest go first
}

// The two kinds.
var (
	StatefulSet = Kind{Object: "StatefulSet", Resource: "statefulsets", prefix: "spark-s-", ordinals: true}
	Deployment  = Kind{Object: "Deployment", Resource: "deployments", prefix: "spark-d-"}
)

// Settings are the configuration that the decisions depend on.
type Settings struct {
	Kind  Kind
	AppID string
	Cost  *int // spark.kubernetes.executor.podDeletionCost, nil: unset
	Stock bool // scale down as soon as the target falls
}

// Line is one line for the driver's log.
type Line struct{ Level, Text string }

// Change is a set to create or to scale.
type Change struct {
	Profile  int
	Name     string
	Replicas int
}

// Cost is a deletion cost to write on a pod.
type Cost struct {
	Pod   string
	Value int
}

// Actions are the calls that a round wants, and when the next round is due.
type Actions struct {
	Log     []Line
	Creates []Change
	Scales  []Change
	Costs   []Cost
	Next    time.Time // zero: nothing is due by itself
}

func (a *Actions) due(t time.Time) {
	if a.Next.IsZero() || t.Before(a.Next) {
		a.Next = t
	}
}

// pause is the back-off of one call.
type pause struct {
	busy  bool
	tries int
	until time.Time
}

const pauseMax = time.Minute

func (p *pause) open(act *Actions, now time.Time) bool {
	if p.busy {
		return false
	}
	if now.Before(p.until) {
		act.due(p.until)
		return false
	}
	p.busy = true
	return true
}

func (p *pause) ended(ok bool, retryAfter time.Duration, now time.Time) {
	p.busy = false
	if ok {
		p.tries, p.until = 0, time.Time{}
		return
	}
	p.until = now.Add(max(min(pauseMax, retryAfter), min(pauseMax, time.Second<<min(p.tries, 6))))
	p.tries++
}

type profileSet struct {
	name     string
	made     bool
	replicas int
	call     pause
	said     string // which ordinals wait, as last logged
}

type cost struct {
	value int
	id    int64 // the executor that was released; 0 when the cost is taken back
	done  bool
	call  pause
}

// Allocator holds the books. It belongs to one goroutine.
type Allocator struct {
	set        Settings
	sets       map[int]*profileSet
	current    map[string]int64 // executor id by pod name: one each (K5)
	names      map[int64]string
	unlabelled map[int64]bool // the pod does not carry the id yet
	costs      map[string]*cost

	anyMade  bool
	refusals int
	refusal  string
}

// New makes an allocator.
func New(set Settings) *Allocator {
	return &Allocator{set: set, sets: map[int]*profileSet{}, current: map[string]int64{}, names: map[int64]string{},
		unlabelled: map[int64]bool{}, costs: map[string]*cost{}}
}

// AnyMade tells that a set of the application was made once: no refusal ends it any more.
func (a *Allocator) AnyMade() { a.anyMade = true }

// EverMade says whether a set of the application is known to have been made.
func (a *Allocator) EverMade() bool { return a.anyMade }

// Name is the name of a profile's set.
func (a *Allocator) Name(profile int) string {
	return a.set.Kind.prefix + a.set.AppID + "-" + strconv.Itoa(profile)
}

// Mine says whether a pod's name is one that a set of this application gives.
func (a *Allocator) Mine(pod string) bool {
	return strings.HasPrefix(pod, a.set.Kind.prefix+a.set.AppID+"-")
}

// PodOf is the pod of an executor, empty when nothing was heard of it.
func (a *Allocator) PodOf(id int64) string { return a.names[id] }

// Unlabelled says whether the executor was given its id and its pod does not show it yet.
func (a *Allocator) Unlabelled(id int64) bool { return a.unlabelled[id] }

// Assigned tells that the executor in a pod was given an id. An older one of that pod is over.
func (a *Allocator) Assigned(pod string, id int64) {
	a.place(pod, id)
	a.unlabelled[id] = true
}

// Labelled tells that the pod shows the id, or is gone.
func (a *Allocator) Labelled(id int64) { delete(a.unlabelled, id) }

// Seen tells which id a pod carries in the cluster. It says false for news that is out of date: the pod was given a newer
// id meanwhile.
func (a *Allocator) Seen(pod string, id int64) bool {
	if a.current[pod] > id {
		return false
	}
	a.place(pod, id)
	delete(a.unlabelled, id)
	return true
}

func (a *Allocator) place(pod string, id int64) {
	if old, ok := a.current[pod]; ok && old != id {
		delete(a.names, old)
		delete(a.unlabelled, old)
	}
	a.current[pod], a.names[id] = id, pod
}

// Gone tells that a pod does not exist any more.
func (a *Allocator) Gone(pod string, id int64) {
	if a.current[pod] == id {
		delete(a.current, pod)
	}
	delete(a.names, id)
	delete(a.unlabelled, id)
	delete(a.costs, pod)
}

// Registered tells that an executor registered: a pod whose earlier executor was released has work again and loses its
// deletion cost.
func (a *Allocator) Registered(id int64) {
	if c := a.costs[a.names[id]]; c != nil && c.id != id && c.value != 0 {
		*c = cost{}
	}
}

// Release tells that Spark kills or decommissions executors. Their pods get the deletion cost, so that the controller
// takes them first.
func (a *Allocator) Release(ids []int64) (log []Line) {
	if a.set.Kind.ordinals || a.set.Cost == nil {
		return nil
	}
	var texts []string
	for _, id := range slices.Sorted(slices.Values(ids)) {
		if pod := a.names[id]; pod != "" && (a.costs[pod] == nil || a.costs[pod].id != id) {
			a.costs[pod] = &cost{value: *a.set.Cost, id: id}
			texts = append(texts, strconv.FormatInt(id, 10))
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return []Line{{"INFO", fmt.Sprintf("Annotating executor pod(s) %s with deletion cost %d", strings.Join(texts, ","), *a.set.Cost)}}
}

// Made lists the sets that exist, for the stop.
func (a *Allocator) Made() []string {
	var out []string
	for _, rp := range slices.Sorted(maps.Keys(a.sets)) {
		if s := a.sets[rp]; s.made || s.call.busy {
			out = append(out, s.name)
		}
	}
	return out
}
