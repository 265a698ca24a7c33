package simulation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// object is a JSON object.
type object = map[string]any

// request is one call of the manager.
type request struct {
	l        *life
	verb     string
	resource string
	name     string
	query    url.Values
	body     []byte
	key      string
	answer   chan answer
	id       int64 // of the executor whose pod it creates
	profile  int
}

type answer struct {
	response *http.Response
	err      error
}

func newRequest(l *life, r *http.Request, body []byte) *request {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/") // api/v1/namespaces/<ns>/<resource>[/<name>]
	q := &request{l: l, verb: r.Method, query: r.URL.Query(), body: body, answer: make(chan answer, 1)}
	if len(parts) > 4 {
		q.resource = parts[4]
	}
	if len(parts) > 5 {
		q.name = parts[5]
	}
	q.query.Del("timeoutSeconds") // random, and of no use here
	q.key = strings.Join([]string{q.verb, q.resource, q.name, q.query.Encode(), string(body)}, " ")
	if q.verb == http.MethodPost {
		q.readObject()
	}
	return q
}

func (q *request) readObject() {
	var w snapshot.Wire
	if json.Unmarshal(q.body, &w) != nil {
		return // refused when it is served
	}
	q.name = w.Metadata.Name
	if q.resource != "pods" {
		return
	}
	q.id, _ = strconv.ParseInt(w.Metadata.Labels[sparkpod.LabelExecutorID], 10, 64)
	q.profile, _ = strconv.Atoi(w.Metadata.Labels[sparkpod.LabelResourceProfile])
	q.key = fmt.Sprintf("%s pods %09d", q.verb, q.id)
}

func (q *request) String() string {
	text := strings.ToLower(q.verb) + " " + q.resource
	if q.name != "" {
		text += "/" + q.name
	}
	if v := q.query.Get("watch"); v != "" {
		text += " watch from " + q.query.Get("resourceVersion")
	}
	return text
}

func (q *request) isWatch() bool { return q.query.Get("watch") != "" }

// pod is a pod of the server. wire is replaced, never changed, so that the history can keep it.
type pod struct {
	wire    *snapshot.Wire
	name    string
	id      int64
	profile int
	maker   *life
	version uint64 // of its creation
	claims  []string
	node    *node
	process *process
	ending  bool // its node is busy with its end
	gone    bool
}

func (p *pod) phase() string  { return p.wire.Status.Phase }
func (p *pod) deleting() bool { return p.wire.Metadata.DeletionTimestamp != "" }
func (p *pod) ended() bool    { return p.phase() == "Failed" || p.phase() == "Succeeded" }

// change is one entry of the server's history.
type change struct {
	version uint64
	kind    string
	wire    *snapshot.Wire
	shown   bool // matches the executors' selector
	before  bool // matched it before
}

// server is the simulated API server.
type server struct {
	w       *world
	version uint64
	oldest  uint64 // watches from before it get a 410
	uids    int
	pods    map[string]*pod
	order   []string // names in the order of their creation
	others  map[string]object
	log     []change
	streams []*stream
}

func newServer(w *world) *server {
	return &server{w: w, version: 1000, oldest: 1000, pods: map[string]*pod{}, others: map[string]object{}}
}

// now is the server's clock, which may be off.
func (s *server) now() string { return time.Now().Add(s.w.plan.skew).UTC().Format(time.RFC3339) }

// arrived draws the fate of a request and lets it happen.
func (s *server) arrived(q *request) {
	s.w.judge.sent(q)
	fate := s.w.fate(q)
	s.w.note("manager %d asks: %s%s", q.l.number, q, fate.label())
	if fate == lostRequest {
		s.w.after(s.w.between(time.Second, 8*time.Second), "", func() {
			s.w.judge.carriedOut(q)
			q.reply(s.w, answer{err: errors.New("read tcp: connection reset by peer")})
		})
		return
	}
	s.w.after(s.w.lag(), "", func() {
		if s.w.manager != q.l && s.w.chance(0.5) {
			s.w.judge.carriedOut(q)
			return // it died with the request in its own buffers
		}
		a := s.serve(q, fate)
		s.w.judge.carriedOut(q)
		wait := s.w.lag()
		if fate == lostAnswer {
			a, wait = answer{err: errors.New("read tcp: connection reset by peer")}, s.w.between(time.Second, 8*time.Second)
		}
		s.w.after(wait, "", func() { q.reply(s.w, a) })
	})
}

