package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// P142, S042 and H6: what needs a JVM is one clear error before any call, and the whole line is the real spark-submit's when
// the key says so.
func TestFallback(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "core-site.xml", "<configuration><property><name>hadoop.security.authentication</name><value>kerberos</value></property></configuration>")
	writeFile(t, dir, "main.py", "")
	writeFile(t, dir, "k.keytab", "")
	tests := []struct {
		name    string
		environ []string
		more    []string
		app     string
		want    string
	}{
		{"P142 a driver feature step", nil, []string{"--conf", "spark.kubernetes.driver.pod.featureSteps=com.foo.Bar"}, "local:///x.py",
			"spark.kubernetes.driver.pod.featureSteps: class com.foo.Bar needs a JVM at submission; use spark.kubespark.submit.fallback=spark-submit or remove it"},
		{"Kerberos log-in", []string{"HADOOP_CONF_DIR=" + dir}, nil, "local:///x.py", "Kerberos tokens cannot be obtained by native submission; give --keytab/--principal, " +
			"spark.kubernetes.kerberos.tokenSecret.* or HADOOP_TOKEN_FILE_LOCATION, or set spark.kubespark.submit.fallback=spark-submit"},
		{"HDFS with Kerberos", []string{"HADOOP_CONF_DIR=" + dir}, []string{"--conf", "spark.kubernetes.file.upload.path=hdfs://nn/p", "--principal", "p@R", "--keytab", filepath.Join(dir, "k.keytab")}, filepath.Join(dir, "main.py"),
			"hadoop.security.authentication=kerberos: native submission does not log in to Kerberos; set spark.kubespark.submit.fallback=spark-submit, or use another upload path"},
		{"S042 an unknown file system", nil, []string{"--conf", "spark.kubernetes.file.upload.path=myfs://bucket/p"}, filepath.Join(dir, "main.py"), "is not supported by native submission"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, url := apiServer(t)
			args := submitTo(url, tt.more...)[1:]
			args[len(args)-1] = tt.app
			environ := append([]string{"SPARK_HOME=" + sparkHome(t)}, tt.environ...)
			r := sparkSubmit(environ...)
			if code := r.do(args...); code != 1 || !strings.Contains(r.lastLine(), tt.want) || r.execPath != "" {
				t.Errorf("%d %q", code, r.lastLine())
			}
			if calls := s.Calls("create", ""); len(calls) > 0 {
				t.Errorf("calls before the refusal: %v", calls)
			}
			args = slices.Insert(args, 0, "--conf", "spark.kubespark.submit.fallback=spark-submit")
			r = sparkSubmit(environ...)
			r.do(args...)
			if diff := cmp.Diff(append([]string{r.execPath}, args...), r.execArgs); diff != "" || filepath.Base(r.execPath) != "spark-submit" {
				t.Error(r.execPath, diff)
			}
			if !strings.Contains(r.stderr.String(), "INFO SparkSubmit: Submission is left to "+r.execPath+" (spark.kubespark.submit.fallback).") {
				t.Error(r.stderr.String())
			}
		})
	}
	r := sparkSubmit()
	if code := r.do("--master", "k8s://h", "--deploy-mode", "cluster", "--conf", "spark.kubernetes.container.image=i", "--conf", "spark.kubespark.submit.fallback=java", "local:///x.py"); code != 1 ||
		!strings.Contains(r.lastLine(), "spark.kubespark.submit.fallback") {
		t.Error(code, r.lastLine())
	}
}

// S028, L8: every kind of hand-over: the arguments are the user's, on Kubernetes with our jar in front.
func TestHandOverOfSpecialLines(t *testing.T) {
	home := sparkHome(t)
	jar := filepath.Join(t.TempDir(), "kubespark.jar")
	writeFile(t, filepath.Dir(jar), "kubespark.jar", "")
	added := []string{"--conf", "spark.driver.defaultExtraClassPath=" + jar}
	k8s := []string{"--master", "k8s://h", "--conf", "spark.kubespark.jar=" + jar}
	tests := []struct {
		name         string
		before, rest []string
		ours         bool
	}{
		{"python shell, local", []string{"pyspark-shell-main", "--name", "PySparkShell"}, nil, false},
		{"python shell", append([]string{"pyspark-shell-main"}, k8s...), nil, true},
		{"R shell", append([]string{"sparkr-shell-main"}, k8s...), nil, true},
		{"Scala shell", append(k8s, "--class", "org.apache.spark.repl.Main"), []string{"spark-shell", "-i", "f"}, true},
		{"SQL shell", append(k8s, "--class", "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver"), []string{"spark-internal", "-e", "select 1"}, true},
		{"Thrift server", append(k8s, "--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"), []string{"spark-internal"}, true},
		{"Connect server", append(k8s, "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"), []string{"spark-internal"}, true},
		{"example", append([]string{"run-example"}, k8s...), []string{"SparkPi", "10"}, true},
		{"example, local", []string{"run-example"}, []string{"SparkPi", "10"}, false},
		{"standalone", []string{"--master", "spark://h:7077", "--deploy-mode", "cluster", "--supervise"}, []string{"a.jar"}, false},
		{"standalone status", []string{"--master", "spark://h:6066", "--status", "driver-1"}, nil, false},
		{"YARN kill", []string{"--master", "yarn", "--kill", "application_1_1"}, nil, false},
		{"remote", []string{"--remote", "sc://h"}, []string{"a.py"}, false},
		{"client with the fallback", append(k8s, "--conf", "spark.kubespark.submit.fallback=spark-submit"), []string{"a.py"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := sparkSubmit("SPARK_HOME=" + home)
			r.do(slices.Concat(tt.before, tt.rest)...)
			want := slices.Concat([]string{filepath.Join(home, "bin/spark-submit")}, tt.before)
			if tt.ours {
				want = append(want, added...)
			}
			if diff := cmp.Diff(append(want, tt.rest...), r.execArgs); diff != "" {
				t.Error(diff, r.stderr.String())
			}
		})
	}
}

// 1.4: shells do not run in cluster mode, and nobody is asked.
func TestShellsInClusterMode(t *testing.T) {
	cluster := []string{"--master", "k8s://h", "--deploy-mode", "cluster", "--conf", "spark.kubernetes.container.image=i"}
	shells := "Cluster deploy mode is not applicable to Spark shells."
	for _, tt := range []struct {
		before, rest []string
		want         string
	}{
		{[]string{"pyspark-shell-main"}, nil, shells},
		{[]string{"sparkr-shell-main"}, nil, shells},
		{nil, []string{"--class", "org.apache.spark.repl.Main", "spark-shell"}, shells},
		{nil, []string{"connect-shell"}, shells},
		{nil, []string{"--class", "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver", "spark-internal"}, "Cluster deploy mode is not applicable to Spark SQL shell."},
		{nil, []string{"--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "spark-internal"}, "Cluster deploy mode is not applicable to Spark Thrift server."},
		{nil, []string{"--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"},
			"Launching Spark Connect server in cluster deploy mode is supported only for YARN"},
		{nil, []string{"--conf", "spark.kubespark.sparkVersion=4.1.1", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"},
			"Cluster deploy mode is not applicable to Spark Connect server."},
	} {
		r := sparkSubmit()
		code := r.do(slices.Concat(tt.before, cluster, tt.rest)...)
		if want := `Exception in thread "main" org.apache.spark.SparkException: ` + tt.want; code != 1 || r.lastLine() != want || r.execPath != "" {
			t.Errorf("%q %q: %d %q", tt.before, tt.rest, code, r.lastLine())
		}
	}
}
