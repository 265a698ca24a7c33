package kubetest

import (
	"net/http"
	"strings"
)

// discovery answers what the server's resources of core/v1 are, and says whether that was asked.
func discovery(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet || strings.TrimSuffix(r.URL.Path, "/") != "/api/v1" {
		return false
	}
	resources := []any{Object{"name": "pods/status", "kind": "Pod", "namespaced": true}}
	for _, name := range []string{"configmaps", "events", "persistentvolumeclaims", "pods", "secrets", "services"} {
		resources = append(resources, Object{"name": name, "kind": kindOf(name), "namespaced": true})
	}
	answer(w, http.StatusOK, Object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": resources})
	return true
}
