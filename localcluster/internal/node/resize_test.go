package node

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func memory(q string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(q)}}
}

func TestResizeNeedsARestart(t *testing.T) {
	restart := []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer}}
	live := []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.NotRequired}}
	for name, tc := range map[string]struct {
		policy   []corev1.ContainerResizePolicy
		from, to string
		want     bool
	}{
		"a policy that says so":    {restart, "1Gi", "2Gi", true},
		"nothing has changed":      {restart, "1Gi", "1024Mi", false},
		"a policy that says live":  {live, "1Gi", "2Gi", false},
		"no policy: live, as well": {nil, "1Gi", "2Gi", false},
	} {
		c := &corev1.Container{ResizePolicy: tc.policy, Resources: memory(tc.to)}
		if got := needsRestart(c, memory(tc.from)); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Conditions are merged by type, so that one which is no more has to be deleted by name.
func TestStatusPatchDeletesConditions(t *testing.T) {
	condition := func(kinds ...corev1.PodConditionType) *corev1.PodStatus {
		st := &corev1.PodStatus{}
		for _, k := range kinds {
			st.Conditions = append(st.Conditions, corev1.PodCondition{Type: k, Status: corev1.ConditionTrue})
		}
		return st
	}
	body, err := statusPatch(&corev1.Pod{}, condition(corev1.PodReady, corev1.PodResizeInProgress), condition(corev1.PodReady))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Status struct{ Conditions []map[string]any }
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	list := got.Status.Conditions
	if len(list) != 2 || list[0]["type"] != "Ready" || list[0]["$patch"] != nil || list[1]["type"] != "PodResizeInProgress" || list[1]["$patch"] != "delete" {
		t.Errorf("conditions %v", list)
	}
	body, err = statusPatch(&corev1.Pod{}, nil, condition())
	if err != nil || string(body) != `{"metadata":{"uid":""},"status":{}}` {
		t.Errorf("first status: %s, %v", body, err)
	}
}

func TestCPURates(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	at := func(s float64) time.Time { return start.Add(time.Duration(s * float64(time.Second))) }
	cpu := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	var r rates
	var got []uint64
	for _, q := range []struct{ at, used float64 }{
		{10, 5},    // since its start: half a CPU
		{11, 6},    // asked again at once: since its start
		{20, 26},   // since 10 s before: more than two
		{100, 106}, // nobody has asked for long: since its start
	} {
		got = append(got, r.of("a", cpu(q.used), start, at(q.at))/1e6)
	}
	if d := cmp.Diff([]uint64{500, 545, 2100, 1060}, got); d != "" {
		t.Error(d)
	}
	if n := r.of("machine", cpu(1000), at(100), at(100)); n != 0 {
		t.Errorf("without a start the first answer is %d", n)
	}
	if n := r.of("machine", cpu(1003), at(102), at(102)); n != 1.5e9 {
		t.Errorf("then it is %d", n)
	}
	r.forget(at(200))
	if len(r.seen) != 0 {
		t.Errorf("kept: %v", r.seen)
	}
}

func TestMachineUsage(t *testing.T) {
	busy, used := parseMachine("cpu  100 10 40 9999 888 1 2 3 0 0\ncpu0 1 2 3\n", "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\n")
	if busy != 1560*time.Millisecond || used != 600<<10 {
		t.Errorf("busy %s, used %d", busy, used)
	}
}
