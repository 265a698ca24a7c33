package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kubespark/kubespark/submit"
)

// delegatedVariable guards against a real spark-submit that is us again: it lists the processes that have handed their
// command line over. A process that replaced itself and came back finds its own id there. A Spark application may well run
// another spark-submit, so the ids of its parents alone are no fault; a long list is.
const delegatedVariable = "KUBESPARK_DELEGATED"

// maxDelegated is more than one application within another ever needs.
const maxDelegated = 8

// delegated adds this process to the list, or says that the list shows a loop.
func delegated(list string, pid int) (value string, loop bool) {
	me := strconv.Itoa(pid)
	if list == "" {
		return me, false
	}
	before := strings.Split(list, ",")
	return list + "," + me, slices.Contains(before, me) || len(before) >= maxDelegated
}

// noRealSubmit is the refusal without a Spark on this machine.
const noRealSubmit = "this submission needs Spark's own spark-submit (client mode, or a master that is not Kubernetes), and there is none " +
	"in SPARK_HOME/bin nor on PATH: set SPARK_HOME, or use --master k8s://… with --deploy-mode cluster"

// findRealSparkSubmit looks for Spark's own spark-submit: beside the installed file that was called, in SPARK_HOME, and on
// PATH, first under the name that an installation of ours gave it. Nothing that is kubespark is it.
func (p Process) findRealSparkSubmit(environ []string) (string, error) {
	lookup := environment(environ)
	var candidates []string
	if from := p.called(); from != "" {
		candidates = append(candidates, from+keptSuffix)
	}
	home, _ := lookup("SPARK_HOME")
	if home != "" {
		home = filepath.Join(home, "bin")
	}
	path, _ := lookup("PATH")
	for _, dir := range append([]string{home}, filepath.SplitList(path)...) {
		if dir != "" {
			file := filepath.Join(dir, sparkSubmitName)
			candidates = append(candidates, file+keptSuffix, file)
		}
	}
	for _, c := range candidates {
		if info, err := os.Stat(c); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !p.isOurs(c) {
			return c, nil
		}
	}
	return "", &submit.Error{Text: noRealSubmit}
}
