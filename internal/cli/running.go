package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/submit"
)

// runningFlags are kubectl's, with kubectl's meaning.
type runningFlags struct {
	namespace, context, kubeconfig string
	grace                          string
}

func (f *runningFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "namespace of the application (default: that of the kubeconfig's context)")
	cmd.Flags().StringVar(&f.context, "context", "", "kubeconfig context (default: the current one)")
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file (default: KUBECONFIG, else ~/.kube/config)")
}

func (f *runningFlags) run(p Process, code *int, action, id string) error {
	props := map[string]string{}
	if f.context != "" {
		props[conf.KubernetesContext.Key()] = f.context
	}
	if f.grace != "" {
		props[conf.AppKillGracePeriod.Key()] = f.grace
	}
	environ := p.Environ
	if f.kubeconfig != "" {
		environ = append(environ[:len(environ):len(environ)], "KUBECONFIG="+f.kubeconfig)
	}
	op := operation{action: action, id: id, conf: conf.New(props), shown: "the cluster of the kubeconfig", namespace: f.namespace}
	var err error
	*code, err = op.run(p, environ)
	var e *submit.Error
	if errors.As(err, &e) {
		return e
	}
	return err
}

func killCobra(p Process, code *int) *cobra.Command {
	cmd, f := runningCobra(p, code, submit.ActionKill)
	cmd.Use, cmd.Short = "kill [namespace:]driver-pod", "End an application; a trailing * matches all driver pods that begin so"
	cmd.Flags().StringVar(&f.grace, "grace-period", "", "time for the driver to end by itself, such as 30s (default: the pod's own)")
	return cmd
}

func statusCobra(p Process, code *int) *cobra.Command {
	cmd, _ := runningCobra(p, code, submit.ActionStatus)
	cmd.Use, cmd.Short = "status [namespace:]driver-pod", "Print the state of an application's driver; a trailing * matches all driver pods that begin so"
	return cmd
}

// runningCobra is a command that does one thing to the driver pods of a submission id.
func runningCobra(p Process, code *int, action string) (*cobra.Command, *runningFlags) {
	f := &runningFlags{}
	cmd := &cobra.Command{
		GroupID: groupRunning,
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, list []string) error {
			return f.run(p, code, action, list[0])
		},
	}
	f.register(cmd)
	return cmd, f
}
