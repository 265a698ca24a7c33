package main

import (
	"os/exec"
	"strings"
	"testing"
)

// The node starts a process of this program for each container, and it is compiled with the race detector and by
// lint: nothing of the control plane, which takes minutes, may come in.
func TestImportsNothingOfTheControlPlane(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		for _, banned := range []string{"k8s.io/kubernetes", "k8s.io/kubectl", "k8s.io/apiserver/pkg/server/options", "go.etcd.io/etcd"} {
			if path == banned || strings.HasPrefix(path, banned+"/") {
				t.Errorf("kubespark-cluster imports %s", path)
			}
		}
	}
}
