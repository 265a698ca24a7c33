package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Watch follows the pods of a namespace by their metadata alone, which costs the server and this program little.
type Watch struct {
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	present map[string]bool
	added   map[string]time.Time // first seen, by name
	gone    map[string]time.Time
	reached []wait
	on      func(name string, labels map[string]string)
	err     error
}

type wait struct {
	up   bool // until there are at least n, else until there are at most n
	n    int
	done chan time.Time
}

// WatchPods opens a watch. fields is a field selector such as status.phase=Running, or empty; on, if not nil, is called
// for each pod that comes in.
func (c *Cluster) WatchPods(ctx context.Context, ns, labels, fields string, on func(name string, labels map[string]string)) (*Watch, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &Watch{stop: cancel, done: make(chan struct{}), present: map[string]bool{}, added: map[string]time.Time{}, gone: map[string]time.Time{}, on: on}
	q := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}, "labelSelector": {labels}, "fieldSelector": {fields}}
	open := func(version string) (io.ReadCloser, error) {
		q.Set("resourceVersion", version)
		return c.openWatch(ctx, c.URL+"/api/v1/namespaces/"+ns+"/pods?"+q.Encode())
	}
	body, err := open("")
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watch the pods of %s: %w", ns, err)
	}
	go w.run(ctx, body, open)
	return w, nil
}

func (c *Cluster) openWatch(ctx context.Context, address string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, fmt.Errorf("the API server says %s", resp.Status)
	}
	return resp.Body, nil
}

// run reads one watch after another: a server under load ends those that it would have to keep too much for. The next one
// begins where the last ended, so that no event is missed.
func (w *Watch) run(ctx context.Context, body io.ReadCloser, open func(version string) (io.ReadCloser, error)) {
	defer close(w.done)
	version := ""
	for {
		last, err := w.read(body, version)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			version = last
			body, err = open(version)
		}
		if err != nil {
			w.fail(fmt.Errorf("the watch of this program broke off: %w", err))
			return
		}
	}
}

// watchEvent is what is read of an event.
type watchEvent struct {
	Type   string `json:"type"`
	Object struct {
		Message  string `json:"message"` // of an error
		Metadata struct {
			Name            string            `json:"name"`
			ResourceVersion string            `json:"resourceVersion"`
			Labels          map[string]string `json:"labels"`
		} `json:"metadata"`
	} `json:"object"`
}

// read reads until the server ends the watch and returns the version of the last event.
func (w *Watch) read(body io.ReadCloser, version string) (string, error) {
	defer body.Close()
	for dec := json.NewDecoder(body); ; {
		var e watchEvent
		if err := dec.Decode(&e); errors.Is(err, io.EOF) {
			return version, nil
		} else if err != nil {
			return version, err
		}
		if e.Type == "ERROR" {
			return version, errors.New(e.Object.Message)
		}
		version = e.Object.Metadata.ResourceVersion
		w.event(e.Type, e.Object.Metadata.Name, e.Object.Metadata.Labels, time.Now())
	}
}

func (w *Watch) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	for _, r := range w.reached {
		close(r.done)
	}
	w.reached = nil
}

func (w *Watch) event(kind, name string, labels map[string]string, now time.Time) {
	w.mu.Lock()
	fresh := false
	switch kind {
	case "ADDED":
		if fresh = !w.present[name]; fresh {
			w.added[name] = now
		}
		w.present[name] = true
	case "DELETED":
		delete(w.present, name)
		w.gone[name] = now
	}
	left := w.reached[:0]
	for _, r := range w.reached {
		if r.met(len(w.present)) {
			r.done <- now
		} else {
			left = append(left, r)
		}
	}
	w.reached = left
	w.mu.Unlock()
	if fresh && w.on != nil {
		w.on(name, labels)
	}
}

func (r wait) met(count int) bool { return r.up && count >= r.n || !r.up && count <= r.n }

// Reached waits until at least n pods are there and returns when that was.
func (w *Watch) Reached(ctx context.Context, n int) (time.Time, error) {
	return w.await(ctx, wait{up: true, n: n})
}

// Fell waits until at most n pods are there and returns when that was.
func (w *Watch) Fell(ctx context.Context, n int) (time.Time, error) { return w.await(ctx, wait{n: n}) }

func (w *Watch) await(ctx context.Context, r wait) (time.Time, error) {
	r.done = make(chan time.Time, 1)
	w.mu.Lock()
	if w.err != nil {
		w.mu.Unlock()
		return time.Time{}, w.err
	}
	if r.met(len(w.present)) {
		w.mu.Unlock()
		return time.Now(), nil
	}
	w.reached = append(w.reached, r)
	w.mu.Unlock()
	select {
	case at, ok := <-r.done:
		if !ok {
			return at, w.err
		}
		return at, nil
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("%d pods instead of %d: %w", w.Count(), r.n, context.Cause(ctx))
	}
}

// Count is how many pods are there.
func (w *Watch) Count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.present)
}

// Seen is when a pod came.
func (w *Watch) Seen(name string) (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.added[name]
	return at, ok
}

// Close ends the watch.
func (w *Watch) Close() {
	w.stop()
	<-w.done
}

// Any names a pod that is there, "" if there is none.
func (w *Watch) Any() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.present {
		return name
	}
	return ""
}

// Ended waits until a pod is gone from the watch and returns when its event came.
func (w *Watch) Ended(ctx context.Context, name string) (time.Time, error) {
	for {
		w.mu.Lock()
		at, ok := w.gone[name]
		err := w.err
		w.mu.Unlock()
		if ok || err != nil {
			return at, err
		}
		select {
		case <-ctx.Done():
			return at, fmt.Errorf("pod %s does not end: %w", name, context.Cause(ctx))
		case <-time.After(time.Millisecond):
		}
	}
}
