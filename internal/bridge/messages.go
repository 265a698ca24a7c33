// Package bridge is the manager's end of the conversation with the shim in the driver's JVM: the messages of
// docs/design/bridge.md, their coding (JSON-RPC 2.0, one object a line, over stdin and stdout), and a server that hands
// what arrives to a Session in the order sent and sends what the manager wants to say without ever blocking it. It decides
// nothing. The command's main joins it to internal/executor.
//
// Spark has no class for it: in stock the same calls are method calls inside one JVM.
package bridge

import (
	"encoding/json"

	"github.com/kubespark/kubespark/internal/sparkpod"
)

// Protocol is the version of these messages. Both ends must have the same.
const Protocol = 1

// Error codes of the protocol.
const (
	CodeGeneral  = -32000
	CodeProtocol = -32001 // the two ends speak different versions
	CodeFatal    = -32002 // the session may not continue: SparkException with the text
	CodeFallback = -32003 // this manager cannot run this application and nothing was written
)

// Error is an answer that refuses a request. Text is one plain sentence for the user.
type Error struct {
	Code int64
	Text string
}

func (e *Error) Error() string { return e.Text }

// OpenParams are those of session.open.
type OpenParams struct {
	Protocol      int               `json:"protocol"`
	SparkVersion  string            `json:"sparkVersion"`
	AppID         string            `json:"appId"`
	Namespace     string            `json:"namespace"`
	DeployMode    string            `json:"deployMode"`
	APIServer     string            `json:"apiServer"`
	AuthPrefix    string            `json:"authPrefix"`
	CAFile        string            `json:"caFile"`
	DriverPodName string            `json:"driverPodName"`
	PodNamePrefix string            `json:"podNamePrefix"`
	ConfigMapName string            `json:"configMapName"`
	UserName      string            `json:"userName"`
	AuthSecret    string            `json:"authSecret"`
	ConfDir       string            `json:"confDir"`
	Template      string            `json:"template"`
	Conf          map[string]string `json:"conf"`
	Resume        *Resume           `json:"resume"`
}

// Resume is what only the JVM knows, after a restart of the manager. Times are milliseconds since the epoch.
type Resume struct {
	Totals    map[int]int        `json:"totals"`
	Profiles  []sparkpod.Profile `json:"profiles"`
	NextID    int64              `json:"nextId"`
	Executors map[int64]int64    `json:"executors"`
	Reported  []ID               `json:"reported"`
	Denied    []ID               `json:"denied"`
	Failures  []int64            `json:"failures"`
	// PodsCreated: an executor pod of the application existed once.
	PodsCreated bool `json:"podsCreated"`
}

// OpenResult answers session.open.
type OpenResult struct {
	Protocol       int    `json:"protocol"`
	ManagerVersion string `json:"managerVersion"`
	PID            int    `json:"pid"`
	DriverPodUID   string `json:"driverPodUid"`
}

// StartParams are those of session.start.
type StartParams struct {
	Conf           map[string]string `json:"conf"`
	DefaultProfile sparkpod.Profile  `json:"defaultProfile"`
	InitialTarget  int               `json:"initialTarget"`
}

// StopParams are those of session.stop.
type StopParams struct {
	DeadlineMs int64 `json:"deadlineMs"`
}

// StopResult answers session.stop: pods that could not be deleted.
type StopResult struct {
	Left int `json:"left"`
}

// Targets is targets.set.
type Targets struct {
	Seq      int64              `json:"seq"`
	Totals   map[int]int        `json:"totals"`
	Profiles []sparkpod.Profile `json:"profiles"`
}

// Kill is executors.kill.
type Kill struct {
	Seq      int64 `json:"seq"`
	IDs      []ID  `json:"ids"`
	GraceMs  int64 `json:"graceMs"`
	IssuedAt int64 `json:"issuedAt"`
}

// Release is executors.release.
type Release struct {
	Seq int64 `json:"seq"`
	IDs []ID  `json:"ids"`
}

// Assigned is execId.assigned.
type Assigned struct {
	Seq     int64  `json:"seq"`
	PodName string `json:"podName"`
	ID      ID     `json:"id"`
}

// Registered is executor.registered.
type Registered struct {
	ID           ID     `json:"id"`
	Host         string `json:"host"`
	Profile      int    `json:"profile"`
	RegisteredAt int64  `json:"registeredAt"`
}

// Removed is executor.removed; Reason is killed, lost, exited or decommissioned.
type Removed struct {
	ID     ID     `json:"id"`
	Reason string `json:"reason"`
}

// Disconnected is executor.disconnected.
type Disconnected struct {
	ID ID `json:"id"`
}

// ConfSet is conf.set.
type ConfSet struct {
	Seq   int64  `json:"seq"`
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Remove are the params of executor.remove.
type Remove struct {
	ID              ID     `json:"id"`
	Code            int    `json:"code"`
	CausedByApp     bool   `json:"causedByApp"`
	Text            string `json:"text"`
	CountsAsFailure bool   `json:"countsAsFailure"`
	At              int64  `json:"at"`
}

// IDs are the params of executors.deny and executors.allow.
type IDs struct {
	IDs []ID `json:"ids"`
}

// DenyResult answers executors.deny.
type DenyResult struct {
	Registered []ID `json:"registered"`
}

// ReserveParams are those of ids.reserve.
type ReserveParams struct {
	N int `json:"n"`
}

// ReserveResult answers ids.reserve; both ends are inclusive.
type ReserveResult struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// ListResult answers executors.list.
type ListResult struct {
	IDs    map[int64]int64 `json:"ids"`
	Active []ID            `json:"active"`
}

// Exit are the params of app.exit.
type Exit struct {
	Code int    `json:"code"`
	Text string `json:"text"`
}

// Done are the params of command.done.
type Done struct {
	Seq int64 `json:"seq"`
}

// Log are the params of log.
type Log struct {
	Level  string `json:"level"`
	Logger string `json:"logger"`
	Text   string `json:"text"`
}

// Metrics are the params of metrics.
type Metrics struct {
	Values map[string]float64 `json:"values"`
}

// PodBuild are the params of pod.build. Pod has no Spark container; that is Container.
type PodBuild struct {
	ID        string          `json:"id"`
	Profile   int             `json:"profile"`
	Steps     []string        `json:"steps"`
	DriverPod string          `json:"driverPodName"`
	DriverUID string          `json:"driverPodUid"`
	Pod       json.RawMessage `json:"pod"`
	Container json.RawMessage `json:"container"`
}

// PodBuilt answers pod.build. Objects are whole Kubernetes objects to create beside the pod.
type PodBuilt struct {
	Pod       json.RawMessage   `json:"pod"`
	Container json.RawMessage   `json:"container"`
	Objects   []json.RawMessage `json:"objects"`
}
