// Package kubetest has test helpers: a small API server in memory that behaves like Kubernetes where Spark's cluster manager
// looks, and a fake kubelet that gives pods a life. Server keeps objects as JSON trees with real resourceVersions, serves
// list (paged), watch (with bookmarks and 410), get, create, patch, update, delete and delete-collection, records every call, and
// fails calls on request. It runs over a TCP port (Start) or inside a process without any socket (Config), the latter also
// in a synctest bubble.
package kubetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// Object is one stored object as JSON.
type Object = map[string]any

// Call is one request that the server got.
type Call struct {
	At        time.Time
	Verb      string // create, get, list, watch, patch, update, delete, deletecollection
	Resource  string
	Namespace string
	Name      string
	Query     string
	Agent     string
	Body      string
	Status    int // of the answer; 0 while it is open
}

// Fault makes matching calls fail. Empty fields match anything.
type Fault struct {
	Verb, Resource, Name string
	Times                int           // how many calls; 0: every one
	Status               int           // answer of this HTTP status; 0: see Drop and Delay
	Reason, Message      string        // of the Status object
	RetryAfter           int           // seconds
	Delay                time.Duration // wait first
	Drop                 bool          // do what was asked, but break the connection instead of answering
	Hang                 bool          // never answer
}

// Server is the API server. All methods are safe for concurrent use.
type Server struct {
	mu        sync.Mutex
	objects   map[string]map[string]Object // resource → namespace/name → object
	version   uint64
	oldest    uint64 // watches from before answer 410
	uids      int
	log       []event
	watchers  map[*watcher]bool
	calls     []*Call
	faults    []*Fault
	bookmark  time.Duration
	hooks     []func(verb, resource string, obj Object)
	keepCalls bool
	authorize func(token string) bool
	Grace     bool // deleted pods get a deletionTimestamp and wait for Finalize (the kubelet) instead of vanishing
}

type event struct {
	version  uint64
	kind     string // ADDED, MODIFIED, DELETED
	resource string
	object   Object
	previous Object
}

type watcher struct {
	wake chan struct{}
	drop chan struct{}
	gone chan struct{} // answers 410

	bookmark time.Duration
}

// New returns an empty server.
func New() *Server {
	return &Server{objects: map[string]map[string]Object{}, version: 100, watchers: map[*watcher]bool{},
		bookmark: time.Minute, keepCalls: true}
}

// Start serves on a loopback port until the test ends and returns the URL.
func (s *Server) Start(t testing.TB) string {
	t.Helper()
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.DropWatches()
		h.CloseClientConnections()
		h.Close()
	})
	return h.URL
}

// Config returns a client configuration that calls the server inside the process.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: "http://kubetest", Transport: transport{s}, QPS: -1, UserAgent: "kubetest"}
}

// SetBookmarks changes how often watches get a bookmark (default: a minute).
func (s *Server) SetBookmarks(every time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bookmark = every
}

// OnChange adds a function that is told of each create, update and delete, after it happened. It runs on the goroutine of
// the request and may change objects.
func (s *Server) OnChange(f func(verb, resource string, obj Object)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = append(s.hooks, f)
}

// KeepCalls says whether requests are recorded (they are until told otherwise).
func (s *Server) KeepCalls(keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepCalls, s.calls = keep, nil
}

// Fail adds a fault.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Authorize makes the server ask for bearer tokens: 401 unless ok says yes.
func (s *Server) Authorize(ok func(token string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.authorize = ok
}

// Heal removes all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// DropWatches breaks every open watch.
func (s *Server) DropWatches() { s.signal(func(w *watcher) { close(w.drop) }) }

// ExpireWatches forgets all history: open watches get a 410 event, and watches from an older version answer 410.
func (s *Server) ExpireWatches() {
	s.mu.Lock()
	s.version++
	s.oldest = s.version
	s.log = nil
	s.mu.Unlock()
	s.signal(func(w *watcher) { close(w.gone) })
}

func (s *Server) signal(f func(*watcher)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		f(w)
		delete(s.watchers, w)
	}
}

// Calls returns the recorded calls, oldest first. Empty arguments match anything.
func (s *Server) Calls(verb, resource string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if (verb == "" || c.Verb == verb) && (resource == "" || c.Resource == resource) {
			out = append(out, *c)
		}
	}
	return out
}

// Put stores an object, creating or replacing it, and returns it as stored.
func (s *Server) Put(resource string, obj any) Object {
	tree := toTree(obj)
	s.mu.Lock()
	defer s.mu.Unlock()
	key := key(str(tree, "metadata", "namespace"), str(tree, "metadata", "name"))
	if old := s.objects[resource][key]; old != nil {
		meta(tree)["uid"] = meta(old)["uid"]
		return s.store("MODIFIED", resource, key, tree)
	}
	s.birth(tree)
	return s.store("ADDED", resource, key, tree)
}

