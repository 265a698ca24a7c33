package source

import (
	"strings"
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/kubetest"
)

// A watch without version tells what is there and not what is gone: one list says that, once the watch is open.
func TestWatchWithoutVersionListsOnce(t *testing.T) {
	watching(t, func(s *kubetest.Server, d *diary, _ *Watch) {
		sleep(time.Second)
		put(s, "app", 1, "Running")
		put(s, "app", 2, "Running")
		sleep(time.Second)
		s.Fail(kubetest.Fault{Verb: "watch", Status: 410, Reason: "Expired", Message: "too old", Times: 3})
		s.ExpireWatches()
		sleep(200 * time.Millisecond)
		for range 3 {
			s.ExpireWatches()
			sleep(4 * time.Second)
		}
		s.Remove("pods", "default", "app-exec-1")
		sleep(2 * time.Minute)
		if got := d.text(); !strings.HasSuffix(got, "list of 1") && !strings.Contains(got, "gone 1") {
			t.Errorf("nothing says that pod 1 is gone:\n%s", got)
		}
	})
}
