package main

import (
	"os/exec"
	"strings"
	"testing"
)

// The manager lives in every driver: what it links is part of every driver's memory.
func TestSlim(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	banned := map[string]string{
		"k8s.io/client-go/kubernetes":                      "every API group; use internal/kube",
		"k8s.io/client-go/gentype":                         "fake clients with it; use internal/kube",
		"k8s.io/client-go/informers":                       "whole objects in memory; use internal/executor/source",
		"k8s.io/kubernetes":                                "the control plane",
		"github.com/spf13/cobra":                           "the command line",
		"github.com/aws/":                                  "cloud storage belongs to the command line",
		"cloud.google.com/":                                "cloud storage belongs to the command line",
		"github.com/Azure/":                                "cloud storage belongs to the command line",
		"github.com/kubespark/kubespark/submit":            "submission",
		"github.com/kubespark/kubespark/internal/kubetest": "test helpers",
		"github.com/kubespark/kubespark/localcluster":      "the local cluster",
	}
	for dep := range strings.Lines(string(out)) {
		for prefix, why := range banned {
			if strings.HasPrefix(dep, prefix) {
				t.Errorf("links %s: %s", strings.TrimSpace(dep), why)
			}
		}
	}
}
