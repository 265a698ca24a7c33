//go:build spark

package shimtest

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Every class of the one jar must link against every version.
func TestLinks(t *testing.T) {
	for version, home := range made.homes {
		t.Run(version, func(t *testing.T) {
			out, err := exec.Command("java", "-cp", made.jar+":"+home+"/jars/*",
				filepath.Join(made.jvm, "src", "check", "java", "LinkCheck.java"), made.jar).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// Our classes load first beside the user's own class path, and a job runs to its end on stock executors.
func TestPi(t *testing.T) {
	for _, version := range slices.Sorted(maps.Keys(made.homes)) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			r := start(t, app{version: version, args: []string{"--driver-class-path", t.TempDir()},
				program: []string{filepath.Join(made.homes[version], "examples", "pi.py"), "3"}})
			if code := r.wait(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			r.expect("Pi is roughly 3.")
			r.expect("ExecutorPodsAllocator: the fake manager has started")
			open := params[struct {
				Protocol                             int
				SparkVersion, AppID, DeployMode      string
				APIServer, AuthPrefix, PodNamePrefix string
				ConfigMapName, UserName              string
				Resume                               any
			}](t, r.await("session.open", 1))
			if open.SparkVersion != version || open.DeployMode != "client" || open.APIServer != "https://127.0.0.1:1" ||
				open.AuthPrefix != "spark.kubernetes.authenticate" || !strings.HasPrefix(open.AppID, "spark-") || open.Resume != nil {
				t.Errorf("session.open has %+v", open)
			}
			if !strings.HasPrefix(open.PodNamePrefix, "pythonpi-") || !strings.HasSuffix(open.ConfigMapName, "-conf-map") {
				t.Errorf("session.open has the names %q, %q", open.PodNamePrefix, open.ConfigMapName)
			}
			targets := params[struct{ Totals map[string]int }](t, r.await("targets.set", 1))
			if diff := cmp.Diff(map[string]int{"0": 2}, targets.Totals); diff != "" {
				t.Error("the seeded totals:", diff)
			}
			if n := r.count("session.stop"); n != 1 {
				t.Errorf("%d × session.stop", n)
			}
			r.await("stdin closed", 1)
		})
	}
}

// A child killed twice is replaced twice, knows what only the JVM knew, and gets every open command again.
func TestRestart(t *testing.T) {
	t.Parallel()
	finish := filepath.Join(t.TempDir(), "finish")
	r := start(t, app{script: "no-ack", program: []string{"rounds.py", finish}})
	r.await("executor.registered", 2)
	for life := 1; life <= 2; life++ {
		pid := r.await("session.start", life).PID
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		next := r.await("session.open", life+1)
		resume := params[struct {
			Resume struct {
				Totals    map[string]int
				NextID    int
				Executors map[string]int64
				Profiles  []struct{ ID int }
				// An executor registered, although this manager never spoke of a pod.
				PodsCreated bool
			}
		}](t, next).Resume
		if diff := cmp.Diff(map[string]int{"0": 2}, resume.Totals); diff != "" {
			t.Error("resume.totals:", diff)
		}
		ids := slices.Sorted(maps.Keys(resume.Executors))
		if diff := cmp.Diff([]string{"1", "2"}, ids); diff != "" || resume.NextID != 3 || len(resume.Profiles) != 1 || !resume.PodsCreated {
			t.Errorf("resume has executors %v, nextId %d, %d profiles, podsCreated %t", ids, resume.NextID, len(resume.Profiles),
				resume.PodsCreated)
		}
		if replay := r.await("targets.set", life+1); replay.PID == pid || replay.PID != next.PID {
			t.Errorf("targets.set was replayed to %d, the child is %d", replay.PID, next.PID)
		}
	}
	if err := os.WriteFile(finish, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.expect("rounds are right")
	r.expect("kubespark-manager ended with signal 9")
	if n := r.count("executor.registered"); n != 2 {
		t.Errorf("%d executors registered, not 2", n)
	}
}

// E245: a manager that cannot be kept alive ends the application.
func TestGiveUpE245(t *testing.T) {
	t.Parallel()
	r := start(t, app{script: "die-at-resume", program: []string{"rounds.py", "never"}})
	if err := syscall.Kill(r.await("session.start", 1).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := r.wait(); code != 1 {
		t.Errorf("exit code %d, not 1", code)
	}
	r.expect("kubespark-manager cannot be kept running (the last one ended with exit code 2")
	r.expect("told to die again")
	if n := r.count("session.open"); n != 11 {
		t.Errorf("%d children were started, not 11", n)
	}
}

// The image's entry point starts a driver as bin/spark-submit would, by the pod's properties file.
func TestEntryPoint(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "spark.properties")
	text := "spark.master=k8s\\://https\\://127.0.0.1\\:1\nspark.driver.host=127.0.0.1\nspark.ui.enabled=false\n" +
		"spark.driver.memory=555m\nspark.driver.defaultExtraClassPath=" + made.jar + "\n" +
		"spark.driver.extraJavaOptions=-Dmy.opt\\=\"a b\"\nspark.submit.deployMode=cluster\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r := launch(t, base, "", filepath.Join(made.jvm, "image", "entrypoint.sh"), "driver", "--properties-file", file,
		program(t, "options.py"), "x  y")
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.expect("option is a b, memory is 555m, bind address is 127.0.0.1, argument is x  y")
}

// The parent-death signal is tied to the thread that forked: it must not be the one that made the SparkContext.
func TestContextOnThreadThatEnds(t *testing.T) {
	t.Parallel()
	r := start(t, app{program: []string{"thread.py"}})
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.expect("sum is 28")
	if n := r.count("session.open"); n != 1 {
		t.Errorf("%d children were started", n)
	}
}

// P100: two runs draw two names for the executors' ConfigMap.
func TestTwoContexts(t *testing.T) {
	t.Parallel()
	r := start(t, app{program: []string{"twice.py"}})
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.expect("first sum is 28")
	r.expect("second sum is 28")
	opens := only(r.notes(), "session.open")
	type names struct{ AppID, ConfigMapName string }
	if len(opens) != 2 || r.count("session.stop") != 2 {
		t.Fatalf("the children were told %v", kinds(r.notes()))
	}
	first, second := params[names](t, opens[0]), params[names](t, opens[1])
	if first.AppID == second.AppID || first.ConfigMapName == second.ConfigMapName || !strings.HasPrefix(second.ConfigMapName, "spark-exec-") {
		t.Errorf("the children were told %v", kinds(r.notes()))
	}
}

// A killed JVM takes its child with it and leaves no copy of the binary.
func TestChildDiesWithJVM(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	r := start(t, app{conf: map[string]string{"spark.driver.extraJavaOptions": "-Djava.io.tmpdir=" + tmp}, program: []string{"idle.py"}})
	pid := r.await("session.start", 1).PID
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); !gone(pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on", pid)
		}
	}
	if left, err := filepath.Glob(filepath.Join(tmp, "kubespark-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// E217: the deny hand-shake of B10: what registered before is named, the rest can no longer register.
func TestDenyE217(t *testing.T) {
	t.Parallel()
	r := start(t, app{script: "deny", program: []string{"rounds.py", os.DevNull}})
	r.await("executor 2 ended with 1", 1)
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.expect("Rejecting 2 as it has been excluded.")
	var registered [][]string
	for _, n := range only(r.notes(), "denied") {
		registered = append(registered, params[struct{ Registered []string }](t, n).Registered)
	}
	slices.SortFunc(registered, func(a, b []string) int { return len(a) - len(b) })
	if diff := cmp.Diff([][]string{{}, {"1"}}, registered); diff != "" {
		t.Error("answers to executors.deny:", diff)
	}
}

// E209: the end of an executor reaches Spark once, and an OOM turns recovery mode on (B14).
func TestRemoveE209(t *testing.T) {
	t.Parallel()
	finish := filepath.Join(t.TempDir(), "finish")
	r := start(t, app{script: "remove", program: []string{"rounds.py", finish}})
	r.await("removed", 2)
	r.await("conf.set", 1)
	removed := r.await("executor.removed", 1)
	if err := os.WriteFile(finish, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if diff := cmp.Diff(map[string]string{"id": "1", "reason": "exited"}, params[map[string]string](t, removed)); diff != "" {
		t.Error("executor.removed:", diff)
	}
	if n := r.count("executor.removed"); n != 1 {
		t.Errorf("executor.removed came %d times", n)
	}
	r.expect("OOM is detected.")
	r.expect("told to remove it (OOM)")
}

func TestAppExit(t *testing.T) {
	t.Parallel()
	r := start(t, app{script: "exit=11", program: []string{"idle.py"}})
	if code := r.wait(); code != 11 {
		t.Errorf("exit code %d, not 11", code)
	}
	r.expect("ERROR KubernetesClusterSchedulerBackend: told to end the application")
	r.await("session.stop", 1)
}

// A child that dies while it cleans up is replaced, and the next one does it.
func TestDeathAtStop(t *testing.T) {
	t.Parallel()
	r := start(t, app{script: "die-at-stop", program: []string{"rounds.py", os.DevNull}})
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if n := r.count("session.stop"); n != 2 {
		t.Errorf("session.stop was sent %d times", n)
	}
	if n := r.count("session.start"); n != 1 {
		t.Errorf("session.start was sent %d times", n)
	}
}

func TestStartRefused(t *testing.T) {
	t.Parallel()
	r := start(t, app{script: "start-error", program: []string{"idle.py"}})
	if code := r.wait(); code == 0 {
		t.Error("exit code 0")
	}
	r.expect("told to refuse the start")
	r.await("session.stop", 1)
}

func TestOpenRefused(t *testing.T) {
	t.Parallel()
	r := start(t, app{script: "open-error=-32002", program: []string{"idle.py"}})
	if code := r.wait(); code == 0 {
		t.Error("exit code 0")
	}
	r.expect("told to refuse")
}

// Whatever stops ours before its first answer, and whoever does not want it, gets Spark's own manager.
func TestWayBack(t *testing.T) {
	noexec := noexecFolder(t)
	for _, test := range []struct {
		name, jar, script, says string
		conf                    map[string]string
	}{
		{name: "disabled", conf: map[string]string{"spark.kubespark.enabled": "false"}, says: "INFO KubernetesClusterManager: spark.kubespark.enabled is false"},
		{name: "custom allocator", conf: map[string]string{"spark.kubernetes.allocation.pods.allocator": "org.example.Allocator"},
			says: "WARN KubernetesClusterManager: spark.kubernetes.allocation.pods.allocator: class org.example.Allocator needs the stock manager; kubespark is not in use"},
		{name: "foreign binary", jar: made.foreignJar, says: "WARN KubernetesClusterManager: kubespark-manager ended before it answered ("},
		{name: "no binary", conf: map[string]string{"spark.kubespark.manager.path": "/nonexistent", "spark.local.dir": noexec,
			"spark.driver.extraJavaOptions": "-Djava.io.tmpdir=" + noexec},
			says: "WARN KubernetesClusterManager: kubespark-manager cannot be started: spark.kubespark.manager.path: /nonexistent is not a file that may be executed; "},
		{name: "noexec", conf: map[string]string{"spark.local.dir": noexec, "spark.driver.extraJavaOptions": "-Djava.io.tmpdir=" + noexec},
			says: "WARN KubernetesClusterManager: kubespark-manager cannot be started:"},
		{name: "dies at open", script: "die-at-open", says: "WARN KubernetesClusterManager: kubespark-manager ended before it answered (exit code 2"},
		{name: "cannot run", script: "open-error=-32003", says: "WARN KubernetesClusterManager: told to refuse; kubespark is not in use"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if noexec == "" && (test.name == "noexec" || test.name == "no binary") {
				t.Fatal("no tmpfs can be mounted: run these tests as root")
			}
			server, agents := listen(t)
			r := start(t, app{master: "k8s://" + server, jar: test.jar, script: test.script, conf: test.conf,
				program: []string{"idle.py"}})
			if code := r.wait(); code == 0 {
				t.Error("exit code 0")
			}
			r.expect(test.says)
			if test.name == "custom allocator" {
				r.expect("org.example.Allocator") // stock looks for the class and fails before any call
				return
			}
			if got := agents(); len(got) == 0 || !strings.HasPrefix(got[0], "fabric8-kubernetes-client/") {
				t.Errorf("the API server heard %q", got)
			}
		})
	}
}

// An image volume whose files may not be run: the copy in the jar serves, for every child, and that is said once.
func TestManagerPathWithoutExec(t *testing.T) {
	dir := noexecFolder(t)
	if dir == "" {
		t.Fatal("no tmpfs can be mounted: run these tests as root")
	}
	program, err := os.ReadFile(made.fake)
	if err != nil {
		t.Fatal(err)
	}
	path, finish := filepath.Join(dir, "kubespark-manager"), filepath.Join(t.TempDir(), "finish")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	r := start(t, app{conf: map[string]string{"spark.kubespark.manager.path": path}, program: []string{"rounds.py", finish}})
	r.await("executor.registered", 2)
	if err := syscall.Kill(r.await("session.start", 1).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.await("session.start", 2)
	if err := os.WriteFile(finish, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	said := "WARN KubernetesClusterManager: spark.kubespark.manager.path: " + path + " is not a file that may be executed; the copy in kubespark.jar runs instead."
	if n := strings.Count(r.output.String(), said); n != 1 {
		t.Errorf("said %d times: %s", n, said)
	}
}

// The stock manager is the way back on every version.
func TestWayBackOnEachVersion(t *testing.T) {
	for version := range made.homes {
		if version == base {
			continue
		}
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server, agents := listen(t)
			r := start(t, app{version: version, master: "k8s://" + server, conf: map[string]string{"spark.kubespark.enabled": "false"},
				program: []string{"idle.py"}})
			if code := r.wait(); code == 0 {
				t.Error("exit code 0")
			}
			if got := agents(); len(got) == 0 || !strings.HasPrefix(got[0], "fabric8-kubernetes-client/") {
				t.Errorf("the API server heard %q", got)
			}
		})
	}
}

// A driver-only application needs neither manager nor cluster.
func TestDriverOnly(t *testing.T) {
	t.Parallel()
	r := start(t, app{conf: map[string]string{"spark.kubernetes.driver.master": "local[2]", "spark.app.id": "mine"},
		program: []string{"rounds.py", os.DevNull}})
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.expect("Running Spark with local[2]")
	if got := r.notes(); len(got) != 0 {
		t.Errorf("a manager was started: %v", kinds(got))
	}
}

// listen runs an API server that forbids everything and remembers who asked.
func listen(t *testing.T) (string, func() []string) {
	var mu sync.Mutex
	var agents []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		agents = append(agents, r.UserAgent())
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)) // the client may have gone
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(agents)
	}
}

// noexecFolder mounts a folder that no program can be run from; empty without the right to.
func noexecFolder(t *testing.T) string {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_NOEXEC, "size=256m"); err != nil {
		return ""
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}
