package kubetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// target is what a request is about.
type target struct {
	verb, group, resource, namespace, name string
}

func parse(r *http.Request) (target, bool) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var t target
	switch {
	case len(parts) >= 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) >= 3 && parts[0] == "apis":
		t.group, parts = parts[1], parts[3:]
	default:
		return t, false
	}
	if len(parts) >= 3 && parts[0] == "namespaces" {
		t.namespace, parts = parts[1], parts[2:]
	}
	if len(parts) == 0 {
		return t, false
	}
	t.resource = parts[0]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	t.verb = verb(r, t.name != "")
	return t, true
}

func verb(r *http.Request, one bool) string {
	switch r.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if one {
			return "delete"
		}
		return "deletecollection"
	case http.MethodGet:
		if one {
			return "get"
		}
		if w := r.URL.Query().Get("watch"); w == "true" || w == "1" {
			return "watch"
		}
		return "list"
	}
	return ""
}

// ServeHTTP answers one API call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if discovery(w, r) {
		return
	}
	t, ok := parse(r)
	if !ok {
		status(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource", 0)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	call := s.record(r, t, body)
	rec := &recorder{ResponseWriter: w, protobuf: wantsProtobuf(r)}
	defer func() {
		s.mu.Lock()
		call.Status = rec.status
		s.mu.Unlock()
	}()
	s.mu.Lock()
	authorize := s.authorize
	s.mu.Unlock()
	if authorize != nil && !authorize(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
		status(rec, http.StatusUnauthorized, "Unauthorized", "Unauthorized", 0)
		return
	}
	if f := s.fault(t); f != nil && !s.fail(rec, r, t, body, f) {
		return
	}
	s.serve(rec, r, t, body)
}

// fail applies a fault and says whether the call goes on.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, t target, body []byte, f *Fault) bool {
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-r.Context().Done():
			return false
		}
	}
	switch {
	case f.Hang:
		<-r.Context().Done()
		return false
	case f.Drop:
		s.serve(&recorder{ResponseWriter: discard{}}, r, t, body)
		panic(http.ErrAbortHandler)
	case f.Status != 0:
		status(w, f.Status, f.Reason, f.Message, f.RetryAfter)
		return false
	}
	return true
}

type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

type recorder struct {
	http.ResponseWriter
	status   int
	protobuf bool // is wanted
}

func (r *recorder) WriteHeader(code int) {
	r.status = code
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorder) Flush() {
	if f, ok := r.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, t target, body []byte) {
	switch t.verb {
	case "create":
		s.create(w, t, body)
	case "get":
		if obj := s.Get(t.resource, t.namespace, t.name); obj != nil {
			answer(w, http.StatusOK, obj)
			return
		}
		notFound(w, t)
	case "list":
		s.list(w, r, t)
	case "watch":
		s.watch(w, r, t)
	case "update", "patch":
		s.change(w, r, t, body)
	case "delete":
		s.remove(w, t, body)
	case "deletecollection":
		s.removeAll(w, r, t)
	default:
		status(w, http.StatusMethodNotAllowed, "MethodNotAllowed", "the server does not allow this method on the requested resource", 0)
	}
}

func (s *Server) create(w http.ResponseWriter, t target, body []byte) {
	obj := Object{}
	if err := json.Unmarshal(body, &obj); err != nil {
		status(w, http.StatusBadRequest, "BadRequest", err.Error(), 0)
		return
	}
	m := meta(obj)
	if ns, _ := m["namespace"].(string); ns == "" {
		m["namespace"] = t.namespace
	}
	name, _ := m["name"].(string)
	if gen, _ := m["generateName"].(string); name == "" && gen != "" {
		s.mu.Lock()
		name = fmt.Sprintf("%s%05d", gen, s.uids)
		s.mu.Unlock()
		m["name"] = name
	}
	if obj["kind"] == nil || obj["apiVersion"] == nil || name == "" {
		status(w, http.StatusBadRequest, "BadRequest", "kind, apiVersion and metadata.name are required", 0)
		return
	}
	if t.resource == "pods" && obj["status"] == nil {
		obj["status"] = Object{"phase": "Pending"}
	}
	s.mu.Lock()
	k := key(t.namespace, name)
	if s.objects[t.resource][k] != nil {
		s.mu.Unlock()
		status(w, http.StatusConflict, "AlreadyExists", fmt.Sprintf("%s %q already exists", t.resource, name), 0)
		return
	}
	s.birth(obj)
	stored := s.store("ADDED", t.resource, k, obj)
	s.mu.Unlock()
	answer(w, http.StatusCreated, stored)
	s.tell("create", t.resource, stored)
}

// merge is a JSON merge patch, which is also what strategic patches of labels and annotations do.
func merge(into, patch Object) {
	for k, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(into, k)
		case Object:
			child, ok := into[k].(Object)
			if !ok {
				child = Object{}
			}
			merge(child, v)
			into[k] = child
		default:
			into[k] = v
		}
	}
}

