package lifecycle

import (
	"strings"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// infrastructure are the values of status.reason that mean the cluster, not the application, ended the pod (L7).
var infrastructure = map[string]bool{
	"Evicted": true, "Preempting": true, "NodeLost": true, "NodeShutdown": true, "Shutdown": true, "Terminated": true,
	"NodeAffinity": true, "UnexpectedAdmissionError": true, "OutOfcpu": true, "OutOfmemory": true, "OutOfpods": true,
}

// causedByApp says whose fault the end of a failed or finished pod is (L7).
func (m *Manager) causedByApp(p *snapshot.Pod, v View) bool {
	if m.set.StockFaults {
		return true
	}
	e := p.Exit
	if e.OOM || e.Reason == "Evicted" && ownStorageLimit(e.Message) {
		return true
	}
	switch {
	case p.Deleting, e.Disrupted, infrastructure[e.Reason]:
		return false
	case v.Ours(p.ID):
		return false
	case !v.Registered(p.ID) && !v.DriverReady:
		return false
	}
	return true
}

// ownStorageLimit tells an eviction for the pod's own ephemeral-storage or emptyDir limit from one for a full node.
func ownStorageLimit(message string) bool {
	m := strings.ToLower(message)
	return !strings.HasPrefix(m, "the node was low on") && strings.Contains(m, "exceed") &&
		(strings.Contains(m, "ephemeral") || strings.Contains(m, "emptydir"))
}
