//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// clientArguments is the command line in client mode from outside the cluster.
func (j *job) clientArguments(extra []string, app ...string) []string {
	args := append([]string{"--master", cluster.master, "--deploy-mode", "client"}, extra...)
	for _, c := range []string{
		"spark.kubernetes.namespace=" + j.namespace,
		"spark.kubernetes.container.image=" + imageOf(defaultSpark),
		"spark.executor.instances=2", "spark.executor.memory=512m",
		"spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1", "spark.ui.enabled=false",
	} {
		args = append(args, "--conf", c)
	}
	return append(args, app...)
}

// The same job in client mode from outside the cluster, with executors in it.
func TestClientMode(t *testing.T) {
	j := newJob(t)
	j.env = []string{"SPARK_HOME=" + cluster.sparkHomes[defaultSpark], "PYSPARK_PYTHON=python3"}
	pods := j.watchPods()
	j.start("submit", j.clientArguments(nil, filepath.Join(cluster.sparkHomes[defaultSpark], "examples/pi.py"), "4")...)
	j.exits(0).prints("Pi is roughly 3.1")
	createdBy(t, pods(), "kubespark")
	if left := j.objects(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The jar is added beside a user's own class path, wherever that comes from: ours stands before
// Spark's own jars and the user's is kept.
func TestClientModeBesideAUsersClassPath(t *testing.T) {
	const users = "/nowhere/user.jar"
	for _, from := range []struct {
		name     string
		args     []string
		defaults string // spark-defaults.conf
	}{
		{"flag", []string{"--driver-class-path", users}, ""},
		{"conf", []string{"--conf", "spark.driver.extraClassPath=" + users}, ""},
		{"spark-defaults", nil, "spark.driver.extraClassPath " + users},
		{"conf of the default path", []string{"--conf", "spark.driver.defaultExtraClassPath=" + users}, ""},
		{"spark-defaults of the default path", nil, "spark.driver.defaultExtraClassPath " + users},
	} {
		t.Run(from.name, func(t *testing.T) {
			j := newJob(t)
			confDir := t.TempDir()
			if err := os.WriteFile(filepath.Join(confDir, "spark-defaults.conf"), []byte(from.defaults+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			j.env = []string{"SPARK_HOME=" + cluster.sparkHomes[defaultSpark], "PYSPARK_PYTHON=python3", "SPARK_CONF_DIR=" + confDir}
			pods := j.watchPods()
			j.start("submit", j.clientArguments(from.args, filepath.Join(cluster.apps, "classpath.py"))...).exits(0)
			createdBy(t, pods(), "kubespark")
			_, path, _ := strings.Cut(j.output.String(), "class path: ")
			path, _, _ = strings.Cut(path, "\n")
			ours, sparks := strings.Index(path, "/kubespark.jar"), strings.Index(path, "/jars/")
			if ours < 0 || sparks < 0 || ours > sparks || !strings.Contains(path, users) {
				t.Errorf("ours is not before Spark's own jars, or the user's is lost, in the driver's class path %s", path)
			}
		})
	}
}
