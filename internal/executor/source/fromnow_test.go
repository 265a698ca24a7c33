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

// What went while no watch was open is told by no event of a watch without version: the list beside it says it, and goes on
// trying until it can.
func TestGoneBeforeWatchWithoutVersion(t *testing.T) {
	for name, faults := range map[string][]kubetest.Fault{
		"at once":              nil,
		"the list fails first": {{Verb: "list", Status: 500, Reason: "InternalError", Message: "no", Times: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			watching(t, func(s *kubetest.Server, d *diary, _ *Watch) {
				sleep(time.Second)
				put(s, "app", 1, "Running")
				put(s, "app", 2, "Running")
				sleep(time.Second)
				s.Fail(kubetest.Fault{Verb: "watch", Status: 410, Reason: "Expired", Message: "too old", Times: 2})
				s.ExpireWatches() // 410 the first; the others follow after 0.1 and 1 s, the watch without version after 2 s more
				sleep(2 * time.Second)
				before := d.text()
				for _, f := range faults {
					s.Fail(f)
				}
				s.Remove("pods", "default", "app-exec-1")
				sleep(time.Minute)
				told, _ := strings.CutPrefix(d.text(), before)
				if strings.Contains(told, "gone 1") || strings.Count(told, "list of") != 1 || !strings.Contains(told, "list of 1") || !strings.Contains(told, "pod 2") {
					t.Errorf("a watch without version was to open, and a list to say that pod 1 is gone:\n%s\nand then\n%s", before, told)
				}
			})
		})
	}
}
