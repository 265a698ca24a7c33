package api

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// What the server sends for each pod of a watch or a create is asked for in protobuf, and the few fields that the manager reads are
// taken out of it where they lie: a pod of 9 KB takes some microseconds and hardly any memory, a tenth of what JSON takes, and the
// server saves as much. Field numbers are those of k8s.io/api/core/v1/generated.proto, which never change.

// Media types, the better one first. A server that knows no protobuf answers in JSON.
const (
	protobufOrJSON      = "application/vnd.kubernetes.protobuf,application/json"
	protobufOrJSONWatch = "application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch"
)

// magic stands before every object of Kubernetes in protobuf, which is in an envelope (runtime.Unknown).
var magic = []byte("k8s\x00")

// maxFrame bounds an event of a watch; an object of etcd has 1.5 MiB at most.
const maxFrame = 16 << 20

// keptFrame bounds the buffer that one event leaves for the next.
const keptFrame = 256 << 10

// decodeFrames reads the events of a watch in protobuf: each has its length, in four bytes, before it.
func decodeFrames(body io.Reader, f func(Event)) error {
	var length [4]byte
	var buffer []byte
	for {
		if _, err := io.ReadFull(body, length[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		n := binary.BigEndian.Uint32(length[:])
		if n > maxFrame {
			return fmt.Errorf("%w: it claims to have %d bytes", ErrDecode, n)
		}
		if int(n) > cap(buffer) || cap(buffer) > keptFrame {
			buffer = make([]byte, n)
		}
		buffer = buffer[:n]
		if _, err := io.ReadFull(body, buffer); err != nil {
			return err
		}
		e, err := eventOf(buffer)
		if err != nil {
			return err
		}
		f(e)
	}
}

// eventOf reads a metav1.WatchEvent.
func eventOf(msg []byte) (Event, error) {
	var e Event
	var object []byte
	err := fields(msg, func(number protowire.Number, b []byte, _ uint64) error {
		switch number {
		case 1:
			e.Type = string(b)
		case 2:
			return nested(b, []protowire.Number{1}, func(b []byte) error { // RawExtension.raw
				object = b
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return e, fmt.Errorf("%w: %w", ErrDecode, err)
	}
	raw, err := unwrap(object)
	if err != nil {
		return e, fmt.Errorf("%w: %w", ErrDecode, err)
	}
	if e.Type == "ERROR" {
		var s metav1.Status
		if err := s.Unmarshal(raw); err != nil {
			return e, fmt.Errorf("%w: %w", ErrDecode, err)
		}
		return e, statusError(s)
	}
	if e.Pod, err = podOf(raw); err != nil {
		return e, fmt.Errorf("%w: %w", ErrDecode, err)
	}
	e.Version = e.Pod.Metadata.ResourceVersion
	return e, nil
}

// unwrap takes an object out of its envelope.
func unwrap(object []byte) (raw []byte, err error) {
	envelope, ok := bytes.CutPrefix(object, magic)
	if !ok {
		return nil, errors.New("an object in protobuf has no mark of Kubernetes")
	}
	err = nested(envelope, []protowire.Number{2}, func(b []byte) error {
		raw = b
		return nil
	})
	return raw, err
}

// fields hands each field of a message to f: number, and the value, bytes or a number by its kind.
func fields(msg []byte, f func(number protowire.Number, b []byte, n uint64) error) error {
	for len(msg) > 0 {
		number, kind, size := protowire.ConsumeTag(msg)
		if size < 0 {
			return protowire.ParseError(size)
		}
		msg = msg[size:]
		var b []byte
		var n uint64
		switch kind {
		case protowire.BytesType:
			b, size = protowire.ConsumeBytes(msg)
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(msg)
		default:
			size = protowire.ConsumeFieldValue(number, kind, msg)
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		msg = msg[size:]
		if err := f(number, b, n); err != nil {
			return err
		}
	}
	return nil
}

// text is a field that is a string, and where it goes.
type text struct {
	number protowire.Number
	to     *string
}

// texts reads a message of which nothing but strings is wanted.
func texts(msg []byte, all ...text) error {
	return fields(msg, func(number protowire.Number, b []byte, _ uint64) error {
		for _, t := range all {
			if t.number == number {
				*t.to = string(b)
			}
		}
		return nil
	})
}

// podOf reads the fields of a v1.Pod that snapshot.Wire has.
func podOf(msg []byte) (*snapshot.Wire, error) {
	w := &snapshot.Wire{}
	return w, fields(msg, func(number protowire.Number, b []byte, _ uint64) error {
		switch number {
		case 1:
			return metadata(&w.Metadata, b)
		case 2:
			return podSpec(&w.Spec, b)
		case 3:
			return podStatus(&w.Status, b)
		}
		return nil
	})
}

func metadata(m *snapshot.WireMeta, msg []byte) error {
	return fields(msg, func(number protowire.Number, b []byte, _ uint64) (err error) {
		switch number {
		case 1:
			m.Name = string(b)
		case 3:
			m.Namespace = string(b)
		case 5:
			m.UID = string(b)
		case 6:
			m.ResourceVersion = string(b)
		case 8:
			m.CreationTimestamp, err = timeOf(b)
		case 9:
			m.DeletionTimestamp, err = timeOf(b)
		case 11:
			if m.Labels == nil {
				m.Labels = map[string]string{}
			}
			return pair(m.Labels, b)
		case 13:
			var owner snapshot.WireOwner
			err = texts(b, text{4, &owner.UID})
			m.OwnerReferences = append(m.OwnerReferences, owner)
		}
		return err
	})
}

// pair puts an entry of a map into m.
func pair(m map[string]string, msg []byte) error {
	var key, value string
	err := texts(msg, text{1, &key}, text{2, &value})
	m[key] = value
	return err
}

// timeOf is a metav1.Time as JSON has it; without content it is no time.
func timeOf(msg []byte) (string, error) {
	if len(msg) == 0 {
		return "", nil
	}
	var seconds uint64
	err := fields(msg, func(number protowire.Number, _ []byte, n uint64) error {
		if number == 1 {
			seconds = n
		}
		return nil
	})
	return time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339), err
}

func podSpec(s *snapshot.WireSpec, msg []byte) error {
	return fields(msg, func(number protowire.Number, b []byte, _ uint64) error {
		switch number {
		case 1:
			return volume(s, b)
		case 3:
			s.RestartPolicy = string(b)
		case 10:
			s.NodeName = string(b)
		}
		return nil
	})
}

func volume(s *snapshot.WireSpec, msg []byte) error {
	var v snapshot.WireVolume
	err := nested(msg, []protowire.Number{2, 10}, func(b []byte) error { // volumeSource, persistentVolumeClaim
		v.Claim = &snapshot.WireClaim{}
		return texts(b, text{1, &v.Claim.Name})
	})
	s.Volumes = append(s.Volumes, v)
	return err
}

// nested calls f with the field at the end of a path of fields, if there is one.
func nested(msg []byte, path []protowire.Number, f func(b []byte) error) error {
	if len(path) == 0 {
		return f(msg)
	}
	return fields(msg, func(number protowire.Number, b []byte, _ uint64) error {
		if number != path[0] {
			return nil
		}
		return nested(b, path[1:], f)
	})
}

func podStatus(s *snapshot.WireStatus, msg []byte) error {
	return fields(msg, func(number protowire.Number, b []byte, _ uint64) error {
		switch number {
		case 1:
			s.Phase = string(b)
		case 2:
			return condition(s, b)
		case 3:
			s.Message = string(b)
		case 4:
			s.Reason = string(b)
		case 6:
			s.PodIP = string(b)
		case 8:
			return containerStatus(&s.ContainerStatuses, b)
		case 10:
			return containerStatus(&s.InitContainerStatuses, b)
		}
		return nil
	})
}

func condition(s *snapshot.WireStatus, msg []byte) error {
	var c snapshot.WireCondition
	err := texts(msg, text{1, &c.Type}, text{2, &c.Status}, text{5, &c.Reason}, text{6, &c.Message})
	s.Conditions = append(s.Conditions, c)
	return err
}

func containerStatus(all *[]snapshot.WireContainer, msg []byte) error {
	var c snapshot.WireContainer
	err := fields(msg, func(number protowire.Number, b []byte, n uint64) error {
		switch number {
		case 1:
			c.Name = string(b)
		case 2:
			return containerState(&c.State, b)
		case 3:
			return containerState(&c.LastState, b)
		case 5:
			c.RestartCount = int(int32(n))
		case 6:
			c.Image = string(b)
		}
		return nil
	})
	*all = append(*all, c)
	return err
}

func containerState(s *snapshot.WireState, msg []byte) error {
	return fields(msg, func(number protowire.Number, b []byte, _ uint64) error {
		switch number {
		case 1:
			s.Waiting = &snapshot.WireWaiting{}
			return texts(b, text{1, &s.Waiting.Reason}, text{2, &s.Waiting.Message})
		case 2:
			s.Running = &snapshot.WireRunning{}
			return nested(b, []protowire.Number{1}, func(b []byte) (err error) {
				s.Running.StartedAt, err = timeOf(b)
				return err
			})
		case 3:
			s.Terminated = &snapshot.WireTerminated{}
			return terminated(s.Terminated, b)
		}
		return nil
	})
}

func terminated(s *snapshot.WireTerminated, msg []byte) error {
	return fields(msg, func(number protowire.Number, b []byte, n uint64) (err error) {
		switch number {
		case 1:
			s.ExitCode = int(int32(n))
		case 3:
			s.Reason = string(b)
		case 4:
			s.Message = string(b)
		case 5:
			s.StartedAt, err = timeOf(b)
		case 6:
			s.FinishedAt, err = timeOf(b)
		}
		return err
	})
}
