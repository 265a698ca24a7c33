package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kubespark/kubespark/internal/kubetest"
)

// A hundred applications from one process: all are there, each with names of its own.
func TestSubmitMany(t *testing.T) {
	s := kubetest.New()
	var out bytes.Buffer
	j := job{master: "https://10.0.0.1", image: "i", namespace: "many", program: "local:///x.py", count: 100, parallel: 16}
	if err := j.run(t.Context(), s.Config(), &out); err != nil {
		t.Fatal(err)
	}
	if pods, maps := len(s.List("pods")), len(s.List("configmaps")); pods != 100 || maps != 100 {
		t.Errorf("%d pods, %d ConfigMaps", pods, maps)
	}
	if n := strings.Count(out.String(), "submitted\n"); n != 100 || !strings.Contains(out.String(), "\n100 applications in ") {
		t.Errorf("%d lines\n%s", n, out.String())
	}
	s.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Status: 403, Reason: "Forbidden", Message: "no"})
	if err := j.run(t.Context(), s.Config(), &out); err == nil || err.Error() != "100 of 100 submissions failed" {
		t.Error(err)
	}
}
