package api

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// envelope is an object as the server sends it in protobuf.
func envelope(t *testing.T, kind string, obj interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	raw, err := obj.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	out, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("k8s\x00"), out...)
}

func eventFrame(t *testing.T, kind string, object []byte) []byte {
	t.Helper()
	raw, err := (&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...)
}

// somePods have every field that the manager reads, and many that it does not.
func somePods() map[string]*corev1.Pod {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	full := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", UID: "u", ResourceVersion: "42", Generation: 3, CreationTimestamp: at, DeletionTimestamp: &at,
			Labels: map[string]string{"a": "b", "empty": ""}, Annotations: map[string]string{"x": strings.Repeat("y", 300)}, Finalizers: []string{"f"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "driver", UID: "d1"}, {UID: "d2"}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "m", Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}},
		Spec: corev1.PodSpec{NodeName: "node", RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i", Args: []string{"x"}}},
			Volumes: []corev1.Volume{
				{Name: "e", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim", ReadOnly: true}}},
			}},
		Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "why", PodIP: "10.0.0.1", HostIP: "10.0.0.2", StartTime: &at,
			PodIPs:     []corev1.PodIP{{IP: "10.0.0.1"}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1", LastProbeTime: at}},
			InitContainerStatuses: []corev1.ContainerStatus{
				{Name: "init", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no"}}}},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "c", Image: "i", RestartCount: 2, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Signal: 9, Reason: "OOMKilled",
					Message: "m", StartedAt: at, FinishedAt: at, ContainerID: "id"}},
					LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: -1}}},
				{Name: "d", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}, Ready: true},
				{Name: "e", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			}},
	}
	return map[string]*corev1.Pod{"full": full, "empty": {}, "bookmark": {ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}}
}

// What is read from protobuf is what is read from JSON.
func TestProtobufIsAsJSON(t *testing.T) {
	for name, pod := range somePods() {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(pod)
			if err != nil {
				t.Fatal(err)
			}
			want, err := decodePod(text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodePod(envelope(t, "Pod", pod))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A watch in either form gives the same events, also over a buffer that is used again.
func TestEventsInBothForms(t *testing.T) {
	var inProtobuf, inJSON bytes.Buffer
	types := map[string]string{"full": "MODIFIED", "empty": "ADDED", "bookmark": "BOOKMARK"}
	for name, pod := range somePods() {
		inProtobuf.Write(eventFrame(t, types[name], envelope(t, "Pod", pod)))
		if err := json.NewEncoder(&inJSON).Encode(map[string]any{"type": types[name], "object": pod}); err != nil {
			t.Fatal(err)
		}
	}
	read := func(b *bytes.Buffer) (all []Event) {
		if err := decodeEvents(b, func(e Event) { all = append(all, e) }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := read(&inJSON)
	if len(want) != 3 {
		t.Fatalf("%d events", len(want))
	}
	if diff := cmp.Diff(want, read(&inProtobuf)); diff != "" {
		t.Error(diff)
	}
}

func TestEndsOfAWatch(t *testing.T) {
	gone := &metav1.Status{Status: "Failure", Code: 410, Reason: metav1.StatusReasonExpired, Message: "too old"}
	text, err := json.Marshal(map[string]any{"type": "ERROR", "object": gone})
	if err != nil {
		t.Fatal(err)
	}
	whole := eventFrame(t, "ADDED", envelope(t, "Pod", &corev1.Pod{}))
	for _, tt := range []struct {
		name string
		body []byte
		want error
	}{
		{"nothing", nil, nil},
		{"expired, protobuf", eventFrame(t, "ERROR", envelope(t, "Status", gone)), ErrExpired},
		{"expired, JSON", text, ErrExpired},
		{"no envelope", eventFrame(t, "ADDED", []byte("pod")), ErrDecode},
		{"no event", []byte{0, 0, 0, 1, 0xff}, ErrDecode},
		{"a length beyond all bounds", []byte{0x7f, 0xff, 0xff, 0xff, 0}, ErrDecode},
		{"no JSON", []byte(`{"type":nothing}`), ErrDecode},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := decodeEvents(bytes.NewReader(tt.body), func(Event) { t.Error("an event") })
			if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
	if err := decodeEvents(bytes.NewReader(whole[:len(whole)-1]), func(Event) { t.Error("half an event") }); err == nil || errors.Is(err, ErrDecode) {
		t.Errorf("a broken connection: %v", err)
	}
}

// Nothing that comes over the wire may end the manager.
func FuzzPodOf(f *testing.F) {
	for _, pod := range somePods() {
		raw, err := pod.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		f.Add(raw[:len(raw)/2])
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		w, err := podOf(raw)
		if err == nil {
			(&snapshot.Reader{Container: "c"}).Read(w)
		}
	})
}

func BenchmarkDecodePod(b *testing.B) {
	pod := somePods()["full"]
	pod.Annotations["x"] = strings.Repeat("y", 8000)
	raw, err := pod.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(pod)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("protobuf", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := podOf(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("JSON", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := decodePod(text); err != nil {
				b.Fatal(err)
			}
		}
	})
}
