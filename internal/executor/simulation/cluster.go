package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// node is a machine with its kubelet.
type node struct {
	name  string
	room  int
	alive bool
	slow  time.Duration // its kubelet's extra delay
}

// process is an executor's JVM.
type process struct {
	pod    *pod
	alive  bool
	code   int
	reason string // OOMKilled, Error, Completed
	deaf   bool   // does not end when Spark asks
}

// cluster is scheduler, kubelets and controllers.
type cluster struct {
	w       *world
	nodes   []*node
	born    int
	pods    []*pod // that were ever made
	weather fate   // of every request, served: fair
}

func newCluster(w *world) *cluster {
	c := &cluster{w: w}
	for range w.plan.nodes {
		c.join()
	}
	return c
}

func (c *cluster) join() {
	c.born++
	c.nodes = append(c.nodes, &node{name: fmt.Sprintf("node-%d", c.born), room: c.w.plan.room, alive: true,
		slow: c.w.between(0, c.w.plan.slowKubelet)})
}

// adopt takes a new pod.
func (c *cluster) adopt(p *pod) {
	c.pods = append(c.pods, p)
	c.w.after(c.w.between(20*time.Millisecond, time.Second), "", func() { c.schedule(p) })
}

func (c *cluster) free(n *node) int {
	free := n.room
	for _, p := range c.pods {
		if p.node == n && !p.gone && !p.ended() {
			free--
		}
	}
	return free
}

func (c *cluster) schedule(p *pod) {
	if p.gone || p.deleting() || p.node != nil {
		return
	}
	var fit []*node
	for _, n := range c.nodes {
		if !c.w.server.haveClaims(p) {
			break
		}
		if n.alive && (c.free(n) > 0 || !c.w.stormy) {
			fit = append(fit, n)
		}
	}
	if len(fit) == 0 {
		if len(p.wire.Status.Conditions) == 0 {
			c.w.server.update(p, func(w *snapshot.Wire) {
				w.Status.Conditions = []snapshot.WireCondition{{Type: "PodScheduled", Status: "False", Reason: "Unschedulable", Message: "0 nodes are available."}}
			})
		}
		c.w.after(c.w.between(time.Second, 5*time.Second), "", func() { c.schedule(p) })
		return
	}
	p.node = fit[c.w.rng.IntN(len(fit))]
	c.w.server.update(p, func(w *snapshot.Wire) { w.Spec.NodeName, w.Status.Conditions = p.node.name, nil })
	c.w.after(c.w.between(100*time.Millisecond, 3*time.Second)+p.node.slow, "", func() { c.run(p) })
}

const sparkContainer = "spark-kubernetes-executor"

func (c *cluster) run(p *pod) {
	if p.gone || p.deleting() || p.ended() || p.process != nil || !p.node.alive {
		return
	}
	p.process = &process{pod: p, alive: true, deaf: c.w.chance(0.15)}
	c.w.server.update(p, func(w *snapshot.Wire) {
		w.Status.Phase = "Running"
		w.Status.ContainerStatuses = []snapshot.WireContainer{{Name: sparkContainer, State: snapshot.WireState{Running: &snapshot.WireRunning{}}}}
	})
	boot := c.w.between(200*time.Millisecond, 6*time.Second)
	if c.w.chance(0.05) {
		boot += c.w.between(0, 2*time.Minute)
	}
	if left := time.Until(c.w.calmAt) - time.Minute; !c.w.stormy && boot > left {
		boot = max(min(boot, left), 6*time.Second) // the cluster has healed by then
	}
	c.w.after(boot, "", func() { c.w.spark.register(p.process) })
	if c.w.stormy && c.w.chance(c.w.plan.crash) {
		c.w.after(c.w.between(0, 2*time.Minute), "", func() {
			switch code := []int{1, 52, 137, 137, 143}[c.w.rng.IntN(5)]; {
			case !c.w.stormy:
			case code == 137 && c.w.chance(0.5):
				c.exit(p.process, code, "OOMKilled")
			default:
				c.exit(p.process, code, "Error")
			}
		})
	}
}

// exit ends a process; its kubelet tells after a while.
func (c *cluster) exit(x *process, code int, reason string) {
	if x == nil || !x.alive {
		return
	}
	x.alive, x.code, x.reason = false, code, reason
	c.w.note("executor %d exits with %d", x.pod.id, code)
	c.w.spark.lost(x, c.w.between(time.Millisecond, 300*time.Millisecond))
	c.w.after(c.w.between(50*time.Millisecond, 2*time.Second)+x.pod.node.slow/4, "", func() {
		if p := x.pod; !p.gone && !p.ended() && p.node.alive {
			c.finish(p)
			if p.deleting() {
				c.remove(p)
			}
		}
	})
}

func (c *cluster) finish(p *pod) {
	x := p.process
	c.w.server.update(p, func(w *snapshot.Wire) {
		w.Status.Phase = "Failed"
		if x.code == 0 {
			w.Status.Phase = "Succeeded"
		}
		w.Status.ContainerStatuses = []snapshot.WireContainer{{Name: sparkContainer,
			State: snapshot.WireState{Terminated: &snapshot.WireTerminated{ExitCode: x.code, Reason: x.reason}}}}
	})
}

// remove lets the kubelet take the object of an ended pod away.
func (c *cluster) remove(p *pod) {
	c.w.after(c.w.between(10*time.Millisecond, time.Second), "", func() { c.w.server.erase(p) })
}

