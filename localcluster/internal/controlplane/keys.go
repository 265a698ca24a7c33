package controlplane

import (
	"fmt"
	"net"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/localcluster/internal/pki"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
)

// WriteKeys makes the cluster's keys and certificates and the administrator's kubeconfig.
func WriteKeys(d statedir.Dir, s statedir.Spec, now time.Time) error {
	err := pki.Write(d.PKI(), pki.Request{
		Server: "https://" + s.APIServer().String(),
		APIServerDNS: []string{
			"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		},
		APIServerIPs:  []net.IP{s.APIServer().Addr().AsSlice(), s.Address().AsSlice(), net.ParseIP(kubernetesClusterIP)},
		NodeNames:     s.NodeNames(),
		NodeIP:        s.Address().AsSlice(),
		MetricsDNS:    metricsService + "." + metav1.NamespaceSystem + ".svc",
		AdminUserName: "kubernetes-admin",
		Now:           now,
		ValidFor:      10 * 365 * 24 * time.Hour,
	})
	if err != nil {
		return fmt.Errorf("make the cluster's keys: %w", err)
	}
	if err := os.Rename(d.Key(pki.AdminConf), d.Kubeconfig()); err != nil {
		return fmt.Errorf("make the cluster's kubeconfig: %w", err)
	}
	return nil
}
