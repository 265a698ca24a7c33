package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func (f *fake) pidFile() string { return filepath.Join(f.dir, "executors") }

// startExecutor runs Spark's own executor as a process of this machine, by the image's entry point (FAKE_ENTRYPOINT).
func (f *fake) startExecutor(id string) {
	f.startExecutorAs(id, f.conf["spark.kubernetes.executor.podNamePrefix"]+"-exec-"+id)
}

// startExecutorAs starts an executor in a pod of that name; its id may be EXECID.
func (f *fake) startExecutorAs(id, pod string) {
	if err := f.tryExecutor(id, pod); err != nil {
		f.note(fmt.Sprintf("executor %s failed: %v", id, err), nil)
	}
}

func (f *fake) tryExecutor(id, pod string) error {
	log, err := os.Create(filepath.Join(f.dir, "executor-"+pod+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(os.Getenv("FAKE_ENTRYPOINT"), "executor")
	cmd.Env = append(os.Environ(),
		fmt.Sprintf("SPARK_DRIVER_URL=spark://CoarseGrainedScheduler@%s:%s", f.conf["spark.driver.host"], f.conf["spark.driver.port"]),
		"SPARK_EXECUTOR_ID="+id, "SPARK_EXECUTOR_CORES=1", "SPARK_EXECUTOR_MEMORY=500m", "SPARK_APPLICATION_ID="+f.open.AppID,
		"SPARK_EXECUTOR_POD_IP=127.0.0.1", "SPARK_RESOURCE_PROFILE_ID=0",
		"SPARK_EXECUTOR_POD_NAME="+pod,
		"SPARK_USER=spark", "SPARK_LOCAL_DIRS="+f.dir)
	if f.open.Secret != "" {
		cmd.Env = append(cmd.Env, "_SPARK_AUTH_SECRET="+f.open.Secret)
	}
	for i, option := range append([]string{"-XX:TieredStopAtLevel=1"}, append(moduleOptions(), f.networkOptions()...)...) {
		cmd.Env = append(cmd.Env, fmt.Sprintf("SPARK_JAVA_OPT_%d=%s", i, option))
	}
	cmd.Dir = f.dir
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	pids, err := os.OpenFile(f.pidFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer pids.Close()
	if _, err := fmt.Fprintln(pids, cmd.Process.Pid); err != nil {
		return err
	}
	go func() {
		_ = cmd.Wait() // the code is in ProcessState
		f.note(fmt.Sprintf("executor %s ended with %d", id, cmd.ProcessState.ExitCode()), nil)
	}()
	return nil
}

// networkOptions are the properties that an executor needs before it can ask the driver for the others.
func (f *fake) networkOptions() []string {
	var options []string
	for key, value := range f.conf {
		if key == "spark.authenticate" || strings.HasPrefix(key, "spark.network.") {
			options = append(options, "-D"+key+"="+value)
		}
	}
	return options
}

// moduleOptions are what Spark needs of a JDK 17, as the driver would hand them on.
func moduleOptions() []string {
	var options []string
	for _, name := range []string{"java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio",
		"java.util", "java.util.concurrent", "java.util.concurrent.atomic", "sun.nio.ch", "sun.nio.cs",
		"sun.security.action", "sun.util.calendar"} {
		options = append(options, "--add-opens=java.base/"+name+"=ALL-UNNAMED")
	}
	return options
}