// delete is a DELETE of the pod, by whomever.
func (c *cluster) delete(p *pod) {
	if p.gone || p.deleting() {
		return
	}
	if p.node == nil {
		c.w.server.erase(p)
		return
	}
	c.w.server.update(p, func(w *snapshot.Wire) { w.Metadata.DeletionTimestamp = c.w.server.now() })
	c.terminate(p)
}

// terminate is the kubelet's work on a pod that is being deleted.
func (c *cluster) terminate(p *pod) {
	if p.ending || !p.node.alive {
		return
	}
	p.ending = true
	switch {
	case p.process == nil || !p.process.alive || p.ended():
		c.remove(p)
	default:
		c.w.after(c.w.between(20*time.Millisecond, 5*time.Second), "", func() {
			if !p.process.alive {
				c.remove(p)
				return
			}
			if c.w.chance(0.5) { // the kubelet does not show the end
				p.process.alive, p.process.code = false, 143
				c.w.spark.lost(p.process, 10*time.Millisecond)
				c.remove(p)
				return
			}
			c.exit(p.process, 143, "Error")
		})
	}
}

// The faults of the cluster.

func (c *cluster) pick(ok func(*pod) bool) *pod {
	var fit []*pod
	for _, p := range c.pods {
		if !p.gone && ok(p) {
			fit = append(fit, p)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return fit[c.w.rng.IntN(len(fit))]
}

func isRunning(p *pod) bool { return p.phase() == "Running" && p.process.alive && !p.deleting() }

// harm lets something bad happen to one pod.
func (c *cluster) harm() {
	switch c.w.rng.IntN(6) {
	case 0, 1:
		if p := c.pick(isRunning); p != nil {
			c.w.note("eviction of %s", p.name)
			c.evict(p, "Evicted", "The node was low on resource: memory.")
		}
	case 2:
		if p := c.pick(isRunning); p != nil {
			c.w.note("drain of %s", p.name)
			c.disrupt(p)
			c.delete(p)
		}
	case 3:
		if p := c.pick(func(p *pod) bool { return !p.deleting() }); p != nil {
			c.w.note("a user deletes %s", p.name)
			c.delete(p)
		}
	case 4:
		if p := c.pick(func(p *pod) bool { return true }); p != nil {
			c.w.note("a user deletes %s by force", p.name)
			c.w.server.erase(p)
			if x := p.process; x != nil && x.alive {
				c.w.after(c.w.between(time.Second, 20*time.Second), "", func() { c.exit(x, 137, "Error") })
			}
		}
	case 5:
		if len(c.nodes) > 1 {
			c.crash(c.nodes[c.w.rng.IntN(len(c.nodes))])
		}
	}
}

func (c *cluster) disrupt(p *pod) {
	c.w.server.update(p, func(w *snapshot.Wire) {
		w.Status.Conditions = append(w.Status.Conditions, snapshot.WireCondition{Type: "DisruptionTarget", Status: "True"})
	})
}

func (c *cluster) evict(p *pod, reason, message string) {
	p.process.alive, p.process.code = false, 137
	c.w.spark.lost(p.process, 20*time.Millisecond)
	c.w.server.update(p, func(w *snapshot.Wire) {
		w.Status.Phase, w.Status.Reason, w.Status.Message = "Failed", reason, message
		w.Status.ContainerStatuses = nil
		w.Status.Conditions = append(w.Status.Conditions, snapshot.WireCondition{Type: "DisruptionTarget", Status: "True"})
	})
}

// crash ends a node with all its pods. Another one joins after a while.
func (c *cluster) crash(n *node) {
	if !n.alive {
		return
	}
	n.alive = false
	c.w.note("%s dies", n.name)
	for _, p := range c.pods {
		if p.node != n || p.gone {
			continue
		}
		if x := p.process; x != nil && x.alive {
			x.alive, x.code = false, 137
			c.w.spark.lost(x, c.w.between(time.Second, time.Minute))
		}
		c.w.after(c.w.between(40*time.Second, 2*time.Minute), "", func() { c.abandon(p) })
	}
	c.w.after(c.w.between(30*time.Second, 2*time.Minute), "", func() {
		c.nodes = slices.DeleteFunc(c.nodes, func(x *node) bool { return x == n })
		c.join()
	})
}

// abandon is what the controllers do with a pod of a dead node.
func (c *cluster) abandon(p *pod) {
	if p.gone {
		return
	}
	c.disrupt(p)
	if !p.deleting() {
		c.w.server.update(p, func(w *snapshot.Wire) { w.Metadata.DeletionTimestamp = c.w.server.now() })
	}
	c.w.after(c.w.between(time.Second, time.Minute), "", func() {
		if p.gone {
			return
		}
		if !p.ended() && c.w.chance(0.5) {
			c.w.server.update(p, func(w *snapshot.Wire) { w.Status.Phase = "Failed" })
		}
		c.w.server.erase(p)
	})
}

// heal makes room for everybody.
func (c *cluster) heal() {
	for _, n := range c.nodes {
		n.slow = min(n.slow, 5*time.Second)
	}
	if !slices.ContainsFunc(c.nodes, func(n *node) bool { return n.alive }) {
		c.join()
	}
}

func nameOf(v any) string {
	switch v := v.(type) {
	case *snapshot.Wire:
		return strings.Join([]string{v.Metadata.Name, v.Status.Phase, v.Metadata.ResourceVersion}, " ")
	case object:
		return fmt.Sprint(v["metadata"], v["code"])
	}
	return ""
}
