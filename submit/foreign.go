package submit

import "strings"

// foreign puts a text of the API or of another program on one line, without the words that tools take for the driver's exit
// code: of all our lines the last one with them counts.
func foreign(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "xit code: ", "xit code ")
}
