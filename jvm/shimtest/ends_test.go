//go:build spark

package shimtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// E232: a driver that ends without stopping its SparkContext, whichever way, ends soon, with its own code, and leaves no
// manager behind.
func TestEndsE232(t *testing.T) {
	jar := compile(t, base, "ends")
	for _, tc := range []struct {
		how   string
		code  int
		stops bool // the shim was told in time to clean up
	}{{"returns", 0, true}, {"throws", 1, true}, {"exits", 3, true}, {"is killed", -1, false}} {
		t.Run(tc.how, func(t *testing.T) {
			t.Parallel()
			ends := filepath.Join(t.TempDir(), "ends")
			r := launch(t, base, "idle", filepath.Join(made.jvm, "image", "entrypoint.sh"), "driver", "--master", "k8s://https://127.0.0.1:1",
				"--driver-memory", "600m", "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.ui.enabled=false",
				"--conf", "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1", "--conf", "spark.driver.defaultExtraClassPath="+made.jar,
				"--conf", "spark.local.dir="+t.TempDir(), "--conf", "spark.scheduler.maxRegisteredResourcesWaitingTime=1ms",
				"--class", "org.example.Ends", jar, tc.how, ends)
			manager := r.await("session.start", 1).PID
			began := appears(t, ends)
			if !tc.stops {
				if err := r.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			if code := r.wait(); code != tc.code {
				t.Errorf("exit code %d, not %d", code, tc.code)
			}
			if status, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus); !tc.stops && (!ok || status.Signal() != syscall.SIGKILL) {
				t.Errorf("the driver ended with %v", r.cmd.ProcessState)
			}
			for !gone(manager) {
				if time.Since(began) > 30*time.Second {
					t.Fatalf("after %s the manager %d is still there", time.Since(began), manager)
				}
				time.Sleep(20 * time.Millisecond)
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("the end took %s", took)
			}
			if stopped := r.count("session.stop") == 1; stopped != tc.stops {
				t.Errorf("notes %v", kinds(r.notes()))
			}
			noChild(t, r.cmd.Process.Pid)
		})
	}
}

// appears waits for a file and says when it was made.
func appears(t *testing.T, path string) time.Time {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if info, err := os.Stat(path); err == nil {
			return info.ModTime()
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s was not made", path)
		}
	}
}

// noChild fails when a process of the driver's group is left.
func noChild(t *testing.T, group int) {
	t.Helper()
	out, err := exec.Command("ps", "-e", "-o", "pgid=,stat=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[0] != strconv.Itoa(group) || strings.HasPrefix(fields[1], "Z") {
			continue
		}
		t.Errorf("left behind: %s", strings.TrimSpace(line))
	}
}

// E216: a registration while the context is stopped is swallowed; before and after it is answered.
func TestLateRegistrationE216(t *testing.T) {
	t.Parallel()
	r := start(t, app{script: "idle", program: []string{"late.py"}})
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	answers := map[string]string{}
	for line := range strings.Lines(r.output.String()) {
		if when, answer, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			answers[when] = answer
		}
	}
	if answers["running"] != "true" {
		t.Errorf("a registration was answered %q", answers["running"])
	}
	if a := answers["stopped"]; !strings.Contains(a, "TimeoutException") || strings.Contains(a, "IllegalStateException") {
		t.Errorf("while stopped the answer was %q", a)
	}
	if a := answers["running again"]; !strings.Contains(a, "Duplicate executor ID: 7") {
		t.Errorf("a second registration was answered %q", a)
	}
	if answers["registered"] != "7" {
		t.Errorf("executors %q are registered", answers["registered"])
	}
	for _, bad := range []string{"Uncaught exception", "Ignoring error"} {
		if strings.Contains(r.output.String(), bad) {
			t.Errorf("the log has %q", bad)
		}
	}
}
