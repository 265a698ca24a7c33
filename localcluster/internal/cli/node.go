package cli

import (
	"github.com/spf13/cobra"

	"github.com/kubespark/kubespark/localcluster/internal/node"
	"github.com/kubespark/kubespark/localcluster/internal/pki"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
)

func (a *App) nodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "node",
		Short:  "Be the cluster's node; the supervisor starts it",
		Hidden: true,
		Args:   noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := a.dir()
			if err != nil {
				return err
			}
			r, err := d.Load()
			if err != nil {
				return err
			}
			return node.Run(c.Context(), nodeOptions(d, r.Spec))
		},
	}
}

func nodeOptions(d statedir.Dir, s statedir.Spec) node.Options {
	return node.Options{
		Name:          s.NodeName,
		Kubeconfig:    d.Key(pki.NodeConf),
		StateDir:      d.Node(),
		PodIPBase:     s.Network.String(),
		APIServerIP:   s.Service().Addr().String(),
		APIServerPort: int(s.Service().Port()),
		ListenAddress: s.Kubelet().String(),
		ServingCert:   d.Key(pki.KubeletCert),
		ServingKey:    d.Key(pki.KubeletKey),
		ClientCA:      d.Key(pki.CA),
		CPUs:          s.CPUs,
		MemoryMiB:     s.MemoryMiB,
		Capacity:      s.Capacity,
	}
}
