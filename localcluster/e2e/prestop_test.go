//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A stop hook runs to its end within the grace period, which may be as long as the API allows; then the container gets SIGTERM.
// A later deletion can shorten it, and a container that ends by itself ends it all.
func TestStopHooks(t *testing.T) {
	const forever = 1<<31 - 1
	tries := map[string]struct {
		main, hook string
		graces     []int64
		least      time.Duration
		log        []string
	}{
		"patient":   {"trap 'echo term; exit' TERM", "echo begins >/proc/1/fd/1; sleep 3; echo ends >/proc/1/fd/1", []int64{forever}, 3 * time.Second, []string{"begins", "ends", "term"}},
		"shortened": {"trap '' TERM", "sleep 1000", []int64{forever, 1}, time.Second, nil},
		"ended":     {"trap 'echo usr1; exit' USR1; trap 'echo term; exit' TERM", "kill -USR1 1; sleep 1000", []int64{forever}, 0, []string{"usr1"}},
		"deaf":      {"trap '' TERM", "sleep 1000", []int64{1}, time.Second, nil},
	}
	j := newJob(t)
	for name, try := range tries {
		p := shellPod(name, try.main+"; echo traps; while :; do sleep 0.1; done")
		p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
			Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", try.hook}}}}
		j.create(p)
	}
	logs, began, pods := map[string]func() string{}, map[string]time.Time{}, map[string]*corev1.Pod{}
	for name := range tries {
		j.runs(name)
		pods[name] = &j.pods("app=" + name)[0]
		logs[name] = j.follow(pods[name])
	}
	for name := range tries {
		eventually(t, 30*time.Second, name+" sets its traps", func() (bool, string) { text := logs[name](); return text == "traps\n", text })
	}
	for name, try := range tries {
		began[name] = time.Now()
		for _, grace := range try.graces {
			if err := cluster.client.CoreV1().Pods(j.namespace).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &grace}); err != nil {
				t.Fatal(err)
			}
		}
	}
	took := map[string]time.Duration{}
	eventually(t, 30*time.Second, "the pods go", func() (bool, string) {
		left := ""
		for name := range tries {
			if len(j.pods("app="+name)) > 0 {
				left += " " + name
			} else if took[name] == 0 {
				took[name] = time.Since(began[name])
			}
		}
		return left == "", left
	})
	for name, try := range tries {
		want := append([]string{"traps"}, try.log...)
		if got := strings.Fields(logs[name]()); !slices.Equal(got, want) {
			t.Errorf("%s printed %q, expected %q", name, got, want)
		}
		if took[name] < try.least || took[name] > try.least+10*time.Second {
			t.Errorf("%s was gone after %s, expected %s and little more", name, took[name], try.least)
		}
	}
}
