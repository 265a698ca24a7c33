package fidelity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Request is one writing call to the API server.
type Request struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body"`
}

// Recording is what stock Spark did with a case.
type Recording struct {
	Case    string `json:"case"`
	Version string `json:"version"`
	Input   string `json:"input"` // Case.Hash when it was recorded
	// Error is the message of a submission that stock refused.
	Error string `json:"error,omitempty"`
	// Conf is the driver's configuration of an executor case, as it was when the executors were asked for.
	Conf     map[string]string `json:"conf,omitempty"`
	Requests []Request         `json:"requests"`
}

// RecordingPath is the file of a recording below folder.
func RecordingPath(folder string, c Case, version string) string {
	return filepath.Join(folder, version, c.Role+"-"+c.Name+".json")
}

// Save writes the recording.
func (r Recording) Save(folder string, c Case) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("recording of %s: %w", c.Name, err)
	}
	path := RecordingPath(folder, c, r.Version)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("recording of %s: %w", c.Name, err)
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// Load reads the recording of a case. One that is missing or of another input is an error that says how to make it.
func Load(folder string, c Case, version string) (Recording, error) {
	var r Recording
	text, err := os.ReadFile(RecordingPath(folder, c, version))
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("case %s is not recorded for Spark %s: run make record", c.Name, version)
	}
	if err != nil {
		return r, fmt.Errorf("case %s: %w", c.Name, err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("case %s, Spark %s: %w", c.Name, version, err)
	}
	if r.Input != c.Hash() {
		return r, fmt.Errorf("case %s has changed since it was recorded for Spark %s: run make record", c.Name, version)
	}
	return r, nil
}
