package executor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/conf"
)

// E030: what of the configuration directory executors get.
func TestConfFilesE030(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"log4j2.properties": "a=b", "spark-defaults.conf": "x y", "spark.properties": "x=y",
		"x.template": "x", "a.jar": "x", "b.tar": "x", "latin1.txt": "\xe4", "big.xml": strings.Repeat("x", 2000), "small.xml": "<x/>"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	files, skipped, err := confFiles(dir, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"log4j2.properties", "small.xml"}, sortedKeys(files)); d != "" {
		t.Error(d)
	}
	if len(skipped) != 2 || !slices.ContainsFunc(skipped, func(s string) bool { return strings.HasPrefix(s, "big.xml") }) {
		t.Errorf("skipped %q", skipped)
	}
	if files, _, err := confFiles(filepath.Join(dir, "absent"), 1000); err != nil || len(files) != 0 {
		t.Errorf("an absent directory: %v %v", files, err)
	}
}

// E100: the default failure limits.
func TestFailureLimitsE100(t *testing.T) {
	for _, tc := range []struct {
		conf map[string]string
		want int
	}{
		{nil, 3},
		{map[string]string{"spark.executor.instances": "1"}, 3},
		{map[string]string{"spark.executor.instances": "10"}, 20},
		{map[string]string{"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.maxExecutors": "7"}, 14},
		{map[string]string{"spark.dynamicAllocation.enabled": "true"}, 2147483647},
		{map[string]string{"spark.executor.maxNumFailures": "5", "spark.executor.instances": "10"}, 5},
	} {
		set, err := readSettings(conf.New(tc.conf))
		if err != nil || set.lifecycle.MaxFailures != tc.want {
			t.Errorf("%v: %d %v, want %d", tc.conf, set.lifecycle.MaxFailures, err, tc.want)
		}
	}
}

// E118, E133, E155: settings that are refused, and those that are not.
func TestSettings(t *testing.T) {
	for _, tc := range []struct {
		name string
		conf map[string]string
		want string
	}{
		{"delay in ms E118", map[string]string{"spark.kubernetes.allocation.batch.delay": "100"}, "Allocation batch delay must be greater than 0.1s."},
		{"delay of 101 ms E118", map[string]string{"spark.kubernetes.allocation.batch.delay": "101"}, ""},
		{"limits E133", map[string]string{"spark.kubernetes.allocation.maxPendingPods": "10", "spark.kubernetes.allocation.maxPendingPodsPerRp": "11"},
			"Maximum pending pods per resource profile ID (11) must be less than or equal to maximum pending pods (10)."},
	} {
		_, err := readSettings(conf.New(tc.conf))
		if got := err != nil && strings.Contains(err.Error(), tc.want); got != (tc.want != "") {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	set, err := readSettings(conf.New(map[string]string{"spark.kubernetes.allocation.batch.delay": "200s"}))
	if err != nil || set.allocator.Timeout != 1000*time.Second || !set.allocator.Paced { // E155
		t.Errorf("%v %v", set.allocator, err)
	}
	if set, err = readSettings(conf.New(nil)); err != nil || set.allocator.Paced || set.pollAlways {
		t.Errorf("defaults: %+v %v", set, err)
	}
}
