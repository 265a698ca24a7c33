package submit

import "regexp"

var foreignExitCode = regexp.MustCompile(`(?i)(exit code): *([0-9])`)

// foreign is a text of others as it may stand in our lines: tools take the last "exit code: N" of our output for the
// driver's, and only the Spark container may have it.
func foreign(text string) string { return foreignExitCode.ReplaceAllString(text, "$1 $2") }
