package container

import (
	"os"

	_ "github.com/opencontainers/cgroups/devices" // the device rules of the cgroup manager
	"github.com/opencontainers/runc/libcontainer"
	_ "github.com/opencontainers/runc/libcontainer/nsenter" // joins the namespaces before the Go runtime starts
)

// A container's first process is this very program, started again by libcontainer as "init" inside the new namespaces. It must
// turn into the container's command before anything else happens. Go initialises packages in the order of their dependencies
// and then of their paths, so this runs before the Kubernetes client packages set up theirs: a container's start pays for none of
// them. This package must therefore never import k8s.io.
func init() {
	if len(os.Args) == 2 && os.Args[1] == "init" && os.Getenv("_LIBCONTAINER_INITPIPE") != "" {
		libcontainer.Init()
	}
}
