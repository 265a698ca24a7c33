package statedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/kubespark/kubespark/localcluster/internal/process"
)

// Record is what the folder remembers of its cluster. `up` writes the first one, the supervisor each later one.
type Record struct {
	Boot       string      `json:"boot"` // the machine's boot id; the process ids mean nothing after another boot
	Spec       Spec        `json:"spec"`
	Supervisor process.ID  `json:"supervisor"`
	Started    time.Time   `json:"started"`
	Components []Component `json:"components,omitempty"` // in starting order
	Failure    string      `json:"failure,omitempty"`    // why the supervisor gave up, a sentence
}

// Phase is where a component is in its life.
type Phase string

// The phases.
const (
	Waiting    Phase = "waiting"    // for the components it needs
	Starting   Phase = "starting"   // it runs, and is not ready
	Ready      Phase = "ready"      // it was ready since its last start
	Restarting Phase = "restarting" // it ended and will be started again
	Stopped    Phase = "stopped"
)

// Component is one process of the cluster, or one task of the supervisor's (then Process is zero).
type Component struct {
	Name     string        `json:"name"`
	Phase    Phase         `json:"phase"`
	Process  process.ID    `json:"process,omitzero"`
	Restarts int           `json:"restarts,omitempty"`
	Reason   string        `json:"reason,omitempty"` // why it is not ready, or how it ended last
	Took     time.Duration `json:"took,omitempty"`   // nanoseconds from the cluster's start until it was first ready
}

// Load reads the record. The error is fs.ErrNotExist if the folder has none.
func (d Dir) Load() (Record, error) {
	text, err := os.ReadFile(d.Record())
	if err != nil {
		return Record{}, fmt.Errorf("read the cluster's record: %w", err)
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return Record{}, fmt.Errorf("the cluster's record %s is damaged: %w", d.Record(), err)
	}
	return r, nil
}

// Save replaces the record in one step, so that a reader or a crash never meets half of one.
func (d Dir) Save(r Record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the cluster's record: %w", err)
	}
	next := d.Record() + ".new"
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the cluster's record: %w", err)
	}
	if err := os.Rename(next, d.Record()); err != nil {
		return fmt.Errorf("write the cluster's record: %w", err)
	}
	return nil
}

// Create makes the cluster's folders and writes its first record, which marks the folder as a cluster's. Everyone may
// pass through the folder to what its modes allow: processes of other users live in the node's part.
func (d Dir) Create(r Record) error {
	if err := os.MkdirAll(string(d), 0o711); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	if err := d.Save(r); err != nil {
		return err
	}
	folders := map[string]fs.FileMode{d.Logs(): 0o700, d.Etcd(): 0o700, d.Images(): 0o711}
	for i := range r.Spec.NodeCount() {
		folders[d.Node(i)] = 0o711
	}
	for path, mode := range folders {
		if err := os.Mkdir(path, mode); err != nil {
			return fmt.Errorf("make the state folder: %w", err)
		}
	}
	return nil
}

// Owned reports whether the folder is a cluster's, or free to become one: absent or empty.
func (d Dir) Owned() (bool, error) {
	if _, err := os.Lstat(d.Record()); err == nil {
		return true, nil
	}
	found, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the state folder: %w", err)
	}
	return len(found) == 0, nil
}
