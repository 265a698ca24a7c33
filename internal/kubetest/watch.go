package kubetest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// watch streams events from the version asked for. A pod that stops matching the selector leaves with DELETED, as on a real
// server.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, t target) {
	match, err := matcher(r)
	if err != nil {
		status(w, http.StatusBadRequest, "BadRequest", err.Error(), 0)
		return
	}
	q := r.URL.Query()
	from, _ := strconv.ParseUint(q.Get("resourceVersion"), 10, 64)
	me, backlog, from, ok := s.join(t, from)
	if !ok {
		status(w, http.StatusGone, "Expired", "too old resource version", 0)
		return
	}
	defer s.leave(me)
	out := stream{w: w, t: t, match: match, protobuf: t.resource == "pods" && wantsProtobuf(r)}
	w.Header().Set("Content-Type", "application/json")
	if out.protobuf {
		w.Header().Set("Content-Type", protobufType+";stream=watch")
	}
	w.WriteHeader(http.StatusOK)
	out.send(backlog)
	out.flush()
	ticker := time.NewTicker(me.bookmark)
	defer ticker.Stop()
	var end <-chan time.Time
	if n, _ := strconv.Atoi(q.Get("timeoutSeconds")); n > 0 {
		timer := time.NewTimer(time.Duration(n) * time.Second)
		defer timer.Stop()
		end = timer.C
	}
	bookmarks := q.Get("allowWatchBookmarks") == "true"
	for {
		var events []event
		events, from = s.since(from)
		out.send(events)
		out.flush()
		select {
		case <-me.wake:
		case <-ticker.C:
			if bookmarks {
				out.bookmark(from)
			}
		case <-end:
			return
		case <-r.Context().Done():
			return
		case <-me.drop:
			panic(http.ErrAbortHandler)
		case <-me.gone:
			out.write("ERROR", statusObject(http.StatusGone, "Expired", "too old resource version"))
			return
		}
	}
}

// join adds a watcher. Without a version it begins with all objects that are there; ok is false when the version is too
// old.
func (s *Server) join(t target, from uint64) (me *watcher, backlog []event, version uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from != 0 && from < s.oldest {
		return nil, nil, 0, false
	}
	me = &watcher{wake: make(chan struct{}, 1), drop: make(chan struct{}), gone: make(chan struct{}), bookmark: s.bookmark}
	s.watchers[me] = true
	if from == 0 {
		from = s.version
		for _, k := range s.keys(t.resource) {
			backlog = append(backlog, event{s.version, "ADDED", t.resource, s.objects[t.resource][k], nil})
		}
	}
	return me, backlog, from, true
}

func (s *Server) leave(me *watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.watchers, me)
}

func (s *Server) since(version uint64) ([]event, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := len(s.log)
	for i > 0 && s.log[i-1].version > version {
		i--
	}
	return s.log[i:len(s.log):len(s.log)], s.version
}

type stream struct {
	w        http.ResponseWriter
	t        target
	match    func(Object) bool
	protobuf bool
}

func (o stream) send(events []event) {
	for _, e := range events {
		if e.resource != o.t.resource || (o.t.namespace != "" && str(e.object, "metadata", "namespace") != o.t.namespace) {
			continue
		}
		now, before := o.match(e.object), e.previous != nil && o.match(e.previous)
		switch {
		case e.kind == "DELETED" && before:
			o.write("DELETED", e.object)
		case e.kind == "DELETED":
		case now && before:
			o.write("MODIFIED", e.object)
		case now:
			o.write("ADDED", e.object)
		case before:
			o.write("DELETED", e.object)
		}
	}
}

func (o stream) bookmark(version uint64) {
	o.write("BOOKMARK", Object{"kind": kindOf(o.t.resource), "apiVersion": apiVersion(o.t),
		"metadata": Object{"resourceVersion": strconv.FormatUint(version, 10)}})
	o.flush()
}

// unreadable is a frame that is no event.
var unreadable = []byte{0, 0, 0, 1, 0xff}

func (o stream) write(kind string, obj Object) {
	if o.protobuf {
		raw, ok := frame(kind, obj)
		if !ok {
			raw = unreadable
		}
		_, _ = o.w.Write(raw)
		return
	}
	raw, err := json.Marshal(Object{"type": kind, "object": obj})
	if err != nil {
		return
	}
	_, _ = o.w.Write(append(raw, '\n')) // a client that is gone ends the watch by its context
}

func (o stream) flush() {
	if f, ok := o.w.(http.Flusher); ok {
		f.Flush()
	}
}