func (q *request) reply(w *world, a answer) {
	if w.manager != q.l {
		return
	}
	code := 0
	if a.response != nil {
		code = a.response.StatusCode
	}
	w.note("answer to manager %d: %s: %d %v", q.l.number, q, code, a.err)
	q.answer <- a
}

func (s *server) serve(q *request, f fate) answer {
	switch f {
	case refusedDial:
		return answer{err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}}
	case throttled:
		return refuse(http.StatusTooManyRequests, "TooManyRequests", "too many requests", 1+s.w.rng.IntN(4))
	case brokenServer:
		return refuse(http.StatusInternalServerError, "InternalError", "etcdserver: leader changed", 0)
	case overQuota:
		return refuse(http.StatusForbidden, "Forbidden", `pods "x" is forbidden: exceeded quota: team, requested: pods=1, used: pods=5, limited: pods=5`, 0)
	case forbidden:
		return refuse(http.StatusForbidden, "Forbidden", q.resource+` is forbidden: User "spark" cannot do that`, 0)
	case gone:
		return refuse(http.StatusGone, "Expired", "too old resource version", 0)
	}
	switch {
	case q.isWatch():
		return s.watch(q)
	case q.resource == "pods":
		return s.servePods(q)
	}
	return s.serveOther(q)
}

func refuse(code int, reason, message string, after int) answer {
	a := jsonAnswer(code, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message})
	if after > 0 {
		a.response.Header.Set("Retry-After", strconv.Itoa(after))
	}
	return a
}

func jsonAnswer(code int, v any) answer {
	raw, err := json.Marshal(v)
	if err != nil {
		return answer{err: err}
	}
	return answer{response: &http.Response{StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(raw)), ContentLength: int64(len(raw))}}
}

func notFound(q *request) answer {
	return refuse(http.StatusNotFound, "NotFound", fmt.Sprintf("%s %q not found", q.resource, q.name), 0)
}

func (s *server) servePods(q *request) answer {
	switch {
	case q.verb == http.MethodPost:
		return s.create(q)
	case q.verb == http.MethodGet && q.name == "":
		return s.list(q)
	case q.verb == http.MethodDelete && q.name == "":
		for _, name := range slices.Clone(s.order) {
			s.w.cluster.delete(s.pods[name])
		}
		return jsonAnswer(200, object{"kind": "Status", "status": "Success"})
	case q.name == driverPod:
		return jsonAnswer(200, s.w.spark.pod())
	}
	p := s.pods[q.name]
	if p == nil {
		return notFound(q)
	}
	switch q.verb {
	case http.MethodDelete:
		return s.delete(q, p)
	case http.MethodPatch:
		var patch struct {
			Metadata struct{ Labels map[string]string }
		}
		if err := json.Unmarshal(q.body, &patch); err != nil {
			return refuse(http.StatusBadRequest, "BadRequest", err.Error(), 0)
		}
		s.update(p, func(w *snapshot.Wire) { maps.Copy(w.Metadata.Labels, patch.Metadata.Labels) })
	}
	return jsonAnswer(200, p.wire)
}

func (s *server) delete(q *request, p *pod) answer {
	var opts struct {
		Preconditions *struct{ UID string }
	}
	if err := json.Unmarshal(q.body, &opts); err != nil {
		return refuse(http.StatusBadRequest, "BadRequest", err.Error(), 0)
	}
	if opts.Preconditions != nil && opts.Preconditions.UID != p.wire.Metadata.UID {
		return refuse(http.StatusConflict, "Conflict", "the UID in the precondition does not match", 0)
	}
	s.w.cluster.delete(p)
	return jsonAnswer(200, object{"kind": "Status", "status": "Success"})
}

