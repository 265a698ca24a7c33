//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// history is every state of a job's executor pods, in the API server's order.
type history struct {
	mu     sync.Mutex
	states []watch.Event
	w      watch.Interface
	done   chan struct{}
}

// record keeps the history of the job's executor pods from now on.
func (j *job) record() *history {
	j.t.Helper()
	w, err := cluster.client.CoreV1().Pods(j.namespace).Watch(j.t.Context(), metav1.ListOptions{LabelSelector: "spark-role=executor"})
	if err != nil {
		j.t.Fatal(err)
	}
	h := &history{w: w, done: make(chan struct{})}
	go func() {
		defer close(h.done)
		for event := range w.ResultChan() {
			h.mu.Lock()
			h.states = append(h.states, event)
			h.mu.Unlock()
		}
	}()
	j.t.Cleanup(func() { w.Stop(); <-h.done })
	return h
}

// walk shows all pods there were after each event, by executor id.
func (h *history) walk(see func(now map[int]*corev1.Pod)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := map[int]*corev1.Pod{}
	for _, event := range h.states {
		p, ok := event.Object.(*corev1.Pod)
		if !ok {
			continue
		}
		if event.Type == watch.Deleted {
			delete(now, idOf(p))
		} else {
			now[idOf(p)] = p
		}
		see(now)
	}
}

// ever lists the ids of executors whose pod was so at any time.
func (h *history) ever(so func(*corev1.Pod) bool) (ids []int) {
	h.walk(func(now map[int]*corev1.Pod) {
		for id, p := range now {
			if so(p) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	})
	slices.Sort(ids)
	return ids
}

// most is the largest number of executor pods at one time.
func (h *history) most() (most int) {
	h.walk(func(now map[int]*corev1.Pod) { most = max(most, len(now)) })
	return most
}

func idOf(p *corev1.Pod) int {
	id, _ := strconv.Atoi(p.Labels["spark-exec-id"]) // 0: no id
	return id
}

func anyState(*corev1.Pod) bool { return true }

func isRunning(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }

// event is a line of Spark's event log, as far as tests look at it.
type event struct {
	Event      string
	StageID    int    `json:"Stage ID"`
	TaskType   string `json:"Task Type"`
	ExecutorID string `json:"Executor ID"`
	Removed    string `json:"Removed Reason"`
	EndReason  struct {
		Reason string
		ByApp  bool `json:"Exit Caused By App"`
	} `json:"Task End Reason"`
	Task struct {
		ExecutorID string `json:"Executor ID"`
	} `json:"Task Info"`
	Stage struct {
		ID int `json:"Stage ID"`
	} `json:"Stage Info"`
	Properties map[string]string
}

// logEvents lets the driver write Spark's event log where the test can read it.
func (j *job) logEvents() *job {
	return j.with("spark.eventLog.enabled=true", "spark.eventLog.dir=file:///signals", "spark.eventLog.compress=false",
		"spark.eventLog.rolling.enabled=false")
}

// eventLog is what Spark logged of the ended application.
func (j *job) eventLog() (all events) {
	j.t.Helper()
	files, err := filepath.Glob(filepath.Join(j.signals, j.appID()+"*"))
	if err != nil || len(files) != 1 {
		j.t.Fatalf("event logs of %s: %v %v", j.appID(), files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		j.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			j.t.Fatalf("event log: %v in %s", err, line)
		}
		e.Event = strings.TrimPrefix(e.Event, "SparkListener")
		all = append(all, e)
	}
	return all
}

type events []event

// tasks are the ended tasks of one kind (ShuffleMapTask, ResultTask) in the stages of a job group; "" is any.
func (es events) tasks(group, kind string) (ended events) {
	in := map[int]bool{}
	for _, e := range es {
		if e.Event == "StageSubmitted" && (group == "" || e.Properties["spark.jobGroup.id"] == group) {
			in[e.Stage.ID] = true
		}
		if e.Event == "TaskEnd" && in[e.StageID] && (kind == "" || e.TaskType == kind) {
			ended = append(ended, e)
		}
	}
	return ended
}

// notSuccessful are the reasons of tasks that did not end well.
func (es events) notSuccessful() (reasons []string) {
	for _, e := range es.tasks("", "") {
		if e.EndReason.Reason != "Success" {
			reasons = append(reasons, e.EndReason.Reason)
		}
	}
	return reasons
}

// ranOn are the executors of the tasks.
func (es events) ranOn() (ids []string) {
	for _, e := range es {
		if !slices.Contains(ids, e.Task.ExecutorID) {
			ids = append(ids, e.Task.ExecutorID)
		}
	}
	slices.Sort(ids)
	return ids
}

// removed are the reasons for which Spark removed executors, by id.
func (es events) removed() map[string]string {
	why := map[string]string{}
	for _, e := range es {
		if e.Event == "ExecutorRemoved" {
			why[e.ExecutorID] += e.Removed
		}
	}
	return why
}
