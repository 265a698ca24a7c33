package rig

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// Request is one line of the audit log.
type Request struct {
	Stage     string    `json:"stage"` // ResponseStarted (of a watch), ResponseComplete
	Verb      string    `json:"verb"`
	URI       string    `json:"requestURI"`
	Agent     string    `json:"userAgent"`
	Received  time.Time `json:"requestReceivedTimestamp"`
	Answered  time.Time `json:"stageTimestamp"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// Requests reads the audit log from a time on: those of user agents that contain agent. A watch counts once, when it
// begins.
func Requests(path, agent string, since time.Time) ([]Request, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Request
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		if !strings.Contains(lines.Text(), agent) {
			continue
		}
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		end := r.Verb == "watch" && r.Stage == "ResponseComplete" && r.ResponseStatus.Code == 200
		if strings.Contains(r.Agent, agent) && !end && !r.Received.Before(since) {
			out = append(out, r)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return out, nil
}

// User agents of the contenders in the audit log.
const (
	StockAgent   = "fabric8"
	SubmitAgent  = "kubespark-submit"
	ManagerAgent = "kubespark-manager"
)

// Count counts requests by verb and resource, as "create pods".
func Count(requests []Request) map[string]int {
	n := map[string]int{}
	for _, r := range requests {
		what := r.Verb + " " + r.ObjectRef.Resource
		if r.ObjectRef.Resource == "" {
			what = r.Verb + " " + r.URI
		}
		n[what]++
	}
	return n
}
