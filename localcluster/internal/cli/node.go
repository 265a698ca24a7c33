package cli

import (
	"github.com/spf13/cobra"

	"github.com/kubespark/kubespark/localcluster/internal/node"
	"github.com/kubespark/kubespark/localcluster/internal/pki"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
)

func (a *App) nodeCommand() *cobra.Command {
	number := 0
	c := &cobra.Command{
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
			return node.Run(c.Context(), nodeOptions(d, r.Spec, number))
		},
	}
	c.Flags().IntVar(&number, "number", 0, "which of the nodes it is, from 0")
	return c
}

func nodeOptions(d statedir.Dir, s statedir.Spec, number int) node.Options {
	o := node.Options{
		Name:          s.NodeNames()[number],
		Kubeconfig:    d.Key(pki.ForNode(pki.NodeConf, number)),
		StateDir:      d.Node(number),
		PodIPBase:     s.PodNetwork(number).String(),
		APIServerIP:   s.Service().Addr().String(),
		APIServerPort: int(s.Service().Port()),
		ListenAddress: s.Kubelet(number).String(),
		ServingCert:   d.Key(pki.ForNode(pki.KubeletCert, number)),
		ServingKey:    d.Key(pki.ForNode(pki.KubeletKey, number)),
		ClientCA:      d.Key(pki.CA),
		CPUs:          s.CPUs,
		MemoryMiB:     s.MemoryMiB,
		Capacity:      s.Capacity,
	}
	if number == 0 { // the cluster's own services run on the first one
		o.Provision, o.ServeMetrics, o.ClientCert, o.ClientKey = true, true, d.Key(pki.KubeletClientCert), d.Key(pki.KubeletClientKey)
		for i := 1; i < s.NodeCount(); i++ {
			o.OtherNodes = append(o.OtherNodes, s.Kubelet(i).String())
		}
	}
	return o
}
