package image

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An archive is used when the class path begins as the archive's; folders of configuration move behind the jars, and nothing else
// changes its place. "H" stands for SPARK_HOME, "D" for the folder of archives.
func TestUseClassData(t *testing.T) {
	const (
		jars   = "H/jars/slf4j-api-2.jar:H/jars/B.jar:H/jars/a.jar"
		spark  = "-XX:SharedArchiveFile=D/spark.jsa"
		both   = "-XX:SharedArchiveFile=D/kubespark.jsa"
		launch = "H/conf/:H/jars/slf4j-api-2.jar:H/jars/*:"
	)
	for _, tt := range []struct{ name, path, wantPath, archive string }{
		{name: "driver", path: launch, wantPath: jars + ":H/conf/", archive: spark},
		{name: "driver with kubespark", path: "/opt/kubespark/kubespark.jar:" + launch, wantPath: "/opt/kubespark/kubespark.jar:" + jars + ":H/conf/", archive: both},
		{name: "executor", path: "H/conf:/hadoop:H/jars/*:/work", wantPath: jars + ":H/conf:/hadoop:/work", archive: spark},
		{name: "user's jar first", path: "/mine.jar:" + launch, wantPath: "/mine.jar:" + launch},
		{name: "user's folder first", path: "/mine:" + launch, wantPath: "/mine:" + launch},
		{name: "no jars of Spark", path: "H/conf/:/mine.jar", wantPath: "H/conf/:/mine.jar"},
		{name: "user's jar behind", path: launch + "/mine.jar", wantPath: jars + ":H/conf/:/mine.jar", archive: spark},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home, data := t.TempDir(), t.TempDir()
			real := strings.NewReplacer("H/", home+"/", "D/", data+"/")
			for path, text := range map[string]string{"H/jars/a.jar": "", "H/jars/B.jar": "", "H/jars/slf4j-api-2.jar": "", "D/spark.jsa": "", "D/kubespark.jsa": "",
				"D/spark.path": jars, "D/kubespark.path": "/opt/kubespark/kubespark.jar:" + jars} {
				path = real.Replace(path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(real.Replace(text)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("bash", "-euc", `. ./class-data.sh; use_class_data "$1"; echo "$class_path ${class_data_options[0]-}"`, "bash", real.Replace(tt.path))
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SPARK_HOME=" + home, "SPARK_CLASS_DATA=" + data, "HADOOP_CONF_DIR=/hadoop"}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if diff := cmp.Diff(real.Replace(tt.wantPath+" "+tt.archive+"\n"), string(out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
