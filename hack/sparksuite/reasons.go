package main

import (
	"slices"

	"github.com/kubespark/kubespark/hack/sparksuite/results"
)

// reason says why a row fails with stock Spark.
type reason struct {
	row      int
	columns  []string
	versions []string // nil: all
	text     string
}

var reasons []reason

// reasonOf is the reason found for a failed cell.
func reasonOf(k results.Key) (string, bool) {
	for _, r := range reasons {
		if r.row == k.Row && slices.Contains(r.columns, k.Column) && (r.versions == nil || slices.Contains(r.versions, k.Spark)) {
			return r.text, true
		}
	}
	return "", false
}

func explained(k results.Key) bool {
	_, ok := reasonOf(k)
	return ok
}
