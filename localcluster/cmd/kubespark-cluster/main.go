// Command kubespark-cluster runs a Kubernetes cluster on this machine: `up`, `down`, `status`. It is the node too,
// and starts the control plane from kubespark-control-plane, a program beside it.
package main

import (
	"os"

	"github.com/kubespark/kubespark/internal/version"
	"github.com/kubespark/kubespark/localcluster/internal/cli"
)

func main() { os.Exit(cli.Main(version.Version, os.Args[1:])) }
