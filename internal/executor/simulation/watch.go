package simulation

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// stream is one open watch.
type stream struct {
	s        *server
	q        *request
	seen     uint64 // version up to which it has told everything
	pending  bool   // the next change is on its way
	closed   bool
	silent   bool // the connection is dead and nobody knows
	chunks   chan []byte
	ends     chan error
	done     chan struct{} // closed by the client
	doneOnce sync.Once
	rest     []byte
}

// Read is of the answer's body; it runs on the manager's goroutine.
func (t *stream) Read(b []byte) (int, error) {
	if len(t.rest) == 0 {
		select {
		case t.rest = <-t.chunks:
		default:
			select {
			case t.rest = <-t.chunks:
			case err := <-t.ends:
				return 0, err
			case <-t.done:
				return 0, errors.New("closed")
			}
		}
	}
	n := copy(b, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// Close is of the answer's body.
func (t *stream) Close() error {
	t.doneOnce.Do(func() { close(t.done) })
	return nil
}

func (s *server) watch(q *request) answer {
	from, err := strconv.ParseUint(q.query.Get("resourceVersion"), 10, 64)
	if err == nil && from < s.oldest {
		return refuse(http.StatusGone, "Expired", "too old resource version", 0)
	}
	t := &stream{s: s, q: q, seen: from, chunks: make(chan []byte, 256), ends: make(chan error, 1), done: make(chan struct{})}
	s.streams = append(s.streams, t)
	s.w.after(0, "", func() { // after the answer's own way
		if err != nil {
			t.seen = s.version
			for _, name := range s.order {
				if p := s.pods[name]; shown(p.wire) {
					t.send("ADDED", p.wire)
				}
			}
		}
		t.pump()
	})
	t.bookmark()
	if s.w.stormy && s.w.plan.watchLife > 0 {
		life := s.w.between(time.Second, 2*s.w.plan.watchLife)
		s.w.after(life, "", func() { s.w.breakWatch(t) })
	}
	s.w.after(5*time.Minute+s.w.between(0, 5*time.Minute), "", func() { t.end(io.EOF) })
	return answer{response: &http.Response{StatusCode: 200, Status: "OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: t, ContentLength: -1}}
}

func (t *stream) alive() bool { return !t.closed && t.s.w.manager == t.q.l }

// pump sends the next change after a while.
func (t *stream) pump() {
	if t.pending || t.silent || !t.alive() {
		return
	}
	next, ok := t.s.next(t.seen)
	if !ok {
		return
	}
	t.pending = true
	t.s.w.after(t.s.w.eventLag(), "", func() {
		t.pending = false
		if !t.alive() || t.silent {
			return
		}
		t.seen = next.version
		if !t.s.w.loseEvent() {
			switch {
			case next.kind == "DELETED" && next.before, next.before && !next.shown:
				t.send("DELETED", next.wire)
			case next.shown && next.before:
				t.send("MODIFIED", next.wire)
			case next.shown:
				t.send("ADDED", next.wire)
			}
		} else {
			t.s.w.note("event of pod %s is lost", next.wire.Metadata.Name)
		}
		t.pump()
	})
}

func (s *server) next(version uint64) (change, bool) {
	i, _ := slices.BinarySearchFunc(s.log, version+1, func(c change, v uint64) int {
		switch {
		case c.version < v:
			return -1
		case c.version > v:
			return 1
		}
		return 0
	})
	if i == len(s.log) {
		return change{}, false
	}
	return s.log[i], true
}

func (t *stream) send(kind string, v any) {
	raw, err := json.Marshal(object{"type": kind, "object": v})
	if err != nil {
		t.end(err)
		return
	}
	t.s.w.note("watch of manager %d: %s %.0d%s", t.q.l.number, kind, 0, nameOf(v))
	t.chunks <- append(raw, '\n')
}

// bookmark comes once a minute.
func (t *stream) bookmark() {
	t.s.w.after(time.Minute, "", func() {
		if !t.alive() {
			return
		}
		if !t.silent && !t.pending {
			t.send("BOOKMARK", object{"kind": "Pod", "apiVersion": "v1", "metadata": object{"resourceVersion": strconv.FormatUint(max(t.seen, t.last()), 10)}})
		}
		t.bookmark()
	})
}

func (t *stream) last() uint64 {
	if _, more := t.s.next(t.seen); more {
		return t.seen
	}
	return t.s.version
}

func (t *stream) end(err error) {
	if t.closed {
		return
	}
	t.closed = true
	t.s.streams = slices.DeleteFunc(t.s.streams, func(x *stream) bool { return x == t })
	if t.s.w.manager == t.q.l {
		t.s.w.note("watch of manager %d ends: %v", t.q.l.number, err)
		t.ends <- err
	}
}

func (s *server) publish(c change) {
	s.log = append(s.log, c)
	for _, t := range slices.Clone(s.streams) {
		t.pump()
	}
}

// compact forgets the past: watches from before get a 410.
func (s *server) compact() {
	s.version++
	s.oldest = s.version
	s.w.note("the server forgets what was before %d", s.oldest)
	for _, t := range slices.Clone(s.streams) {
		if t.alive() && !t.silent && s.w.chance(0.7) {
			t.send("ERROR", object{"kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired", "message": "too old resource version"})
		}
		t.end(io.ErrUnexpectedEOF)
	}
}

// breakWatch ends a watch in one of the ways that watches end.
func (w *world) breakWatch(t *stream) {
	switch n := w.rng.IntN(10); {
	case !w.stormy || !t.alive():
	case n < 4:
		t.end(io.ErrUnexpectedEOF)
	case n < 7:
		t.end(io.EOF)
	case n < 9:
		w.server.compact()
	default:
		w.note("the watch of manager %d falls silent", t.q.l.number)
		t.silent = true
	}
}
