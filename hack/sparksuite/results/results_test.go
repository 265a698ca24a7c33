package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFile(t *testing.T) {
	f := File(filepath.Join(t.TempDir(), "results.jsonl"))
	if all, err := f.Read(); err != nil || len(all) != 0 {
		t.Fatalf("a file that is not there has %v, %v", all, err)
	}
	first := Result{Row: 12, Column: "b", Spark: "4.2.0", Verdict: Failed, Error: "no pod", Seconds: 3}
	second := Result{Row: 2, Column: "b", Spark: "4.2.0", Verdict: Passed}
	better := first
	better.Verdict, better.Error = Passed, ""
	for _, r := range []Result{first, second, better} {
		if err := f.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(string(f))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"row":2,`) {
		t.Errorf("want row 2, then row 12 once: %s", text)
	}
	if err := f.Append(first); err != nil {
		t.Fatal(err)
	}
	all, err := f.Read()
	if err != nil || all[first.Key()] != first || all[second.Key()] != second {
		t.Errorf("the last result of a cell counts: %v, %v", all, err)
	}
}

func TestBrokenFile(t *testing.T) {
	f := File(filepath.Join(t.TempDir(), "results.jsonl"))
	if err := os.WriteFile(string(f), []byte("{}\n{\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v", err)
	}
}
