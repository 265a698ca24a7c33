package conf

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// docs/differences.md has a row for each switch, and no row for a switch that is none.
func TestDifferencesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented, known []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, m[1])
	}
	for _, d := range Differences() {
		known = append(known, d.Name)
	}
	if !slices.IsSorted(known) {
		t.Errorf("Differences is not sorted: %v", known)
	}
	slices.Sort(documented)
	if !slices.Equal(documented, known) {
		t.Errorf("docs/differences.md has the switches %v, the code %v", documented, known)
	}
}

func TestUnknownDifference(t *testing.T) {
	for text, ok := range map[string]bool{"": true, "all": true, "pace,faults": true, "pace,peace": false} {
		_, err := Stock.Get(New(map[string]string{"spark.kubespark.stock": text}))
		if (err == nil) != ok {
			t.Errorf("spark.kubespark.stock=%s: %v", text, err)
		}
	}
}
