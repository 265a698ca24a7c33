package controlplane

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/kubespark/kubespark/localcluster/internal/statedir"
)

func spec() statedir.Spec {
	return statedir.Spec{
		ControlPlane: "/bin/cp", Port: 7443, Network: netip.MustParsePrefix("127.20.0.0/16"), NodeName: "local", CPUs: 64, MemoryMiB: 1024,
	}
}

func command(t *testing.T, s statedir.Spec, name string) Command {
	t.Helper()
	all := Commands("/state", s, "/bin/cluster")
	i := slices.IndexFunc(all, func(c Command) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no command %s", name)
	}
	return all[i]
}

func TestCommands(t *testing.T) {
	for _, tc := range []struct {
		component, path string
		want            []string
	}{
		{Etcd, "/bin/cp", []string{"etcd", "--listen-client-urls=unix:///state/etcd/client.sock", "--data-dir=/state/etcd/data"}},
		{APIServer, "/bin/cp", []string{
			"kube-apiserver", "--etcd-servers=unix:///state/etcd/client.sock", "--bind-address=127.0.0.1", "--secure-port=7443",
			"--authorization-mode=Node,RBAC", "--endpoint-reconciler-type=none", "--kubelet-preferred-address-types=InternalIP",
			"--client-ca-file=/state/pki/ca.crt",
		}},
		{Scheduler, "/bin/cp", []string{"kube-scheduler", "--kubeconfig=/state/pki/scheduler.conf", "--leader-elect=false", "--secure-port=0"}},
		{ControllerManager, "/bin/cp", []string{
			"kube-controller-manager", "--kubeconfig=/state/pki/controller-manager.conf", "--root-ca-file=/state/pki/ca.crt", "--secure-port=0",
		}},
		{Node, "/bin/cluster", []string{"node", "--state-dir=/state"}},
	} {
		c := command(t, spec(), tc.component)
		if c.Path != tc.path {
			t.Errorf("%s: program %s, want %s", tc.component, c.Path, tc.path)
		}
		for _, want := range tc.want {
			if !slices.Contains(c.Args, want) {
				t.Errorf("%s: no %s in %q", tc.component, want, c.Args)
			}
		}
	}
}

func TestAuditPolicy(t *testing.T) {
	s := spec()
	if args := command(t, s, APIServer).Args; slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--audit") }) {
		t.Errorf("audit without a policy: %q", args)
	}
	s.AuditPolicy = "/etc/policy.yaml"
	args := command(t, s, APIServer).Args
	for _, want := range []string{"--audit-policy-file=/etc/policy.yaml", "--audit-log-path=/state/logs/audit.log"} {
		if !slices.Contains(args, want) {
			t.Errorf("no %s in %q", want, args)
		}
	}
}

func TestNothingIsReachableFromOutside(t *testing.T) {
	for _, c := range Commands("/state", spec(), "/bin/cluster") {
		for _, arg := range c.Args {
			if strings.Contains(arg, "0.0.0.0") || strings.Contains(arg, "::") {
				t.Errorf("%s listens at every address: %s", c.Name, arg)
			}
		}
	}
}

func TestVerboseAndNoNode(t *testing.T) {
	s := spec()
	s.Verbose, s.NoNode = true, true
	if c := command(t, s, APIServer); !slices.Contains(c.Args, "--v=2") {
		t.Errorf("verbose: %q", c.Args)
	}
	for _, c := range Commands("/state", s, "/bin/cluster") {
		if c.Name == Node {
			t.Error("a node without being asked for")
		}
	}
}
