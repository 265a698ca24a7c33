package snapshot

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kubespark/kubespark/internal/sparkpod"
)

// Wire is the part of a pod, in JSON or protobuf, that the manager reads. Decoding into it instead of a full Pod keeps the
// memory of a list of a thousand pods small.
type Wire struct {
	Metadata WireMeta   `json:"metadata"`
	Spec     WireSpec   `json:"spec"`
	Status   WireStatus `json:"status"`
}

// WireMeta is the read part of metadata.
type WireMeta struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	UID               string            `json:"uid"`
	ResourceVersion   string            `json:"resourceVersion"`
	CreationTimestamp string            `json:"creationTimestamp"`
	DeletionTimestamp string            `json:"deletionTimestamp"`
	Labels            map[string]string `json:"labels"`
	OwnerReferences   []WireOwner       `json:"ownerReferences"`
}

// WireOwner is an owner reference.
type WireOwner struct {
	UID string `json:"uid"`
}

// WireSpec is the read part of spec.
type WireSpec struct {
	NodeName      string       `json:"nodeName"`
	RestartPolicy string       `json:"restartPolicy"`
	Volumes       []WireVolume `json:"volumes"`
}

// WireVolume is the read part of a volume.
type WireVolume struct {
	Claim *WireClaim `json:"persistentVolumeClaim"`
}

// WireClaim names a claim.
type WireClaim struct {
	Name string `json:"claimName"`
}

// Mount makes the pod mount claims.
func (w *Wire) Mount(names []string) {
	for _, name := range names {
		w.Spec.Volumes = append(w.Spec.Volumes, WireVolume{Claim: &WireClaim{Name: name}})
	}
}

// Claims returns the names of the claims that the pod mounts.
func (w *Wire) Claims() []string {
	var names []string
	for _, v := range w.Spec.Volumes {
		if v.Claim != nil {
			names = append(names, v.Claim.Name)
		}
	}
	return names
}

// WireStatus is the read part of status.
type WireStatus struct {
	Phase                 string          `json:"phase"`
	Reason                string          `json:"reason"`
	Message               string          `json:"message"`
	PodIP                 string          `json:"podIP"`
	Conditions            []WireCondition `json:"conditions"`
	ContainerStatuses     []WireContainer `json:"containerStatuses"`
	InitContainerStatuses []WireContainer `json:"initContainerStatuses"`
}

// WireCondition is one pod condition.
type WireCondition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// WireContainer is the read part of a container status.
type WireContainer struct {
	Name         string    `json:"name"`
	Image        string    `json:"image"`
	RestartCount int       `json:"restartCount"`
	State        WireState `json:"state"`
	LastState    WireState `json:"lastState"`
}

// WireState is a container state; at most one member is set.
type WireState struct {
	Running    *WireRunning    `json:"running"`
	Waiting    *WireWaiting    `json:"waiting"`
	Terminated *WireTerminated `json:"terminated"`
}

// WireRunning is a running container.
type WireRunning struct {
	StartedAt string `json:"startedAt"`
}

// WireWaiting is a container that has not started.
type WireWaiting struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// WireTerminated is a container that has ended.
type WireTerminated struct {
	StartedAt  string `json:"startedAt"`
	FinishedAt string `json:"finishedAt"`
	ExitCode   int    `json:"exitCode"`
	Reason     string `json:"reason"`
	Message    string `json:"message"`
}

// Reader turns pods as the server sends them into records. It is safe for concurrent use.
type Reader struct {
	Container    string // name of the Spark container
	CheckAll     bool   // spark.kubernetes.executor.checkAllContainers
	RestartIsEnd bool   // P12: a restarted Spark container ends the executor (direct allocator)
	Warn         func(text string)
	mu           sync.Mutex
	warned       map[string]bool
}

// execIDPlaceholder is the id of a pod whose executor asks for one when it starts (controller-backed allocators).
const execIDPlaceholder = "EXECID"

// Read makes the record of a pod. It returns nil for a pod that is not part of the snapshot (P1, P2).
func (r *Reader) Read(w *Wire) *Pod {
	label := w.Metadata.Labels[sparkpod.LabelExecutorID]
	if label == execIDPlaceholder || (label == "" && w.Metadata.Labels != nil) {
		return nil
	}
	id, err := strconv.ParseInt(label, 10, 64)
	if err != nil || id <= 0 {
		r.warnOnce(w, "id", "Pod "+w.Metadata.Name+" is left out: its label "+sparkpod.LabelExecutorID+
			" is "+strconv.Quote(label)+", not a positive number.")
		return nil
	}
	p := &Pod{
		ID: id, Name: w.Metadata.Name, UID: w.Metadata.UID,
		Deleting: w.Metadata.DeletionTimestamp != "",
		Inactive: w.Metadata.Labels[sparkpod.LabelInactive] == "true",
		Phase:    w.Status.Phase, Node: w.Spec.NodeName, IP: w.Status.PodIP, Container: r.Container,
		Claims: w.Claims(),
	}
	// An unreadable version or time stays zero, which every rule reads as "old".
	p.Version, _ = strconv.ParseUint(w.Metadata.ResourceVersion, 10, 64)
	p.Created, _ = time.Parse(time.RFC3339, w.Metadata.CreationTimestamp)
	p.Ends, _ = time.Parse(time.RFC3339, w.Metadata.DeletionTimestamp)
	p.Profile, err = strconv.Atoi(w.Metadata.Labels[sparkpod.LabelResourceProfile])
	p.BadProfile = err != nil
	p.State = r.state(w)
	if p.State == Unknown {
		r.warnOnce(w, "phase", "Received unknown phase "+w.Status.Phase+" for executor pod with name "+w.Metadata.Name+
			" in namespace "+w.Metadata.Namespace)
	}
	if p.State.Final() {
		p.Exit = r.exit(w)
	}
	if p.State == Pending {
		p.Waiting = waiting(w)
	}
	return p
}

func (r *Reader) warnOnce(w *Wire, what, text string) {
	key := what + "/" + w.Metadata.UID
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Warn == nil || r.warned[key] {
		return
	}
	if r.warned == nil || len(r.warned) > 10_000 {
		r.warned = map[string]bool{}
	}
	r.warned[key] = true
	r.Warn(text)
}

// waiting names what a pending pod waits for (D8).
func waiting(w *Wire) string {
	for _, list := range [][]WireContainer{w.Status.InitContainerStatuses, w.Status.ContainerStatuses} {
		for _, c := range list {
			if c.State.Waiting != nil && c.State.Waiting.Reason != "" {
				return strings.TrimSuffix(c.Name+": "+c.State.Waiting.Reason+" ("+firstLine(c.State.Waiting.Message)+")", " ()")
			}
		}
	}
	for _, c := range w.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return strings.TrimSpace(c.Reason + ": " + c.Message)
		}
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}
