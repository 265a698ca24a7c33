// Command kubespark-control-plane holds the local cluster's control plane in one file: etcd, kube-apiserver,
// kube-scheduler, kube-controller-manager and kubectl. Its first argument names the one to be, and each runs as a
// process of its own, because several of them take the process's signal handlers. kubespark-cluster starts it.
//
// It is the only program here that imports k8s.io/kubernetes, which takes minutes to compile. Link it with
//
//	-X k8s.io/component-base/version.gitVersion=v1.37.2 -X k8s.io/component-base/version.gitMajor=1
//	-X k8s.io/component-base/version.gitMinor=37
//
// or the API server calls itself v0.0.0-master.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of the API clients
	_ "k8s.io/component-base/metrics/prometheus/version"  // the build_info metric
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// component is one program of the control plane. Run reads os.Args, whose first element is the component's name,
// and returns the exit code.
type component struct {
	name string
	run  func() int
}

func components() []component {
	return []component{
		{"etcd", func() int { etcdmain.Main(os.Args); return 0 }},
		{"kube-apiserver", func() int { return cli.Run(apiserver.NewAPIServerCommand()) }},
		{"kube-scheduler", func() int { return cli.Run(scheduler.NewSchedulerCommand()) }},
		{"kube-controller-manager", func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) }},
		{"kubectl", runKubectl},
	}
}

// runKubectl lets kubectl word its own errors and exit codes.
func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}

func main() {
	all := components()
	var names []string
	for _, c := range all {
		names = append(names, c.name)
	}
	if len(os.Args) < 2 {
		fmt.Fprintf(os.Stderr, "usage: kubespark-control-plane COMPONENT [ARGUMENT...], where COMPONENT is one of %s\n", strings.Join(names, ", "))
		os.Exit(2)
	}
	i := slices.Index(names, os.Args[1])
	if i < 0 {
		fmt.Fprintf(os.Stderr, "kubespark-control-plane: there is no component %q: name one of %s\n", os.Args[1], strings.Join(names, ", "))
		os.Exit(2)
	}
	os.Args = os.Args[1:]
	os.Exit(all[i].run())
}
