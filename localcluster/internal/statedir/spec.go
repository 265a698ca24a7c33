package statedir

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"path/filepath"
)

// Spec is what a cluster was asked to be.
type Spec struct {
	ControlPlane string       `json:"controlPlane"` // path of the kubespark-control-plane program
	Port         int          `json:"port"`         // of the API server, at 127.0.0.1
	Network      netip.Prefix `json:"network"`      // loopback addresses of the cluster and its pods, a /16
	NodeName     string       `json:"nodeName"`
	CPUs         int          `json:"cpus"`      // that the node advertises
	MemoryMiB    int          `json:"memoryMiB"` // that the node advertises
	// Capacity is what the node advertises beside CPU, memory and pods: amounts by resource name, such as example.com/gpu.
	Capacity map[string]int64 `json:"capacity,omitempty"`
	// Nodes is how many nodes of this kind there are; 0 is one.
	Nodes       int    `json:"nodes,omitempty"`
	NoNode      bool   `json:"noNode,omitempty"` // a control plane alone: pods stay pending
	Verbose     bool   `json:"verbose,omitempty"`
	AuditPolicy string `json:"auditPolicy,omitempty"` // path of the API server's audit policy; empty: no audit log
	// OwnNetwork: the cluster has a network namespace of its own, because its user may not listen at the port of Service.
	OwnNetwork bool `json:"ownNetwork,omitempty"`
}

// Check refuses what no cluster can be made of.
func (s Spec) Check() error {
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	switch {
	case s.Port < 1 || s.Port > 65535:
		return fmt.Errorf("--port %d is no port: name one between 1 and 65535", s.Port)
	case s.Network.Bits() != 16 || !loopback.Contains(s.Network.Addr()) || s.Network != s.Network.Masked():
		return fmt.Errorf("--network %s is no loopback network for pods: name one such as 127.10.0.0/16", s.Network)
	case s.Network.Contains(netip.AddrFrom4([4]byte{127, 0, 0, 1})):
		return fmt.Errorf("--network %s holds 127.0.0.1, which is the host's: name one such as 127.10.0.0/16", s.Network)
	case s.CPUs < 1:
		return fmt.Errorf("--cpus %d is too few: a node has at least 1", s.CPUs)
	case s.MemoryMiB < 1:
		return fmt.Errorf("--memory is too little: a node has at least 1Mi")
	case s.AuditPolicy != "" && !filepath.IsAbs(s.AuditPolicy):
		return fmt.Errorf("--audit-policy %s is no absolute path", s.AuditPolicy)
	case s.Nodes < 0 || s.Nodes > maxNodes:
		return fmt.Errorf("--nodes %d: a cluster has between 1 and %d nodes", s.Nodes, maxNodes)
	}
	return nil
}

// APIServer is where the user reaches the API server.
func (s Spec) APIServer() netip.AddrPort { return netip.AddrPortFrom(host(), uint16(s.Port)) }

// Address is the cluster's own address in its network, which no pod gets.
func (s Spec) Address() netip.Addr { return s.Network.Addr().Next() }

// Service is where pods reach the API server: what kubernetes.default.svc resolves to, at the port its URL implies.
func (s Spec) Service() netip.AddrPort { return netip.AddrPortFrom(s.Address(), 443) }

// maxNodes keeps a network of a thousand pods for each node.
const maxNodes = 64

// NodeCount is how many nodes there are, at least one.
func (s Spec) NodeCount() int { return max(1, s.Nodes) }

// NodeNames are the names of the nodes: the first has the one that was asked for, the others a number behind it.
func (s Spec) NodeNames() []string {
	names := []string{s.NodeName}
	for i := 2; i <= s.NodeCount(); i++ {
		names = append(names, fmt.Sprintf("%s-%d", s.NodeName, i))
	}
	return names
}

// Kubelet is where the API server reaches a node, by its number from 0.
func (s Spec) Kubelet(node int) netip.AddrPort {
	return netip.AddrPortFrom(s.Address(), uint16(10250+node))
}

// PodNetwork is a node's part of the network, by its number from 0.
func (s Spec) PodNetwork(node int) netip.Prefix {
	extra := bits.Len(uint(s.NodeCount() - 1))
	four := s.Network.Addr().As4()
	first := binary.BigEndian.Uint32(four[:]) + uint32(node)<<(32-s.Network.Bits()-extra)
	binary.BigEndian.PutUint32(four[:], first)
	return netip.PrefixFrom(netip.AddrFrom4(four), s.Network.Bits()+extra)
}

func host() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 1}) }
