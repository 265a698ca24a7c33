package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/kubespark/kubespark/internal/feature"
)

// PodBuild asks the driver's JVM to run the user's own feature steps on a pod that is complete but for them.
type PodBuild struct {
	ExecutorID string
	Profile    int
	Steps      []string // classes, in their order
	DriverPod  string   // name, empty: none
	DriverUID  string
	Pod        json.RawMessage // without the Spark container
	Container  json.RawMessage
}

// PodBuilt is what the steps made of it.
type PodBuilt struct {
	Pod       json.RawMessage
	Container json.RawMessage
	Objects   []json.RawMessage // to create beside the pod
}

// buildWait is how long the driver may take for one pod.
const buildWait = 10 * time.Second

// stepError is an error of the user's steps or of the way to them, not of the settings.
type stepError struct{ err error }

func (e *stepError) Error() string { return e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// finish makes the JSON of a built pod; the steps of the user run in the driver's JVM, and may want objects beside it (PX2).
// It waits for them, so it must not be called on the owner goroutine.
func (m *Manager) finish(ctx context.Context, in feature.ExecutorInput, spec feature.ExecutorSpec) (body []byte,
	objects []json.RawMessage, err error) {
	body, err = podBody(spec, in)
	if err != nil || len(spec.UserSteps) == 0 {
		return body, nil, err
	}
	ask := PodBuild{ExecutorID: in.ExecutorID, Profile: in.Profile.ID, Steps: spec.UserSteps}
	if in.Driver != nil {
		ask.DriverPod, ask.DriverUID = in.Driver.Name, string(in.Driver.UID)
	}
	if ask.Pod, ask.Container, err = split(body); err != nil {
		return nil, nil, err
	}
	got, err := m.runSteps(ctx, ask)
	if err != nil {
		return nil, nil, &stepError{err}
	}
	if body, err = join(got.Pod, got.Container); err != nil {
		return nil, nil, &stepError{err}
	}
	return body, got.Objects, nil
}

func (m *Manager) runSteps(ctx context.Context, ask PodBuild) (PodBuilt, error) {
	type answer struct {
		built PodBuilt
		err   error
	}
	got := make(chan answer, 1)
	m.driver.Build(ask, func(b PodBuilt, err error) { got <- answer{b, err} })
	timer := time.NewTimer(buildWait)
	defer timer.Stop()
	select {
	case a := <-got:
		return a.built, a.err
	case <-timer.C:
		return PodBuilt{}, fmt.Errorf("the feature steps of spark.kubernetes.executor.pod.featureSteps took more than %s", buildWait)
	case <-ctx.Done():
		return PodBuilt{}, ctx.Err()
	}
}

type jsonTree = map[string]any

func decodeTree(body []byte) (jsonTree, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var t jsonTree
	if err := dec.Decode(&t); err != nil {
		return nil, fmt.Errorf("the executor pod's JSON cannot be read: %w", err)
	}
	return t, nil
}

// split takes the Spark container, which stands last, out of a pod.
func split(body []byte) (pod, container json.RawMessage, err error) {
	t, err := decodeTree(body)
	if err != nil {
		return nil, nil, err
	}
	spec, _ := t["spec"].(jsonTree)
	all, _ := spec["containers"].([]any)
	if len(all) == 0 {
		return nil, nil, errors.New("the executor pod has no container")
	}
	if container, err = json.Marshal(all[len(all)-1]); err != nil {
		return nil, nil, err
	}
	spec["containers"] = all[:len(all)-1]
	pod, err = json.Marshal(t)
	return pod, container, err
}

// join puts the Spark container back.
func join(pod, container json.RawMessage) ([]byte, error) {
	t, err := decodeTree(pod)
	if err != nil {
		return nil, err
	}
	c, err := decodeTree(container)
	if err != nil {
		return nil, err
	}
	spec, _ := t["spec"].(jsonTree)
	if spec == nil {
		return nil, errors.New("the feature steps gave a pod without a spec")
	}
	all, _ := spec["containers"].([]any)
	spec["containers"] = append(all, c)
	return json.Marshal(t)
}

func isClaim(o json.RawMessage) bool {
	var head struct{ Kind string }
	return json.Unmarshal(o, &head) == nil && head.Kind == "PersistentVolumeClaim"
}
