//go:build spark && sparklong

package shimtest

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// The ways to a SparkContext other than spark-submit's own: the shell, and the Connect server as a plug-in.
func TestShell(t *testing.T) {
	home := made.homes[base]
	dir := t.TempDir()
	r := launchIn(t, dir, base, "", "/bin/bash", "-c", "echo 'println(\"sum is \" + sc.parallelize(1 to 10, 2).sum())' | "+
		filepath.Join(home, "bin", "spark-shell")+" --master k8s://https://127.0.0.1:1 --driver-memory 600m "+
		"--conf spark.driver.host=127.0.0.1 --conf spark.ui.enabled=false --conf spark.driver.defaultExtraClassPath="+made.jar)
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.expect("sum is 55.0")
	if n := r.count("session.stop"); n != 1 {
		t.Errorf("%d × session.stop", n)
	}
}

func TestConnectPlugin(t *testing.T) {
	r := start(t, app{conf: props{"spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
		"spark.connect.grpc.binding.port": "0"}, program: []string{"rounds.py", "/dev/null"}})
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.expect("rounds are right")
}

// The Connect server as a program of its own.
func TestConnectServer(t *testing.T) {
	jars, err := filepath.Glob(filepath.Join(made.homes[base], "jars", "spark-connect_2.13-*.jar"))
	if err != nil || len(jars) != 1 {
		t.Fatalf("connect jars: %v %v", jars, err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, app{args: []string{"--class", "org.apache.spark.sql.connect.service.SparkConnectServer"},
		conf: props{"spark.connect.grpc.binding.port": port}, program: []string{jars[0]}})
	r.await("executor.registered", 2)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close() // it answered
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the Connect server does not listen")
		}
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.await("session.stop", 1)
}
