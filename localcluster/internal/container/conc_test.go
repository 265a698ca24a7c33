package container

import (
	"fmt"
	"os"
	"runtime/pprof"
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
				pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			}
		})
	}
	wg.Wait()
}
