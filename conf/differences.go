package conf

import "slices"

// Difference is a deliberate difference from stock Spark that spark.kubespark.stock switches off by its name.
// docs/differences.md says what it is and why.
type Difference struct {
	Name string
	Doc  string // what kubespark does instead
}

// Differences lists all of them, the shim's too, sorted by name.
func Differences() []Difference {
	return []Difference{
		{"allocation-maximum", "allocation.maximum N allows N pods"},
		{"claim-age", "a free claim may be reused whatever its age"},
		{"completion", "the submitter is done when the Spark container is, whatever sidecars do"},
		{"create-order", "no schedulable driver pod before the objects it names exist"},
		{"creation-gate", "a pod that no watch or list has shown yet holds no other creation up"},
		{"exit-code", "the submitter ends with the driver's exit code"},
		{"faults", "an executor lost to an eviction, a drained node or the like is not the application's failure"},
		{"kill-status", "kill and status look at the driver role, and fail when nothing matches"},
		{"leaving-pods", "a pod that is being deleted and that Spark has forgotten is replaced at once"},
		{"pace", "without batch keys executors are created as fast as the server takes them"},
		{"permanent-refusals", "three identical refusals before any executor pod exists end the application"},
		{"refused-creates", "a pod that Kubernetes refuses is no executor failure"},
		{"report-once", "the end of an executor is reported to Spark once, however long its pod stays"},
		{"safety-list", "no full list of pods while the watch is healthy"},
		{"seed-totals", "requestExecutors and killExecutor count from the initial number of executors"},
		{"service-account", "the driver's service account is set beside driver credentials too"},
		{"set-scale", "a StatefulSet or Deployment of executors shrinks only when Spark has released the executors"},
		{"start-delay", "executors that die at their start slow creation down"},
		{"state-report", "the submitter reports a state when it changes, the Spark container last"},
		{"stop-wait", "executors have up to 5 s to end by themselves at stop"},
		{"submit-checks", "settings that only the driver reads are checked at submission too"},
		{"trim-order", "of excess pending pods the unscheduled go first, then the youngest"},
	}
}

// allDifferences is the word that switches every difference off.
const allDifferences = "all"

func areDifferences(names []string) bool {
	for _, n := range names {
		known := func(d Difference) bool { return d.Name == n }
		if n != allDifferences && !slices.ContainsFunc(Differences(), known) {
			return false
		}
	}
	return true
}
