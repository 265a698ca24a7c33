package container

import (
	"os"
	"runtime"

	_ "github.com/opencontainers/cgroups/devices" // the device rules of the cgroup manager
	"github.com/opencontainers/runc/libcontainer"
	_ "github.com/opencontainers/runc/libcontainer/nsenter" // joins the namespaces before the Go runtime starts
)

// A container's first process is this very program, started again by libcontainer as "init" inside the new namespaces. It must turn
// into the container's command before the program does anything of its own, so this is done while packages are initialised and not in
// main. A package is initialised as soon as those that it imports are: as this one imports nothing of Kubernetes, it comes before the most
// of that (10 of 28 ms and 1.7 of 3.6 MB, measured). It must therefore never import k8s.io.
//
// It also keeps the process's first thread for main alone: libcontainer opens the sources of mounts on a thread that joins the
// container's mount namespace and then ends, but the first thread cannot end, and /proc/self, which is that thread's, would show the
// container's mounts for ever.
func init() {
	runtime.LockOSThread()
	if len(os.Args) == 2 && os.Args[1] == "init" && os.Getenv("_LIBCONTAINER_INITPIPE") != "" {
		libcontainer.Init()
	}
}
