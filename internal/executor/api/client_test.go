package api

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kubespark/kubespark/internal/kube"
)

// clientOf is a client of a server that answers every request with h.
func clientOf(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	k, err := kube.NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return New(k, "ns", "app")
}

// The answer to a deletion is not read: this one never ends. A refusal is.
func TestDeletedPodsAreNotRead(t *testing.T) {
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete || r.URL.Path != "/api/v1/namespaces/ns/pods" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		_, _ = w.Write([]byte(`{"kind":"PodList","items":[`))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	if err := c.DeleteFamily(t.Context(), Pods); err != nil {
		t.Error(err)
	}

	c = clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","message":"not now","code":409}`))
	})
	if err := c.DeleteFamily(t.Context(), Pods); kube.Kind(err) != kube.Conflict || err.Error() != "not now" {
		t.Errorf("%v", err)
	}
}