func (s *server) create(q *request) answer {
	if s.pods[q.name] != nil {
		return refuse(http.StatusConflict, "AlreadyExists", fmt.Sprintf("pods %q already exists", q.name), 0)
	}
	w := &snapshot.Wire{}
	var volumes struct {
		Spec struct {
			Volumes []struct {
				PersistentVolumeClaim struct{ ClaimName string }
			}
		}
	}
	if err := errors.Join(json.Unmarshal(q.body, w), json.Unmarshal(q.body, &volumes)); err != nil {
		return refuse(http.StatusBadRequest, "BadRequest", err.Error(), 0)
	}
	p := &pod{wire: w, name: q.name, id: q.id, profile: q.profile, maker: q.l}
	for _, v := range volumes.Spec.Volumes {
		if n := v.PersistentVolumeClaim.ClaimName; n != "" {
			p.claims = append(p.claims, n)
		}
	}
	s.uids++
	w.Metadata.UID = fmt.Sprintf("uid-%d", s.uids)
	w.Metadata.CreationTimestamp = s.now()
	w.Status.Phase = "Pending"
	s.version++
	w.Metadata.ResourceVersion = strconv.FormatUint(s.version, 10)
	p.version = s.version
	s.pods[p.name] = p
	s.order = append(s.order, p.name)
	s.w.note("created pod %s %s of manager %d", p.name, w.Metadata.UID, q.l.number)
	s.w.judge.created(p)
	s.publish(change{s.version, "ADDED", w, shown(w), false})
	s.w.cluster.adopt(p)
	return jsonAnswer(201, w)
}

// update changes a pod and tells the watches.
func (s *server) update(p *pod, f func(*snapshot.Wire)) {
	before := shown(p.wire)
	next := *p.wire
	next.Metadata.Labels = maps.Clone(next.Metadata.Labels)
	next.Status.Conditions = slices.Clone(next.Status.Conditions)
	next.Status.ContainerStatuses = slices.Clone(next.Status.ContainerStatuses)
	f(&next)
	s.version++
	next.Metadata.ResourceVersion = strconv.FormatUint(s.version, 10)
	old := p.wire
	p.wire = &next
	s.w.note("pod %s: %s %s%s", p.name, next.Status.Phase, next.Status.Reason, map[bool]string{true: " deleting"}[p.deleting()])
	c := change{s.version, "MODIFIED", p.wire, shown(p.wire), before}
	if !c.shown && c.before { // leaves the selection as it was, with the version of now
		last := *old
		last.Metadata.ResourceVersion = next.Metadata.ResourceVersion
		c.wire = &last
	}
	s.publish(c)
}

// erase ends the object.
func (s *server) erase(p *pod) {
	if p.gone {
		return
	}
	p.gone = true
	delete(s.pods, p.name)
	s.order = slices.DeleteFunc(s.order, func(n string) bool { return n == p.name })
	s.version++
	last := *p.wire
	last.Metadata.ResourceVersion = strconv.FormatUint(s.version, 10)
	p.wire = &last
	s.w.note("pod %s is gone", p.name)
	s.publish(change{s.version, "DELETED", p.wire, false, shown(p.wire)})
	s.collectClaims(p)
}

func shown(w *snapshot.Wire) bool { return w.Metadata.Labels[sparkpod.LabelInactive] != "true" }

func (s *server) list(q *request) answer {
	items, version := []*snapshot.Wire{}, s.version
	if q.query.Get("resourceVersion") == "0" && len(s.log) > 0 && s.w.stormy {
		items, version = s.past(len(s.log) - s.w.rng.IntN(min(len(s.log), 6)))
	} else {
		hidden := !strings.Contains(q.query.Get("labelSelector"), sparkpod.LabelInactive)
		for _, name := range s.order {
			if p := s.pods[name]; hidden || shown(p.wire) {
				items = append(items, p.wire)
			}
		}
		if q.l.adopted == 0 {
			q.l.adopted = s.version
		}
	}
	return jsonAnswer(200, object{"kind": "PodList", "apiVersion": "v1",
		"metadata": object{"resourceVersion": strconv.FormatUint(version, 10)}, "items": items})
}

// past is the list as a cache has it that has seen only the first n changes.
func (s *server) past(n int) ([]*snapshot.Wire, uint64) {
	at := map[string]*snapshot.Wire{}
	var names []string
	version := s.oldest
	for _, c := range s.log[:n] {
		name := c.wire.Metadata.Name
		if at[name] == nil {
			names = append(names, name)
		}
		at[name], version = nil, c.version
		if c.shown {
			at[name] = c.wire
		}
	}
	items := []*snapshot.Wire{}
	for _, name := range names {
		if at[name] != nil {
			items = append(items, at[name])
			at[name] = nil
		}
	}
	return items, version
}