// Get returns a copy of an object, nil when there is none.
func (s *Server) Get(resource, namespace, name string) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj := s.objects[resource][key(namespace, name)]
	if obj == nil {
		return nil
	}
	return clone(obj)
}

// List returns copies of all objects of a resource, by name.
func (s *Server) List(resource string) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Object
	for _, k := range s.keys(resource) {
		out = append(out, clone(s.objects[resource][k]))
	}
	return out
}

// Update changes an object in place and tells the watchers; it says whether the object exists.
func (s *Server) Update(resource, namespace, name string, f func(Object)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key(namespace, name)
	old := s.objects[resource][k]
	if old == nil {
		return false
	}
	obj := clone(old)
	f(obj)
	s.store("MODIFIED", resource, k, obj)
	return true
}

// Remove deletes an object at once, grace or not, and says whether it was there.
func (s *Server) Remove(resource, namespace, name string) bool {
	s.mu.Lock()
	k := key(namespace, name)
	obj := s.objects[resource][k]
	if obj != nil {
		s.erase(resource, k, clone(obj))
	}
	s.mu.Unlock()
	return obj != nil
}

func (s *Server) birth(obj Object) {
	s.uids++
	m := meta(obj)
	m["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", s.uids)
	if m["creationTimestamp"] == nil {
		m["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
}

func (s *Server) store(kind, resource, k string, obj Object) Object {
	if s.objects[resource] == nil {
		s.objects[resource] = map[string]Object{}
	}
	previous := s.objects[resource][k]
	s.version++
	meta(obj)["resourceVersion"] = strconv.FormatUint(s.version, 10)
	s.objects[resource][k] = obj
	s.publish(event{s.version, kind, resource, obj, previous})
	return clone(obj)
}

func (s *Server) erase(resource, k string, obj Object) {
	previous := s.objects[resource][k]
	delete(s.objects[resource], k)
	s.version++
	meta(obj)["resourceVersion"] = strconv.FormatUint(s.version, 10)
	s.publish(event{s.version, "DELETED", resource, obj, previous})
}

// maxLog bounds the history that watches can resume from.
const maxLog = 20_000

func (s *Server) publish(e event) {
	s.log = append(s.log, e)
	if len(s.log) > maxLog {
		s.log = slices.Clone(s.log[maxLog/2:])
		s.oldest = s.log[0].version - 1
	}
	for w := range s.watchers {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

func (s *Server) keys(resource string) []string {
	keys := make([]string, 0, len(s.objects[resource]))
	for k := range s.objects[resource] {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func key(namespace, name string) string { return namespace + "/" + name }

func toTree(obj any) Object {
	raw, err := json.Marshal(obj)
	if err != nil {
		panic(fmt.Sprintf("kubetest: %T cannot be coded: %v", obj, err))
	}
	tree := Object{}
	if err := json.Unmarshal(raw, &tree); err != nil {
		panic(fmt.Sprintf("kubetest: %T is no object: %v", obj, err))
	}
	return tree
}

func clone(obj Object) Object { return cloneValue(obj).(Object) }

func cloneValue(v any) any {
	switch v := v.(type) {
	case Object:
		out := make(Object, len(v))
		for k, x := range v {
			out[k] = cloneValue(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = cloneValue(x)
		}
		return out
	}
	return v
}

func meta(obj Object) Object {
	m, ok := obj["metadata"].(Object)
	if !ok {
		m = Object{}
		obj["metadata"] = m
	}
	return m
}

// Text returns the text at a path of an object, "" when it is not there.
func Text(obj Object, path ...string) string { return str(obj, path...) }
func str(obj Object, path ...string) string {
	var v any = obj
	for _, p := range path {
		m, ok := v.(Object)
		if !ok {
			return ""
		}
		v = m[p]
	}
	s, _ := v.(string)
	return s
}

// Labels returns an object's labels.
func Labels(obj Object) map[string]string {
	out := map[string]string{}
	m, _ := meta(obj)["labels"].(Object)
	for k, v := range m {
		out[k], _ = v.(string)
	}
	return out
}

func (s *Server) record(r *http.Request, t target, body []byte) *Call {
	c := &Call{At: time.Now(), Verb: t.verb, Resource: t.resource, Namespace: t.namespace, Name: t.name,
		Query: r.URL.RawQuery, Agent: r.UserAgent(), Body: string(body)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keepCalls {
		s.calls = append(s.calls, c)
	}
	return c
}

func (s *Server) fault(t target) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		if (f.Verb != "" && f.Verb != t.verb) || (f.Resource != "" && f.Resource != t.resource) ||
			(f.Name != "" && !strings.Contains(t.name, f.Name)) {
			continue
		}
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				s.faults = slices.Delete(s.faults, i, i+1)
			}
		}
		return f
	}
	return nil
}

func (s *Server) tell(verb, resource string, obj Object) {
	s.mu.Lock()
	hooks := slices.Clone(s.hooks)
	s.mu.Unlock()
	for _, h := range hooks {
		h(verb, resource, clone(obj))
	}
}
