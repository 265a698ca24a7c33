package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kubespark/kubespark/internal/fidelity"
)

// server is an API server that accepts everything and keeps what was written.
type server struct {
	http *http.Server
	addr string

	mu       sync.Mutex
	requests []fidelity.Request
	last     time.Time                 // of the last request that was kept
	objects  map[string]map[string]any // by path
	uid      int
	closed   chan struct{}
}

// listen starts a server on a free loopback port.
func listen() (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{addr: l.Addr().String(), objects: map[string]map[string]any{}, closed: make(chan struct{})}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(l) }() // ends with close
	return s, nil
}

func (s *server) close() error {
	close(s.closed)
	return s.http.Close()
}

// written returns what was written so far, and how long ago the last of it came.
func (s *server) written() ([]fidelity.Request, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]fidelity.Request(nil), s.requests...), time.Since(s.last)
}

// ServeHTTP answers like a real server that refuses nothing.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/version":
		reply(w, http.StatusOK, map[string]any{"major": "1", "minor": "33", "gitVersion": "v1.33.0"})
	case r.Method == http.MethodGet:
		s.read(w, r)
	case r.Method == http.MethodDelete:
		reply(w, http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	default:
		s.write(w, r)
	}
}

func (s *server) write(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	object := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &object)
	}
	if err != nil {
		reply(w, http.StatusBadRequest, failure(http.StatusBadRequest, err.Error()))
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, fidelity.Request{Method: r.Method, Path: r.URL.Path, Body: text})
	s.last = time.Now()
	s.uid++
	meta, _ := object["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		object["metadata"] = meta
	}
	meta["uid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", s.uid)
	meta["resourceVersion"] = fmt.Sprint(s.uid)
	meta["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	path := r.URL.Path
	if r.Method == http.MethodPost {
		path += "/" + fmt.Sprint(meta["name"])
	}
	if object["kind"] == "Pod" {
		object["status"] = map[string]any{"phase": "Pending"}
	}
	s.objects[path] = object
	s.mu.Unlock()
	reply(w, http.StatusCreated, object)
}

// read answers a get, list or watch. A pod called driver always exists and is ready.
func (s *server) read(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") == "true" {
		s.watch(w, r)
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	at := 0
	for i, p := range parts {
		if p == "namespaces" {
			at = i
		}
	}
	if at == 0 || len(parts) < at+3 {
		reply(w, http.StatusNotFound, failure(http.StatusNotFound, "not found"))
		return
	}
	if len(parts) == at+3 {
		s.list(w, r)
		return
	}
	s.mu.Lock()
	object, ok := s.objects[r.URL.Path]
	s.mu.Unlock()
	switch {
	case ok:
		reply(w, http.StatusOK, object)
	case strings.HasSuffix(r.URL.Path, "/pods/driver"):
		reply(w, http.StatusOK, driverPod())
	default:
		reply(w, http.StatusNotFound, failure(http.StatusNotFound, r.URL.Path+" not found"))
	}
}

func (s *server) list(w http.ResponseWriter, r *http.Request) {
	items := []any{}
	if strings.Contains(r.URL.Query().Get("fieldSelector"), "metadata.name=driver") {
		items = append(items, driverPod())
	} else {
		s.mu.Lock()
		for path, o := range s.objects {
			if strings.HasPrefix(path, r.URL.Path+"/") {
				items = append(items, o)
			}
		}
		s.mu.Unlock()
	}
	kind := "List"
	if strings.HasSuffix(r.URL.Path, "/pods") {
		kind = "PodList"
	}
	reply(w, http.StatusOK, map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"resourceVersion": "1"}, "items": items})
}

// watch reports nothing until the client leaves; only the driver pod is told at once.
func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "" { // the client then watches over plain HTTP
		reply(w, http.StatusOK, map[string]any{})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	if strings.Contains(r.URL.Query().Get("fieldSelector"), "metadata.name=driver") {
		if err := json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": driverPod()}); err != nil {
			return
		}
	}
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	select {
	case <-r.Context().Done():
	case <-s.closed:
	}
}

// driverPod is the pod that executors of a driver called "driver" belong to.
func driverPod() map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "driver", "namespace": "default", "uid": "11111111-2222-4333-8444-555555555555", "resourceVersion": "1"},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}},
		"status": map[string]any{"phase": "Running", "podIP": "127.0.0.1",
			"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	}
}

func failure(code int, text string) map[string]any {
	return map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": text}
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // a client that left needs no answer
}
