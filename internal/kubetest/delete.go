package kubetest

import (
	"encoding/json"
	"net/http"
	"time"
)

type deleteOptions struct {
	GracePeriodSeconds *int64 `json:"gracePeriodSeconds"`
	Preconditions      struct {
		UID string `json:"uid"`
	} `json:"preconditions"`
}

func (s *Server) remove(w http.ResponseWriter, t target, body []byte) {
	var opts deleteOptions
	if len(body) > 0 {
		if err := json.Unmarshal(body, &opts); err != nil {
			status(w, http.StatusBadRequest, "BadRequest", err.Error(), 0)
			return
		}
	}
	s.mu.Lock()
	k := key(t.namespace, t.name)
	obj := s.objects[t.resource][k]
	if obj == nil {
		s.mu.Unlock()
		notFound(w, t)
		return
	}
	if uid := opts.Preconditions.UID; uid != "" && uid != meta(obj)["uid"] {
		s.mu.Unlock()
		status(w, http.StatusConflict, "Conflict", "Precondition failed: UID in precondition: "+uid, 0)
		return
	}
	obj, news := s.end(t.resource, k, opts.GracePeriodSeconds)
	s.mu.Unlock()
	answer(w, http.StatusOK, obj)
	if news {
		s.tell("delete", t.resource, obj)
	}
}

// end deletes an object, or marks a pod with a grace period as being deleted. Like the API server it lets a later deletion
// only shorten the grace period of the first; news says whether anything changed.
func (s *Server) end(resource, k string, grace *int64) (obj Object, news bool) {
	obj = clone(s.objects[resource][k])
	phase := str(obj, "status", "phase")
	running := phase == "Running" || (phase == "Pending" && str(obj, "spec", "nodeName") != "")
	if s.Grace && resource == "pods" && running && (grace == nil || *grace > 0) {
		until := time.Now().UTC()
		if grace != nil {
			until = until.Add(time.Duration(*grace) * time.Second)
		}
		if at, deleting := meta(obj)["deletionTimestamp"].(string); deleting {
			before, err := time.Parse(time.RFC3339, at)
			if grace == nil || err != nil || !until.Before(before) {
				return obj, false
			}
		}
		meta(obj)["deletionTimestamp"] = until.Format(time.RFC3339)
		return s.store("MODIFIED", resource, k, obj), true
	}
	s.erase(resource, k, obj)
	return clone(obj), true
}

func (s *Server) removeAll(w http.ResponseWriter, r *http.Request, t target) {
	match, err := matcher(r)
	if err != nil {
		status(w, http.StatusBadRequest, "BadRequest", err.Error(), 0)
		return
	}
	s.mu.Lock()
	var ended []Object
	for _, k := range s.keys(t.resource) {
		if obj := s.objects[t.resource][k]; meta(obj)["namespace"] == t.namespace && match(obj) {
			if obj, news := s.end(t.resource, k, nil); news {
				ended = append(ended, obj)
			}
		}
	}
	s.mu.Unlock()
	answer(w, http.StatusOK, Object{"kind": "Status", "apiVersion": "v1", "metadata": Object{}, "status": "Success"})
	for _, obj := range ended {
		s.tell("delete", t.resource, obj)
	}
}
