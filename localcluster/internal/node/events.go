package node

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// events writes what a kubelet would about a pod.
type events struct{ r record.EventRecorder }

func (e events) pod(pod *corev1.Pod, kind, reason, text string) {
	e.r.Event(podRef(pod, ""), kind, reason, text)
}

func (e events) container(pod *corev1.Pod, name, kind, reason, text string) {
	path := "spec.containers{" + name + "}"
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == name {
			path = "spec.initContainers{" + name + "}"
		}
	}
	e.r.Event(podRef(pod, path), kind, reason, text)
}

func podRef(pod *corev1.Pod, path string) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion, FieldPath: path,
	}
}

// quiet keeps virtual-kubelet's own reasons (ProviderCreateSuccess and the like) out of the pods' events: no kubelet writes them.
type quiet struct{ record.EventRecorder }

func (q quiet) Event(o runtime.Object, kind, reason, message string) {
	if !strings.HasPrefix(reason, "Provider") {
		q.EventRecorder.Event(o, kind, reason, message)
	}
}
