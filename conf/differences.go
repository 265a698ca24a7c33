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
		{"completion", "the submitter is done when the Spark container is, whatever sidecars do"},
		{"create-order", "no schedulable driver pod before the objects it names exist"},
		{"exit-code", "the submitter ends with the driver's exit code"},
		{"faults", "an executor lost to an eviction, a drained node or the like is not the application's failure"},
		{"kill-status", "kill and status look at the driver role, and fail when nothing matches"},
		{"pace", "without batch keys executors are created as fast as the server takes them"},
		{"safety-list", "no full list of pods while the watch is healthy"},
		{"seed-totals", "requestExecutors and killExecutor count from the initial number of executors"},
		{"service-account", "the driver's service account is set beside driver credentials too"},
		{"state-report", "the submitter reports a state when it changes, the Spark container last"},
		{"submit-checks", "settings that only the driver reads are checked at submission too"},
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
