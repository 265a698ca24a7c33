// Package trial runs one row of the suite in one column: a namespace of its own, a submission by the column's submitter, the
// checks over pods and logs, and the namespace's end. It follows the way of Spark's own integration suite.
package trial

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Who submits, or who manages the executors.
const (
	Stock     = "stock"
	Kubespark = "kubespark"
)

// Column is one way to run every row.
type Column struct {
	Name    string // as the command line and the results have it
	Submit  string // Stock or Kubespark
	Manager string // Stock or Kubespark
	Kill    bool   // the manager is killed (-9) in the middle of the run
	// Scheduler places the application's pods; empty for the cluster's own.
	Scheduler string
}

// Columns in the order of the table.
var Columns = []Column{
	{Name: "stock-stock", Submit: Stock, Manager: Stock},
	{Name: "stock-kubespark", Submit: Stock, Manager: Kubespark},
	{Name: "kubespark-stock", Submit: Kubespark, Manager: Stock},
	{Name: "kubespark-kubespark", Submit: Kubespark, Manager: Kubespark},
	{Name: "killed", Submit: Kubespark, Manager: Kubespark, Kill: true},
}

// Under are the columns with all pods in the hands of another scheduler.
func Under(scheduler string) []Column {
	var out []Column
	for _, c := range Columns {
		c.Name, c.Scheduler = c.Name+"@"+scheduler, scheduler
		out = append(out, c)
	}
	return out
}

// PodCheck looks at one pod of the application while it runs.
type PodCheck func(t *Trial, p *corev1.Pod) error

// Row is one test of Spark's suite.
type Row struct {
	Number int
	Suite  string // the trait that has the test, in Spark's suite
	Name   string // as in Spark's suite
	// Versions of Spark that the row runs on; nil: all three.
	Versions []string
	// Scheduler must run beside the cluster's own for the row; empty for none.
	Scheduler string
	// Compared names the cases of internal/fidelity that stand for a row while it has not run.
	Compared []string
	Note     string // what differs from Spark's own test, for the page

	// Program is the main resource as spark-submit takes it: a path in the image, or Jar, or NoResource.
	Program string
	Class   string
	Args    []string
	Options []string // of spark-submit, before --conf
	Conf    map[string]string
	// ConfFiles are the files of the submitter's SPARK_CONF_DIR.
	ConfFiles map[string]string
	Env       map[string]string // of the submitter

	// Prepare makes what the row needs before the submission, and may add to the trial's Conf, Args, Options and Env.
	Prepare func(t *Trial) error
	// Start replaces spark-submit.
	Start func(t *Trial) error
	// MakesDriver: Start makes the driver pod itself.
	MakesDriver bool
	// Play replaces everything between the namespace's begin and its end, for rows of several applications.
	Play func(t *Trial) error

	// DriverOnly: no executor is awaited and no manager runs.
	DriverOnly bool
	Driver     []PodCheck
	Executor   []PodCheck
	// Executors is how many executor pods are awaited and checked; zero: one.
	Executors int
	// During runs once the executors are there, while logs are awaited.
	During func(t *Trial) error
	// DriverLog and ExecutorLog are texts that the logs must come to contain. ExecutorLog may be in any executor's log.
	DriverLog   []string
	ExecutorLog []string
	// StaysUp: the program does not end within the row; else the driver must succeed.
	StaysUp bool
	// After runs when the logs have all texts, before the namespace goes.
	After func(t *Trial) error
	// Limit is how long texts in logs are awaited, where that is longer than the patience of the options.
	Limit time.Duration
}

// Patience is how long Spark's suite waits for a text in a log.
const Patience = 3 * time.Minute

// Every is how often it looks.
const Every = time.Second

// Runs says whether there is anything to run; else the comparisons stand for the row.
func (r Row) Runs() bool {
	return r.Program != "" || r.Prepare != nil || r.Start != nil || r.Play != nil
}

func (r Row) executors() int { return max(1, r.Executors) }
