//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A driver that cannot start says why, once, in words that a person acts on; the submission waits until somebody has acted,
// here by deleting the pod. One that ends for want of memory says that, and its exit code is the command's.
func TestDriverThatCannotStart(t *testing.T) {
	nodes, err := cluster.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 {
		t.Fatalf("%d nodes, %v", len(nodes.Items), err)
	}
	has := nodes.Items[0].Status.Allocatable
	unschedulable := func(asks, more, scheduler string) string {
		return fmt.Sprintf("no node takes it. It asks for %s; the one node has cpu %s, memory %dMi%s. The scheduler says: 0/1 nodes are available: %s",
			asks, has.Cpu(), has.Memory().Value()>>20, more, scheduler)
	}
	const gpu = "spark.driver.resource.gpu."
	for _, tt := range []struct {
		name string
		conf []string
		says string
	}{
		{"too big for every node", []string{"spark.kubernetes.driver.request.cores=5000"},
			unschedulable("cpu 5k, memory 896Mi", "", "1 Insufficient cpu.")},
		{"a device that no node has", []string{gpu + "amount=2", gpu + "vendor=nvidia.com", gpu + "discoveryScript=/none"},
			unschedulable("cpu 1, memory 896Mi, nvidia.com/gpu 2", ", nvidia.com/gpu 0", "1 Insufficient nvidia.com/gpu.")},
		{"a label that no node has", []string{"spark.kubernetes.driver.node.selector.disk=ssd"},
			unschedulable("cpu 1, memory 896Mi on a node with disk=ssd", "", "1 node(s) didn't match Pod's node affinity/selector.")},
		{"an image that is not there", []string{"spark.kubernetes.driver.container.image=kubespark/none:1"},
			"image kubespark/none:1 of container spark-kubernetes-driver cannot be pulled (ErrImagePull): "},
		{"a volume that is not there", []string{"spark.kubernetes.driver.secrets.nosuch=/secrets"}, "a volume cannot be mounted (FailedMount): "},
		{"a key that is not there", []string{"spark.kubernetes.driver.secretKeyRef.PASSWORD=nosuch:key"},
			"container spark-kubernetes-driver names something that does not exist (CreateContainerConfigError): "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const start = "WARN LoggingPodStatusWatcherImpl: The driver cannot start: "
			j := newJob(t).with(tt.conf...).submit(pi)
			if said := j.awaitLine(start, time.Minute); !strings.Contains(said, start+tt.says) {
				t.Errorf("submit says\n%s\nwant\n%s", said, start+tt.says)
			} else {
				t.Log(said)
			}
			zero := int64(0)
			if err := cluster.client.CoreV1().Pods(j.namespace).Delete(t.Context(), j.driver().Name, metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
				t.Fatal(err)
			}
			j.exits(1)
			if n := strings.Count(j.output.String(), "The driver cannot start: "); n != 1 {
				t.Errorf("said %d times", n)
			}
			if last := j.lastLine(); !strings.HasSuffix(last, "the driver pod was deleted") {
				t.Errorf("last line: %s", last)
			}
		})
	}
	t.Run("too little memory", func(t *testing.T) {
		t.Parallel()
		j := newJob(t).withApps()
		j.submit("local:///apps/hog.py").exits(137)
		want := "the driver exited with 137 (OOMKilled): it needed more memory than its limit of 896Mi; raise spark.driver.memory, or spark.driver.memoryOverhead for what is beside the heap"
		if last := j.lastLine(); !strings.HasSuffix(last, want) {
			t.Errorf("last line: %s", last)
		}
		if s := j.driver().Status; s.Phase != corev1.PodFailed {
			t.Errorf("%+v", s)
		}
	})
}

// awaitLine waits until the command has printed a line with the text, and gives that line.
func (j *job) awaitLine(text string, limit time.Duration) (found string) {
	j.t.Helper()
	eventually(j.t, limit, "submit says "+text, func() (bool, string) {
		out := j.output.String()
		for line := range strings.Lines(out) {
			if strings.Contains(line, text) {
				found = strings.TrimSpace(line)
				return true, ""
			}
		}
		return false, tail(out, 5)
	})
	return found
}
