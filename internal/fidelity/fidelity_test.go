package fidelity

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFidelity builds every case and compares every field with what stock Spark sent.
func TestFidelity(t *testing.T) {
	report, err := Run(filepath.Join("..", "..", Recordings))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range report.Unlisted() {
		t.Error(d)
	}
	for _, name := range report.unusedWanted() {
		t.Errorf("no case meets the wanted difference %s: remove it", name)
	}
	t.Log("\n" + report.Table())
}

// TestCompareFindsWhatDiffers changes one field of a recording, takes one away and adds one.
func TestCompareFindsWhatDiffers(t *testing.T) {
	c := Cases()[0]
	r, err := Load(filepath.Join("..", "..", Recordings), c, MainVersion)
	if err != nil {
		t.Fatal(err)
	}
	text := string(r.Requests[0].Body)
	for _, s := range [][2]string{
		{`"spark-ui"`, `"spark-xx"`}, {`"restartPolicy":"Never"`, `"hostname":"h"`}, {`7078`, `7077`},
	} {
		text = strings.Replace(strings.ReplaceAll(strings.ReplaceAll(text, "\n", ""), `": `, `":`), s[0], s[1], 1)
	}
	r.Requests[0].Body = []byte(text)
	result, err := Compare(c, r, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, d := range result.Differences {
		found[d.Path] = true
	}
	for _, path := range []string{"spec.restartPolicy", "spec.hostname", "spec.containers[spark-kubernetes-driver].ports order",
		"spec.containers[spark-kubernetes-driver].ports[driver-rpc-port].containerPort"} {
		if !found[path] {
			t.Errorf("%s was not found: %v", path, result.Differences)
		}
	}
}
