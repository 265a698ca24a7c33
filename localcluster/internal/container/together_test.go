package container

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Containers that start at the same time must not keep each other's output open: the end of one would not be seen before another's.
func TestContainersStartedTogetherEndApart(t *testing.T) {
	r := newRuntime(t)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			script := "echo done"
			if i%2 == 0 {
				script = "exec sleep 1000"
			}
			c, err := r.Start(sh(fmt.Sprintf("c%d", i), script, nil))
			if err != nil {
				t.Error(err)
				return
			}
			if i%2 == 0 {
				return
			}
			select {
			case <-c.Done():
			case <-time.After(10 * time.Second):
				t.Errorf("container %d ended, but its end was not seen", i)
			}
		})
	}
	wg.Wait()
}

// /proc/self is the first thread's view: a container's mounts in it would be taken for the host's.
func TestContainersLeaveThisProcessItsMounts(t *testing.T) {
	r := newRuntime(t)
	source := t.TempDir()
	var all sync.WaitGroup
	for n := range 24 {
		all.Go(func() {
			var out output
			s := sh(fmt.Sprintf("crowd-%d", n), "test -d /opt/elsewhere", &out)
			s.Mounts = []Mount{{Source: source, Destination: "/opt/elsewhere", ReadOnly: true}}
			if exit := runToEnd(t, r, s); exit.Code != 0 {
				t.Errorf("container %d: %+v %s", n, exit, out.String())
			}
		})
	}
	all.Wait()
	own, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(own), "/opt/elsewhere") {
		t.Error("the process's first thread is in a container's mount namespace")
	}
}
