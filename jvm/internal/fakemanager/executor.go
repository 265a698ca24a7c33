package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func (f *fake) pidFile() string { return filepath.Join(f.dir, "executors") }

// startExecutor runs Spark's own executor as a process of this machine.
func (f *fake) startExecutor(id string) {
	home := os.Getenv("SPARK_HOME")
	log, err := os.Create(filepath.Join(f.dir, "executor-"+id+".log"))
	if err != nil {
		f.note("executor "+id+" failed: "+err.Error(), nil)
		return
	}
	url := fmt.Sprintf("spark://CoarseGrainedScheduler@%s:%s", f.conf["spark.driver.host"], f.conf["spark.driver.port"])
	cmd := exec.Command("java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", home+"/jars/*",
		"org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
		"--driver-url", url, "--executor-id", id, "--cores", "1", "--app-id", f.open.AppID,
		"--hostname", "127.0.0.1", "--resourceProfileId", "0", "--podName", f.conf["spark.kubernetes.executor.podNamePrefix"]+"-exec-"+id)
	for _, opt := range []string{"java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio",
		"java.util", "java.util.concurrent", "java.util.concurrent.atomic", "sun.nio.ch", "sun.nio.cs", "sun.security.action",
		"sun.util.calendar"} {
		cmd.Args = append([]string{cmd.Args[0], "--add-opens=java.base/" + opt + "=ALL-UNNAMED"}, cmd.Args[1:]...)
	}
	cmd.Env = append(os.Environ(), "SPARK_USER=spark", "SPARK_LOCAL_DIRS="+f.dir)
	cmd.Dir = f.dir
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		f.note("executor "+id+" failed: "+err.Error(), nil)
		return
	}
	f.mu.Lock()
	file, err := os.OpenFile(f.pidFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintln(file, cmd.Process.Pid)
	}
	f.mu.Unlock()
	if err != nil {
		f.note("executor "+id+" cannot be written down: "+err.Error(), nil)
	}
	go func() {
		_ = cmd.Wait() // the code is in ProcessState
		f.note(fmt.Sprintf("executor %s ended with %d", id, cmd.ProcessState.ExitCode()), nil)
	}()
}
