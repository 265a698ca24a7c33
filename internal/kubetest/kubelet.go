package kubetest

import (
	"fmt"
	"time"
)

// Kubelet gives pods a life: each created pod is scheduled and, after Start, runs. Deleted pods end after Stop. The server's
// Grace must be set for deletions to take time.
type Kubelet struct {
	Server *Server
	Start  time.Duration
	Stop   time.Duration
	// Runs is told of each pod that begins to run; nil: nobody.
	Runs func(pod Object)
	// Ends is told of each pod that is asked to end.
	Ends func(pod Object)
	ips  int
}

// Attach makes the kubelet see the server's pods.
func (k *Kubelet) Attach() {
	k.Server.Grace = true
	k.Server.OnChange(func(verb, resource string, obj Object) {
		if resource != "pods" {
			return
		}
		ns, name := Text(obj, "metadata", "namespace"), Text(obj, "metadata", "name")
		switch verb {
		case "create":
			k.schedule(ns, name)
			time.AfterFunc(k.Start, func() { k.run(ns, name) })
		case "delete":
			if k.Ends != nil {
				k.Ends(obj)
			}
			time.AfterFunc(k.Stop, func() { k.Server.Remove("pods", ns, name) })
		}
	})
}

func (k *Kubelet) schedule(ns, name string) {
	k.Server.Update("pods", ns, name, func(o Object) { sub(o, "spec")["nodeName"] = "node-1" })
}

func (k *Kubelet) run(ns, name string) {
	k.Server.mu.Lock()
	k.ips++
	ip := fmt.Sprintf("10.1.%d.%d", k.ips/250, k.ips%250+1)
	k.Server.mu.Unlock()
	ok := k.Server.Update("pods", ns, name, func(o Object) {
		st := sub(o, "status")
		st["phase"], st["podIP"] = "Running", ip
		st["containerStatuses"] = Statuses(o, Object{"running": Object{"startedAt": stamp()}})
	})
	if ok && k.Runs != nil {
		k.Runs(k.Server.Get("pods", ns, name))
	}
}

// Finish ends a pod: its Spark container with a code and a reason such as OOMKilled or Error.
func (s *Server) Finish(namespace, name string, code int, reason string) bool {
	return s.Update("pods", namespace, name, func(o Object) {
		st := sub(o, "status")
		st["phase"] = "Failed"
		if code == 0 {
			st["phase"] = "Succeeded"
		}
		st["containerStatuses"] = Statuses(o, Object{"terminated": Object{"exitCode": code, "reason": reason,
			"startedAt": stamp(), "finishedAt": stamp()}})
	})
}

// Statuses gives each container of a pod the state.
func Statuses(pod Object, state Object) []any {
	containers, _ := sub(pod, "spec")["containers"].([]any)
	var out []any
	for _, c := range containers {
		c, _ := c.(Object)
		out = append(out, Object{"name": c["name"], "image": c["image"], "state": state, "restartCount": 0})
	}
	return out
}

func stamp() string { return time.Now().UTC().Format(time.RFC3339) }

func sub(o Object, name string) Object {
	m, ok := o[name].(Object)
	if !ok {
		m = Object{}
		o[name] = m
	}
	return m
}
