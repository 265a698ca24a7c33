package submit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubespark/kubespark/internal/kubetest"
)

func podOf(t *testing.T, text string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	if err := yaml.UnmarshalStrict([]byte(text), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

func node(cpu, memory string, closed bool) corev1.Node {
	n := corev1.Node{Spec: corev1.NodeSpec{Unschedulable: closed}}
	n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory), "pods": resource.MustParse("110")}
	return n
}

// A driver that cannot start says why, on one line.
func TestPodObstacle(t *testing.T) {
	at := func(s int) metav1.Time { return metav1.NewTime(time.Unix(int64(s), 0)) }
	events := []corev1.Event{
		{Reason: "FailedMount", Message: "old", LastTimestamp: at(1)},
		{Reason: "FailedMount", Message: "MountVolume.SetUp failed for volume \"conf\" :\n configmap \"x\" not found.", LastTimestamp: at(5)},
		{Reason: "Failed", Message: "Error: ErrImagePull", LastTimestamp: at(9)},
		{Reason: "Failed", Message: "Failed to pull image \"i\": denied", LastTimestamp: at(3)},
	}
	const asks = `
spec:
  nodeSelector: {disk: ssd, zone: a}
  containers:
  - {name: spark, resources: {requests: {cpu: "100", memory: 1408Mi}, limits: {memory: 1408Mi, nvidia.com/gpu: 2}}}
  - {name: side, resources: {requests: {cpu: 500m}}}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/3 nodes are available: 3 Insufficient cpu."}]}`
	waiting := func(reason, message string) string {
		return "status: {phase: Pending, containerStatuses: [{name: spark, image: i, state: {waiting: {reason: " + reason + ", message: '" + message + "'}}}]}"
	}
	tests := []struct {
		name, pod string
		nodes     []corev1.Node
		events    []corev1.Event
		want      string
	}{
		{name: "nodes", pod: asks, nodes: []corev1.Node{node("4", "8Gi", false), node("8", "4Gi", false), node("64", "64Gi", true)},
			want: "The driver cannot start: no node takes it. It asks for cpu 100500m, memory 1408Mi, nvidia.com/gpu 2 on a node with disk=ssd, zone=a; " +
				"the 3 nodes have at most cpu 8, memory 8192Mi, nvidia.com/gpu 0 (1 of them closed for new pods). The scheduler says: 0/3 nodes are available: 3 Insufficient cpu"},
		{name: "nodes unknown", pod: asks, want: "The driver cannot start: no node takes it. It asks for cpu 100500m, memory 1408Mi, nvidia.com/gpu 2 on a node with disk=ssd, zone=a. " +
			"The scheduler says: 0/3 nodes are available: 3 Insufficient cpu"},
		{name: "image", pod: waiting("ErrImagePull", "no such\n\n  image"), want: "The driver cannot start: image i of container spark cannot be pulled (ErrImagePull): no such image; " +
			"check the image''s name and spark.kubernetes.container.image.pullSecrets"},
		{name: "image, backing off", pod: waiting("ImagePullBackOff", "Back-off"), events: events,
			want: "The driver cannot start: image i of container spark cannot be pulled (ImagePullBackOff): Failed to pull image \"i\": denied; check the image''s name and spark.kubernetes.container.image.pullSecrets"},
		{name: "configuration", pod: waiting("CreateContainerConfigError", "secret \"s\" not found"),
			want: "The driver cannot start: container spark names something that does not exist (CreateContainerConfigError): secret \"s\" not found"},
		{name: "no tool is misled", pod: waiting("CreateContainerError", "exit code: 7"),
			want: "The driver cannot start: container spark with image i (CreateContainerError): exit code 7"},
		{name: "mount", pod: waiting("ContainerCreating", ""), events: events,
			want: "The driver cannot start: a volume cannot be mounted (FailedMount): MountVolume.SetUp failed for volume \"conf\" : configmap \"x\" not found"},
		{name: "admission", pod: "spec: {schedulingGates: [{name: kubespark.io/companions}, {name: kueue.x-k8s.io/admission}]}\n" +
			"status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: SchedulingGated}]}",
			want: "The driver waits for admission: something else has to remove its scheduling gate kueue.x-k8s.io/admission"},
		{name: "our own gate", pod: "spec: {schedulingGates: [{name: kubespark.io/companions}]}\nstatus: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: SchedulingGated}]}"},
		{name: "nothing", pod: waiting("ContainerCreating", "")},
		{name: "running", pod: "status: {phase: Running}", events: events},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := podObstacle(podOf(t, tt.pod), tt.nodes, tt.events).text
			if want := strings.ReplaceAll(tt.want, "''", "'"); got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
		})
	}
}

// Each obstacle is said once, however its wording changes; events and nodes are asked for only when they help.
func TestObstaclesAreSaidOnce(t *testing.T) {
	_, log, _ := watching(t, waitFor, func(s *kubetest.Server) {
		for _, reason := range []string{"ErrImagePull", "ImagePullBackOff", "ErrImagePull"} {
			set(s, driverPod("Pending", container("spark-kubernetes-driver", object{"waiting": object{"reason": reason, "message": "no such\nimage"}})))
			time.Sleep(20 * time.Second)
		}
		s.Update("pods", "ns", "p", func(o object) {
			o["status"] = object{"phase": "Pending", "conditions": []any{object{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes: Insufficient cpu."}}}
		})
		time.Sleep(20 * time.Second)
		set(s, driverPod("Succeeded"))
	})
	for _, text := range []string{"cannot be pulled", "no node takes it"} {
		if strings.Count(log, "WARN The driver cannot start: ") != 2 || strings.Count(log, text) != 1 {
			t.Errorf("log has %q %d times:\n%s", text, strings.Count(log, text), log)
		}
	}
}

func TestDoctorAsksSparingly(t *testing.T) {
	asked, refused := 0, 0
	d := &doctor{
		events: func(context.Context, *corev1.Pod) ([]corev1.Event, error) {
			asked++
			return []corev1.Event{{Reason: "FailedMount", Message: "m"}}, nil
		},
		nodes: func(context.Context) ([]corev1.Node, error) {
			refused++
			return nil, errors.New("away")
		},
	}
	pod := podOf(t, "spec: {nodeName: n}\nstatus: {phase: Pending, containerStatuses: [{name: s, state: {waiting: {reason: ContainerCreating}}}]}")
	start := time.Unix(1000, 0)
	var said []string
	for s := range 60 {
		if text := d.look(t.Context(), pod, start.Add(time.Duration(s)*time.Second)); text != "" {
			said = append(said, text)
		}
	}
	if len(said) != 1 || asked != 1 || refused != 0 {
		t.Errorf("%d events, %d nodes, said %q", asked, refused, said)
	}
	if text := d.look(t.Context(), podOf(t, "status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]}"), start); refused != 1 || text == "" {
		t.Errorf("%d, %q", refused, text)
	}
}
