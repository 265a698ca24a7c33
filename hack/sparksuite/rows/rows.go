// Package rows has the 54 numbered tests of Spark's Kubernetes integration suite, each as a value: what is submitted, what is
// looked at, and which texts the logs must come to contain. The programs are our own, so their texts are too.
package rows

import (
	"fmt"
	"slices"

	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

// Whole is the row that stands for the whole suite under another scheduler.
const Whole = 54

// Under says whether a row is run again under another scheduler. The row in client mode is not: its settings are its own, and
// no scheduler is among them. Spark's suite skips those of PVTestsSuite there.
func Under(r trial.Row) bool {
	return r.Number <= everyVersion && r.Number != 22 && r.Suite != persistentSuite
}

// Newest is the version that every row runs on.
const Newest = "4.2.0"

// everyVersion is the last row that runs on each supported version.
const everyVersion = 34

// Versions of Spark, the one with all rows first.
var Versions = []string{Newest, "4.1.1", "4.3.0"}

// All are the rows in the order of their numbers.
func All() []trial.Row {
	rows := slices.Concat(basic(), propagated(), python(), client(), template(), volumes(), dependencies(), decommission(), volcano(), others())
	slices.SortFunc(rows, func(a, b trial.Row) int { return a.Number - b.Number })
	for i := range rows {
		if rows[i].Number > everyVersion && rows[i].Versions == nil {
			rows[i].Versions = []string{Newest}
		}
	}
	return rows
}

// On says whether a row runs on a version of Spark.
func On(r trial.Row, version string) bool {
	return r.Runs() && (r.Versions == nil || slices.Contains(r.Versions, version))
}

// pi is a row that runs Pi in cluster mode with the suite's checks of both roles.
func pi(number int, suite, name string) trial.Row {
	return trial.Row{Number: number, Suite: suite, Name: name, Program: trial.Jar, Class: "Pi",
		Driver: []trial.PodCheck{driverPod(jvmMemory)}, Executor: []trial.PodCheck{executorPod(jvmMemory)},
		DriverLog: []string{piSays}}
}

const piSays = "Pi is roughly 3"

// pyRow is a row that runs a Python program of the suite.
func pyRow(number int, suite, name, program string, args ...string) trial.Row {
	return trial.Row{Number: number, Suite: suite, Name: name, Program: program, Args: args,
		Driver: []trial.PodCheck{driverPod(pythonMemory)}, Executor: []trial.PodCheck{executorPod(pythonMemory)}}
}

// volume are the properties of one volume of a role.
func volume(role, kind, name string, settings map[string]string) map[string]string {
	conf := map[string]string{}
	for k, v := range settings {
		conf[fmt.Sprintf("spark.kubernetes.%s.volumes.%s.%s.%s", role, kind, name, k)] = v
	}
	return conf
}