func (s *Server) change(w http.ResponseWriter, r *http.Request, t target, body []byte) {
	patch := Object{}
	if err := json.Unmarshal(body, &patch); err != nil {
		status(w, http.StatusBadRequest, "BadRequest", err.Error(), 0)
		return
	}
	apply := strings.Contains(r.Header.Get("Content-Type"), "apply-patch")
	s.mu.Lock()
	k := key(t.namespace, t.name)
	old := s.objects[t.resource][k]
	if old == nil && apply {
		meta(patch)["namespace"], meta(patch)["name"] = t.namespace, t.name
		s.birth(patch)
		stored := s.store("ADDED", t.resource, k, patch)
		s.mu.Unlock()
		answer(w, http.StatusCreated, stored)
		s.tell("create", t.resource, stored)
		return
	}
	if old == nil {
		s.mu.Unlock()
		notFound(w, t)
		return
	}
	obj := clone(old)
	if t.verb == "update" {
		for _, f := range []string{"uid", "creationTimestamp"} {
			meta(patch)[f] = meta(old)[f]
		}
		obj = patch
	} else {
		merge(obj, patch)
	}
	stored := s.store("MODIFIED", t.resource, k, obj)
	s.mu.Unlock()
	answer(w, http.StatusOK, stored)
	s.tell("update", t.resource, stored)
}

// matcher reads the label selector and the field selectors on name, namespace and phase.
func matcher(r *http.Request) (func(Object) bool, error) {
	q := r.URL.Query()
	sel, err := labels.Parse(q.Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for f := range strings.SplitSeq(q.Get("fieldSelector"), ",") {
		if k, v, ok := strings.Cut(f, "="); ok {
			fields[k] = strings.TrimPrefix(v, "=")
		}
	}
	return func(obj Object) bool {
		for k, v := range fields {
			if str(obj, strings.Split(k, ".")...) != v {
				return false
			}
		}
		return sel.Matches(labels.Set(Labels(obj)))
	}, nil
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, t target) {
	match, err := matcher(r)
	if err != nil {
		status(w, http.StatusBadRequest, "BadRequest", err.Error(), 0)
		return
	}
	q := r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit"))
	after := q.Get("continue")
	s.mu.Lock()
	items, next := []any{}, ""
	for _, k := range s.keys(t.resource) {
		obj := s.objects[t.resource][k]
		if k <= after || (t.namespace != "" && meta(obj)["namespace"] != t.namespace) || !match(obj) {
			continue
		}
		if limit > 0 && len(items) == limit {
			last := items[len(items)-1].(Object)
			next = key(str(last, "metadata", "namespace"), str(last, "metadata", "name"))
			break
		}
		items = append(items, obj)
	}
	m := Object{"resourceVersion": strconv.FormatUint(s.version, 10)}
	if next != "" {
		m["continue"] = next
	}
	raw, err := json.Marshal(Object{"kind": kindOf(t.resource) + "List", "apiVersion": apiVersion(t), "metadata": m, "items": items})
	s.mu.Unlock()
	if err != nil {
		status(w, http.StatusInternalServerError, "InternalError", err.Error(), 0)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(raw) // a client that is gone needs no answer
}

func kindOf(resource string) string {
	known := map[string]string{"pods": "Pod", "configmaps": "ConfigMap", "services": "Service", "secrets": "Secret",
		"persistentvolumeclaims": "PersistentVolumeClaim", "networkpolicies": "NetworkPolicy", "events": "Event"}
	return known[resource]
}

func apiVersion(t target) string {
	if t.group != "" {
		return t.group + "/v1"
	}
	return "v1"
}

func answer(w http.ResponseWriter, code int, obj Object) {
	if rec, ok := w.(*recorder); ok && rec.protobuf {
		if raw, ok := inProtobuf(obj); ok {
			w.Header().Set("Content-Type", protobufType)
			w.WriteHeader(code)
			_, _ = w.Write(raw) // a client that is gone needs no answer
			return
		}
	}
	raw, err := json.Marshal(obj)
	if err != nil {
		status(w, http.StatusInternalServerError, "InternalError", err.Error(), 0)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(raw) // a client that is gone needs no answer
}

func notFound(w http.ResponseWriter, t target) {
	status(w, http.StatusNotFound, "NotFound", fmt.Sprintf("%s %q not found", t.resource, t.name), 0)
}

func status(w http.ResponseWriter, code int, reason, message string, retryAfter int) {
	if retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	}
	answer(w, code, statusObject(code, reason, message))
}

func statusObject(code int, reason, message string) Object {
	return Object{"kind": "Status", "apiVersion": "v1", "metadata": Object{}, "status": "Failure", "reason": reason,
		"message": message, "code": code}
}
