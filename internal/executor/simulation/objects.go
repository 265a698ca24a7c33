package simulation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// serveOther serves ConfigMaps, claims, Services and Events.
func (s *server) serveOther(q *request) answer {
	key := q.resource + "/" + q.name
	switch {
	case q.verb == http.MethodPost && q.resource == "events":
		return jsonAnswer(201, json.RawMessage(q.body))
	case q.verb == http.MethodPost:
		return s.createOther(q)
	case q.name == "":
		items := []object{}
		for _, k := range sortedKeys(s.others) {
			if !strings.HasPrefix(k, q.resource+"/") {
				continue
			}
			if q.verb == http.MethodDelete {
				delete(s.others, k)
			}
			items = append(items, s.others[k])
		}
		return jsonAnswer(200, object{"kind": listKinds[q.resource], "apiVersion": "v1",
			"metadata": object{"resourceVersion": fmt.Sprint(s.version)}, "items": items})
	case s.others[key] == nil:
		return notFound(q)
	case q.verb == http.MethodDelete:
		delete(s.others, key)
		return jsonAnswer(200, object{"kind": "Status", "status": "Success"})
	}
	return jsonAnswer(200, s.others[key])
}

var listKinds = map[string]string{"configmaps": "ConfigMapList", "persistentvolumeclaims": "PersistentVolumeClaimList",
	"services": "ServiceList"}

func (s *server) createOther(q *request) answer {
	var o object
	if err := json.Unmarshal(q.body, &o); err != nil {
		return refuse(http.StatusBadRequest, "BadRequest", err.Error(), 0)
	}
	meta, _ := o["metadata"].(object)
	name, _ := meta["name"].(string)
	key := q.resource + "/" + name
	if s.others[key] != nil {
		return refuse(http.StatusConflict, "AlreadyExists", key+" already exists", 0)
	}
	s.uids++
	s.version++
	meta["uid"], meta["creationTimestamp"] = fmt.Sprintf("uid-%d", s.uids), s.now()
	meta["resourceVersion"] = fmt.Sprint(s.version)
	s.others[key] = o
	s.w.note("created %s", key)
	owners, _ := meta["ownerReferences"].([]any)
	for _, o := range owners {
		ref, _ := o.(object)
		if ref["uid"] != "uid-driver" && !slices.ContainsFunc(s.order, func(n string) bool { return s.pods[n].wire.Metadata.UID == ref["uid"] }) {
			s.w.after(s.w.between(time.Second, 10*time.Second), "", func() { delete(s.others, key) })
		}
	}
	return jsonAnswer(201, o)
}

func (s *server) haveClaims(p *pod) bool {
	for _, name := range p.claims {
		if s.others["persistentvolumeclaims/"+name] == nil {
			return false
		}
	}
	return true
}

// collectClaims is the garbage collector's work: what a pod owned goes after it.
func (s *server) collectClaims(p *pod) {
	uid := p.wire.Metadata.UID
	s.w.after(s.w.between(100*time.Millisecond, 3*time.Second), "", func() {
		for _, key := range sortedKeys(s.others) {
			meta, _ := s.others[key]["metadata"].(object)
			owners, _ := meta["ownerReferences"].([]any)
			owned := slices.ContainsFunc(owners, func(o any) bool {
				ref, _ := o.(object)
				return ref["uid"] == uid
			})
			if owned {
				delete(s.others, key)
				s.w.note("%s is collected", key)
			}
		}
	})
}
