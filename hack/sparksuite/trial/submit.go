package trial

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Places in the images.
const (
	Jar        = "local:///opt/spark/suite/suite.jar" // the suite's programs in Java
	Python     = "local:///opt/spark/suite/"          // the suite's programs in Python
	NoResource = "spark-internal"                     // SparkLauncher.NO_RESOURCE
	shim       = "/opt/kubespark/kubespark.jar"
)

// account is the service account of drivers.
const account = "spark"

// configure fills Conf with what every test of the suite sets, and the row's and the column's own.
func (t *Trial) configure() {
	maps.Copy(t.Conf, map[string]string{
		"spark.app.name":                                          "spark-test-app",
		"spark.executor.cores":                                    "1",
		"spark.executor.instances":                                "1",
		"spark.ui.enabled":                                        "true",
		"spark.authenticate":                                      "true",
		"spark.kubernetes.namespace":                              t.Namespace,
		"spark.kubernetes.container.image":                        t.Image(),
		"spark.kubernetes.driver.pod.name":                        t.DriverName,
		"spark.kubernetes.driver.label." + label:                  t.Locator,
		"spark.kubernetes.executor.label." + label:                t.Locator,
		"spark.kubernetes.authenticate.driver.serviceAccountName": account,
		"spark.kubernetes.submission.waitAppCompletion":           "false",
	})
	maps.Copy(t.Conf, t.ManagerConf())
	maps.Copy(t.Conf, schedulerConf(t.Column.Scheduler, t.Namespace))
	maps.Copy(t.Conf, t.Row.Conf)
}

// ManagerConf is what brings the column's manager into the driver.
func (t *Trial) ManagerConf() map[string]string {
	switch {
	case t.Column.Manager == Stock:
		return nil // nothing of kubespark is in the image
	case t.Column.Submit == Stock:
		return map[string]string{"spark.driver.defaultExtraClassPath": shim}
	default:
		return map[string]string{"spark.kubespark.jar": shim}
	}
}

// Image is the column's image.
func (t *Trial) Image() string { return imageOf(t.Spark, t.Column.Manager) }

func imageOf(version, manager string) string { return manager + "/spark:" + version }

// arguments is the command line for spark-submit.
func (t *Trial) arguments() []string {
	args := []string{"--deploy-mode", "cluster"}
	conf := maps.Clone(t.Conf)
	master := conf["spark.master"]
	delete(conf, "spark.master")
	if master == "" {
		master = t.Master
	}
	args = append(args, "--master", master)
	if t.Row.Class != "" {
		args = append(args, "--class", t.Row.Class)
	}
	args = append(args, t.Options...)
	for _, k := range slices.Sorted(maps.Keys(conf)) {
		args = append(args, "--conf", k+"="+conf[k])
	}
	return append(append(args, t.Program), t.Args...)
}

// submit runs the column's spark-submit to its end.
func (t *Trial) submit() error {
	ctx, cancel := context.WithTimeout(t.Ctx, t.Patience)
	defer cancel()
	home := t.Homes[t.Spark]
	program, args := filepath.Join(home, "bin", "spark-submit"), t.arguments()
	if t.Column.Submit == Kubespark {
		program, args = filepath.Join(t.Bin, "kubespark"), append([]string{"submit"}, args...)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = t.Dir
	cmd.Env = append(os.Environ(), shortLived, "KUBECONFIG="+t.Kubeconfig, "SPARK_HOME="+home, "SPARK_CONF_DIR="+filepath.Join(t.Dir, "conf"))
	for k, v := range t.Env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	t.submission = strings.Join(cmd.Args, " ") + "\n" + out.String()
	if err != nil {
		return fmt.Errorf("the submission failed: %w: %s", err, lastLine(out.String()))
	}
	return nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
