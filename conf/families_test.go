package conf

import (
	"strings"
	"testing"
)

// Every key that Spark's submission, pod building, kill and status read is a handle or belongs to a family here.
func TestEveryKeyIsAHandle(t *testing.T) {
	known := map[string]bool{}
	for _, k := range Keys() {
		known[k.Key()] = true
	}
	for _, f := range Families() {
		known[f.Pattern] = true
	}
	rows := 0
	for line := range strings.Lines(readersTable) {
		key, by, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		rows++
		family := known[key]
		if !family {
			_, family = FamilyOf(key)
		}
		if !ok || by == "" || !family {
			t.Errorf("no handle and no family: %q", line)
		}
	}
	if rows < 200 {
		t.Errorf("%d rows", rows)
	}
	for _, f := range Families() {
		if f.Doc == "" || !strings.Contains(f.Pattern, "[") || ReadBy(f.Pattern) == "" {
			t.Errorf("%+v: read by %q", f, ReadBy(f.Pattern))
		}
	}
}

func TestFamilyOf(t *testing.T) {
	for key, want := range map[string]string{
		"spark.kubernetes.driver.label.a.b/c":                             "spark.kubernetes.driver.label.[LabelName]",
		"spark.kubernetes.driverEnv.OMP_NUM_THREADS":                      "spark.kubernetes.driverEnv.[EnvironmentVariableName]",
		"spark.kubernetes.executor.volumes.nfs.x.mount.path":              "spark.kubernetes.executor.volumes.[VolumeType].[VolumeName].mount.path",
		"spark.kubernetes.executor.volumes.nfs.x.options.server":          "spark.kubernetes.executor.volumes.nfs.[VolumeName].options.server",
		"spark.kubernetes.driver.volumes.persistentVolumeClaim.d.label.a": "spark.kubernetes.driver.volumes.persistentVolumeClaim.[VolumeName].label.[LabelName]",
		"spark.kubernetes.driver.label.":                                  "",
		"spark.kubernetes.namespace":                                      "",
	} {
		if f, ok := FamilyOf(key); f.Pattern != want || ok != (want != "") {
			t.Errorf("%s: %q", key, f.Pattern)
		}
	}
}
