// Package controlplane says how the processes of a local cluster are started and when each is ready. It holds their
// command lines, their keys and the API objects that the cluster itself needs; the supervisor runs what it lists.
package controlplane

import (
	"strconv"
	"strings"

	"github.com/kubespark/kubespark/localcluster/internal/pki"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
)

// Names of the components, in starting order. Service and HostPort are tasks of the supervisor: they pass the connections of
// pods, and those from outside of a cluster with a network of its own, on to the API server.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	Service           = "kubernetes-service"
	HostPort          = "host-port"
	Scheduler         = "kube-scheduler"
	ControllerManager = "kube-controller-manager"
	Node              = "node"
)

// Audit is the name of the API server's audit log, which a cluster with an audit policy has.
const Audit = "audit"

// IsNode reports whether a component is a node: the first has the plain name, the others a number behind it.
func IsNode(component string) bool {
	number, numbered := strings.CutPrefix(component, Node+"-")
	_, err := strconv.ParseUint(number, 10, 16)
	return component == Node || numbered && err == nil
}

// serviceRange holds the services' cluster IPs. Nothing routes them: the node resolves service names to pod IPs.
const serviceRange, kubernetesClusterIP = "10.96.0.0/16", "10.96.0.1"

// etcdArgs: no fsync, because the data does not outlive the cluster, and `up` starts afresh.
func etcdArgs(d statedir.Dir) []string {
	client, peer := "unix://"+d.EtcdSocket(), "unix://"+d.Join("etcd", "peer.sock")
	return []string{
		"--name=local",
		"--data-dir=" + d.Join("etcd", "data"),
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=local=" + peer,
		"--unsafe-no-fsync",
		"--log-level=warn",
	}
}

func apiServerArgs(d statedir.Dir, s statedir.Spec) []string {
	args := []string{
		"--etcd-servers=unix://" + d.EtcdSocket(),
		"--bind-address=" + s.APIServer().Addr().String(),
		"--secure-port=" + strconv.Itoa(s.Port),
		"--advertise-address=" + s.Address().String(), // else it looks for an outside one, which the machine may lack
		"--external-hostname=" + s.APIServer().Addr().String(),
		"--endpoint-reconciler-type=none", // an Endpoints object may not hold a loopback address
		"--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--client-ca-file=" + d.Key(pki.CA),
		"--tls-cert-file=" + d.Key(pki.APIServerCert),
		"--tls-private-key-file=" + d.Key(pki.APIServerKey),
		"--kubelet-certificate-authority=" + d.Key(pki.CA),
		"--kubelet-client-certificate=" + d.Key(pki.KubeletClientCert),
		"--kubelet-client-key=" + d.Key(pki.KubeletClientKey),
		"--kubelet-preferred-address-types=InternalIP",             // the node's name is in no DNS
		"--proxy-client-cert-file=" + d.Key(pki.KubeletClientCert), // towards the metrics API, which a node serves
		"--proxy-client-key-file=" + d.Key(pki.KubeletClientKey),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + d.Key(pki.ServiceAccountPublicKey),
		"--service-account-signing-key-file=" + d.Key(pki.ServiceAccountKey),
		"--delete-collection-workers=4", // by default one, which needs minutes for thousands of pods
		"--profiling=false",
	}
	if s.AuditPolicy != "" {
		args = append(args, "--audit-policy-file="+s.AuditPolicy, "--audit-log-path="+d.Log(Audit))
	}
	return args
}

func schedulerArgs(d statedir.Dir) []string {
	return []string{
		"--kubeconfig=" + d.Key(pki.SchedulerConf),
		"--kube-api-qps=1000", "--kube-api-burst=1000", // hundreds of executors may come at once
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
	}
}

// controllerManagerArgs leaves out the controllers that would write the pods' loopback addresses into Endpoints and
// EndpointSlices, which the API server refuses, and those for a metrics server and cloud volumes that are not here.
func controllerManagerArgs(d statedir.Dir) []string {
	return []string{
		"--kubeconfig=" + d.Key(pki.ControllerManagerConf),
		"--controllers=*,-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller," +
			"-horizontal-pod-autoscaler-controller,-node-ipam-controller,-persistentvolume-attach-detach-controller," +
			"-persistentvolume-expander-controller",
		"--use-service-account-credentials=true",
		"--kube-api-qps=1000", "--kube-api-burst=1000", // the default of 20 makes the first seconds wait on themselves
		"--service-account-private-key-file=" + d.Key(pki.ServiceAccountKey),
		"--root-ca-file=" + d.Key(pki.CA),
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
	}
}

// Command is one process: the program, its arguments, and the component's name in logs and records.
type Command struct {
	Name string
	Path string
	Args []string
}

// Commands lists the cluster's processes in starting order. Program is the path of kubespark-cluster itself, which
// is the node.
func Commands(d statedir.Dir, s statedir.Spec, program string) []Command {
	all := []Command{
		{Etcd, s.ControlPlane, etcdArgs(d)},
		{APIServer, s.ControlPlane, apiServerArgs(d, s)},
		{Scheduler, s.ControlPlane, schedulerArgs(d)},
		{ControllerManager, s.ControlPlane, controllerManagerArgs(d)},
	}
	if !s.NoNode {
		for i := range s.NodeCount() {
			all = append(all, Command{statedir.Numbered(Node, i), program, []string{"node", "--state-dir=" + string(d), "--number=" + strconv.Itoa(i)}})
		}
	}
	for i, c := range all {
		if c.Path != s.ControlPlane {
			continue
		}
		args := append([]string{c.Name}, c.Args...)
		if s.Verbose && c.Name != Etcd {
			args = append(args, "--v=2")
		}
		all[i].Args = args
	}
	return all
}
