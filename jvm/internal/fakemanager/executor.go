package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func (f *fake) pidFile() string { return filepath.Join(f.dir, "executors") }

// startExecutor runs Spark's own executor as a process of this machine, by the image's entry point (FAKE_ENTRYPOINT).
func (f *fake) startExecutor(id string) {
	if err := f.tryExecutor(id); err != nil {
		f.note(fmt.Sprintf("executor %s failed: %v", id, err), nil)
	}
}

func (f *fake) tryExecutor(id string) error {
	log, err := os.Create(filepath.Join(f.dir, "executor-"+id+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(os.Getenv("FAKE_ENTRYPOINT"), "executor")
	cmd.Env = append(os.Environ(),
		fmt.Sprintf("SPARK_DRIVER_URL=spark://CoarseGrainedScheduler@%s:%s", f.conf["spark.driver.host"], f.conf["spark.driver.port"]),
		"SPARK_EXECUTOR_ID="+id, "SPARK_EXECUTOR_CORES=1", "SPARK_EXECUTOR_MEMORY=500m", "SPARK_APPLICATION_ID="+f.open.AppID,
		"SPARK_EXECUTOR_POD_IP=127.0.0.1", "SPARK_RESOURCE_PROFILE_ID=0",
		"SPARK_EXECUTOR_POD_NAME="+f.conf["spark.kubernetes.executor.podNamePrefix"]+"-exec-"+id,
		"SPARK_USER=spark", "SPARK_LOCAL_DIRS="+f.dir)
	for i, option := range append([]string{"-XX:TieredStopAtLevel=1"}, moduleOptions()...) {
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
