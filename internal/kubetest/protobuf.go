package kubetest

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const protobufType = "application/vnd.kubernetes.protobuf"

// wantsProtobuf says whether the first choice of a request is protobuf.
func wantsProtobuf(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Accept"), protobufType)
}

// inProtobuf is an object as a real server sends it in protobuf. Of the kinds that it does not know, and of objects that do not fit
// their types, it says no: they go in JSON.
func inProtobuf(obj Object) ([]byte, bool) {
	var typed interface{ Marshal() ([]byte, error) }
	switch obj["kind"] {
	case "Pod":
		typed = &corev1.Pod{}
	case "Status":
		typed = &metav1.Status{}
	default:
		return nil, false
	}
	text, err := json.Marshal(obj)
	if err != nil || json.Unmarshal(text, typed) != nil {
		return nil, false
	}
	raw, err := typed.Marshal()
	if err != nil {
		return nil, false
	}
	kind, _ := obj["kind"].(string)
	version, _ := obj["apiVersion"].(string)
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: kind, APIVersion: version}, Raw: raw}
	out, err := envelope.Marshal()
	return append([]byte("k8s\x00"), out...), err == nil
}

// frame is an event of a watch in protobuf.
func frame(kind string, obj Object) ([]byte, bool) {
	raw, ok := inProtobuf(obj)
	if !ok {
		return nil, false
	}
	event, err := (&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: raw}}).Marshal()
	if err != nil {
		return nil, false
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...), true
}
