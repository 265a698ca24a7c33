package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIDsIn(t *testing.T) {
	for text, want := range map[string][]string{
		"S033 to S035, C023": {"S033", "S034", "S035", "C023"}, "P001–003": {"P001", "P002", "P003"}, "name: \"E010\"": {"E010"},
		"AS033 S0331": nil, "P009-S010": {"S010", "P009"},
	} {
		if diff := cmp.Diff(want, idsIn(text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// A scenario needs a test that names it, or a reason.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"docs/scenarios.tsv":  "# id\ttitle\nS001\tone\nS002\ttwo\nS003\tthree\nE001\tfour\n",
		"docs/differences.md": "# x\n\n## Not tested\n\n| id | why |\n|---|---|\n| S003 | no JVM |\n\n## More\n",
		"a/a_test.go":         "package a\n\nimport \"testing\"\n\n// S001.\nfunc TestOne(t *testing.T) {}\n\nvar table = \"E001\"\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	gaps, err := run(&out, dir, "SE", false)
	if err != nil || gaps != 1 {
		t.Fatal(gaps, err)
	}
	for _, want := range []string{"TestOne (a)\n", "two                                                     GAP\n", "not tested: no JVM\n", "a/a_test.go\n",
		"S: 3 scenarios, 1 with tests, 1 not tested for a reason, 1 gaps\n", "E: 1 scenarios, 1 with tests, 0 not tested for a reason, 0 gaps\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, out.String())
		}
	}
}
