// Package snapshot holds what the manager knows of the application's executor pods: one small record a pod, the rules that
// make a state of a pod (spec P1 to P12), and the store that keeps the newest record of each and hands every change to its
// readers in order. The sources write it, the allocator and the lifecycle manager read it. Nothing here calls the cluster
// or a clock.
//
// It answers to Spark's ExecutorPodState, ExecutorPodsSnapshot and ExecutorPodsSnapshotsStore.
package snapshot

import (
	"strconv"
	"time"
)

// State is what a pod means to Spark.
type State uint8

// The states of ExecutorPodState.
const (
	Unknown State = iota
	Pending
	Running
	Succeeded
	Failed
	Deleted
	Terminating
)

func (s State) String() string {
	return [...]string{"Unknown", "Pending", "Running", "Succeeded", "Failed", "Deleted", "Terminating"}[s]
}

// Final says whether the lifecycle manager acts on the state.
func (s State) Final() bool { return s == Succeeded || s == Failed || s == Deleted }

// Pod is the record of one executor pod. It is immutable once it is in the store.
type Pod struct {
	ID         int64  // executor id
	Next       int64  // the id that the pod's executor was given after this one; 0: none
	Name       string // of the pod
	UID        string
	Version    uint64 // resourceVersion
	Profile    int    // resource profile; 0 when the label says nothing usable
	BadProfile bool   // the profile label is missing or not a number

	State     State
	Phase     string    // as the server wrote it
	Created   time.Time // creationTimestamp, zero when unreadable
	Deleting  bool      // deletionTimestamp is set
	Ends      time.Time // deletionTimestamp: when the grace period of the deletion is over; zero: not being deleted
	Inactive  bool      // label spark-exec-inactive=true
	Node      string    // empty: not scheduled
	IP        string
	Container string   // name of the Spark container
	Waiting   string   // why a pending pod waits: a container's reason or the scheduler's message
	Claims    []string // names of the PersistentVolumeClaims that it mounts
	Exit      *Exit    // set in a final state
}

// IDText is the executor id as Spark writes it.
func (p *Pod) IDText() string { return strconv.FormatInt(p.ID, 10) }

// Exit is what the server says about the end of a pod.
type Exit struct {
	Code       int    // of the Spark container, NoCode when it did not terminate
	Reason     string // status.reason
	Message    string // status.message
	Disrupted  bool   // condition DisruptionTarget=True
	OOM        bool   // the Spark container's reason is OOMKilled
	Cause      string // what the Spark container's reason and message say beyond the code
	Containers []Container
	Init       []Container // init containers that ended with an error
}

// NoCode stands for an exit code that the server does not know.
const NoCode = -1

// Container is the status of one container, for the text that Spark logs.
type Container struct {
	Name, Image string
	State       ContainerState
}

// ContainerState is the one member that is set in a container's state; Kind is empty when none is.
type ContainerState struct {
	Kind       string // running, waiting, terminated
	StartedAt  string
	FinishedAt string
	ExitCode   int
	Reason     string
}
