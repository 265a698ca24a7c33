//go:build spark

package shimtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// E001, E002, E011, E012: what needs no SparkContext.
func TestPureE001E002E011E012(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("java", "-Dfile.encoding=UTF-8", "-cp", made.jar+":"+made.homes[base]+"/jars/*",
		filepath.Join("testdata", "pure", "Pure.java")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text := string(out)
	for _, line := range []string{"k8s://h true", "k8s://https://h:6443 true", "K8S://h false", "k8s:h false", "yarn false", "null false",
		"managers 1", "manager from file:" + made.jar} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
	var prefixes []string
	for line := range strings.Lines(text) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), "prefix "); ok {
			prefixes = append(prefixes, p)
		}
	}
	for i, want := range []string{"spark-pi-U", "xmin-U", "min-U", "xa-U", "b-U", "[a-fx][0-9a-f]{15,16}", "x+-U"} {
		pattern := "^" + strings.ReplaceAll(want, "U", "[0-9a-f]{16}") + "$"
		if i >= len(prefixes) || !regexp.MustCompile(pattern).MatchString(prefixes[i]) || len(prefixes[i]) > 237 {
			t.Fatalf("prefixes %q, number %d is not %s", prefixes, i, want)
		}
	}
}

// seen is what contexts.py prints of one SparkContext.
type seen struct {
	Error       string
	IDs         []string
	Backend     string
	MaxFailures int
	Parallelism int
	ReadyAt     int
	Hold        bool
	Tokens      string // who obtains and renews delegation tokens, where Hadoop is secured
}

// contexts runs a SparkContext for each set of properties in one JVM.
func contexts(t *testing.T, cases []map[string]string) (*running, []seen) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cases.json")
	body, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, body, 0o644); err != nil {
		t.Fatal(err)
	}
	r := start(t, app{script: "idle", conf: props{"spark.app.name": "contexts", "spark.scheduler.maxRegisteredResourcesWaitingTime": "1ms"},
		args: []string{"--driver-class-path", compile(t, base, "ready")}, program: []string{"contexts.py", file}})
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var all []seen
	for line := range strings.Lines(r.output.String()) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "CONTEXT "); ok {
			var s seen
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
	}
	if len(all) != len(cases) {
		t.Fatalf("%d of %d contexts", len(all), len(cases))
	}
	return r, all
}

// opened is what session.open and session.start said in one life.
type opened struct {
	APIServer, AuthPrefix, CAFile, PodNamePrefix, DeployMode, Template string
	Conf                                                               map[string]string
	InitialTarget                                                      int
}

func lives(t *testing.T, r *running) (all []opened) {
	t.Helper()
	for _, n := range r.notes() {
		switch n.What {
		case "session.open":
			all = append(all, params[opened](t, n))
		case "session.start":
			all[len(all)-1].InitialTarget = params[opened](t, n).InitialTarget
		}
	}
	return all
}

type props = map[string]string

// E004, E005, E006: driver-only masters need no manager; cluster mode needs a driver pod.
func TestDriverOnlyE004E005E006(t *testing.T) {
	t.Parallel()
	local := func(master string) props {
		return props{"spark.kubernetes.driver.master": master, "spark.task.maxFailures": "7"}
	}
	cases := []props{local("local"), local("local[4]"), local("local[*, 3]"), local("local-x"),
		{"spark.kubernetes.driver.master": "local[2]", "spark.app.id": "user-app-id"}, {"spark.kubernetes.submitInDriver": "true"}}
	r, got := contexts(t, cases)
	for i, want := range []int{1, 1, 3, 7} {
		if got[i].MaxFailures != want {
			t.Errorf("%v: max failures %d, not %d %s", cases[i], got[i].MaxFailures, want, got[i].Error)
		}
	}
	if got[0].Parallelism != 1 || got[1].Parallelism != 4 || !strings.HasPrefix(got[1].IDs[0], "local-") || got[4].IDs[0] != "user-app-id" ||
		got[4].Parallelism != 2 {
		t.Errorf("driver-only contexts: %+v %+v %+v", got[0], got[1], got[4])
	}
	if text := "the driver pod name must be provided."; !strings.Contains(got[5].Error, text) {
		t.Errorf("%q lacks %q", got[5].Error, text)
	}
	if n := r.notes(); len(n) != 0 {
		t.Errorf("a manager was started: %v", kinds(n))
	}
}

// E005, E027, E028, E029, E231: ids, initial targets, readiness, what only the direct allocator can.
func TestContextsE005E027E028E029E231(t *testing.T) {
	t.Parallel()
	instances := func(n int, more ...string) props {
		p := props{"spark.executor.instances": strconv.Itoa(n), "spark.task.maxFailures": "7"}
		for i := 0; i+1 < len(more); i += 2 {
			p[more[i]] = more[i+1]
		}
		return p
	}
	dynamic := func(initial int) props {
		return instances(3, "spark.dynamicAllocation.enabled", "true", "spark.dynamicAllocation.shuffleTracking.enabled", "true",
			"spark.dynamicAllocation.minExecutors", "1", "spark.dynamicAllocation.initialExecutors", strconv.Itoa(initial),
			"spark.dynamicAllocation.maxExecutors", "10")
	}
	statefulset := "spark.kubernetes.allocation.pods.allocator"
	cases := []props{instances(1), instances(3, statefulset, "statefulset"), instances(5), instances(10), instances(0),
		instances(10, "spark.scheduler.minRegisteredResourcesRatio", "0.5"), dynamic(4), dynamic(12)}
	r, got := contexts(t, cases)
	for i, want := range []int{1, 3, 4, 8, 0, 5, 4} {
		if got[i].ReadyAt != want || got[i].MaxFailures != 7 || got[i].Hold != (i != 1) || got[i].Tokens != "HadoopDelegationTokenManager" ||
			got[i].Error != "" {
			t.Errorf("%v: ready not at %d: %+v", cases[i], want, got[i])
		}
		if ids := got[i].IDs; len(ids) != 3 || ids[0] != ids[1] || ids[1] != ids[2] || !regexp.MustCompile("^spark-[0-9a-f]{32}$").MatchString(ids[0]) {
			t.Errorf("application ids %v", ids)
		}
	}
	if text := "initial executor number 12 must between min executor number 1 and max executor number 10"; !strings.Contains(got[7].Error, text) {
		t.Errorf("%q lacks %q", got[7].Error, text)
	}
	targets := []int{}
	for _, o := range lives(t, r) {
		targets = append(targets, o.InitialTarget)
	}
	if diff := cmp.Diff([]int{1, 3, 5, 10, 0, 10, 4}, targets[:7]); diff != "" {
		t.Error("initial targets:", diff)
	}
}

// E007, E014, E017, E018, E268: what session.open is told of the cluster, of templates and of recovery.
func TestOpenedE007E014E017E018E268(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fetched.Add(1)
		}
		fmt.Fprint(w, "spec: {}\n")
	}))
	defer server.Close()
	local := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(local, []byte("metadata: {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	template := "spark.kubernetes.executor.podTemplateFile"
	r, got := contexts(t, []props{
		{"spark.kubernetes.submitInDriver": "true", "spark.kubernetes.driver.pod.name": "driver"},
		{"spark.shuffle.sort.io.plugin.class": "org.apache.spark.shuffle.KubernetesLocalDiskShuffleDataIO"},
		{template: server.URL + "/t.yaml"}, {template: "file://" + local}, {template: "local://" + local},
		{template: local + ".missing"},
	})
	for _, g := range got[:5] {
		if g.Error != "" {
			t.Error(g.Error)
		}
	}
	if !strings.Contains(got[5].Error, "Could not load pod from template file.") {
		t.Errorf("a missing template: %q", got[5].Error)
	}
	o := lives(t, r)
	if o[0].APIServer != "https://kubernetes.default.svc" || o[0].AuthPrefix != "spark.kubernetes.authenticate.driver.mounted" || o[0].CAFile != "" ||
		o[0].DeployMode != "cluster" {
		t.Errorf("cluster mode: %+v", o[0])
	}
	if o[1].APIServer != "https://127.0.0.1:1" || o[1].AuthPrefix != "spark.kubernetes.authenticate" || o[1].CAFile != "" {
		t.Errorf("client mode: %+v", o[1])
	}
	if o[1].Conf["spark.kubernetes.driver.reusePersistentVolumeClaim"] != "true" || o[2].Conf["spark.kubernetes.driver.reusePersistentVolumeClaim"] != "" {
		t.Error("the reuse of claims is not written where the shuffle plug-in is, or where it is not")
	}
	if o[2].Template != "spec: {}\n" || o[3].Template != "metadata: {}\n" || o[4].Template != "metadata: {}\n" || fetched.Load() != 1 {
		t.Errorf("templates %q %q %q, fetched %d times", o[2].Template, o[3].Template, o[4].Template, fetched.Load())
	}
	if p := o[1].PodNamePrefix; p == o[2].PodNamePrefix || o[1].Conf["spark.kubernetes.executor.podNamePrefix"] != p {
		t.Errorf("pod name prefixes %q, %q; the SparkConf has %q", p, o[2].PodNamePrefix, o[1].Conf["spark.kubernetes.executor.podNamePrefix"])
	}
}

// E210, E214, E227: orders by hand become targets, kills and releases.
func TestOrdersE210E214E227(t *testing.T) {
	t.Parallel()
	r := start(t, app{conf: props{"spark.decommission.enabled": "true"}, program: []string{"orders.py"}})
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	var totals []int
	for _, n := range only(r.notes(), "targets.set") {
		totals = append(totals, params[struct{ Totals map[string]int }](t, n).Totals["0"])
	}
	if diff := cmp.Diff([]int{2, 3, 2}, totals); diff != "" {
		t.Error("targets:", diff)
	}
	kill := params[struct {
		IDs     []string
		GraceMs int
	}](t, r.await("executors.kill", 1))
	if !slices.Equal(kill.IDs, []string{"1"}) || kill.GraceMs != 5000 {
		t.Errorf("executors.kill has %+v", kill)
	}
	if diff := cmp.Diff(map[string]string{"id": "1", "reason": "killed"}, params[map[string]string](t, r.await("executor.removed", 1))); diff != "" {
		t.Error("executor.removed:", diff)
	}
	releases := only(r.notes(), "executors.release")
	if len(releases) != 1 || !slices.Equal(params[struct{ IDs []string }](t, releases[0]).IDs, []string{"2"}) {
		t.Errorf("%d × executors.release: %v", len(releases), kinds(releases))
	}
}

// E205, E263: executors that come without an id are given one, with the application's secret on the way.
func TestExecutorsWithoutIDsE205E263(t *testing.T) {
	t.Parallel()
	r := start(t, app{script: "execid", conf: props{"spark.authenticate": "true"}, program: []string{"rounds.py", os.DevNull}})
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.expect("rounds are right")
	pods := map[string]bool{}
	for i, n := range only(r.notes(), "execId.assigned") {
		p := params[struct{ PodName, ID string }](t, n)
		pods[p.PodName] = true
		if p.ID != strconv.Itoa(i+1) {
			t.Errorf("id %s is given as number %d", p.ID, i+1)
		}
	}
	if !pods["pod-0"] && !pods["pod-1"] || r.count("executor.registered") == 0 {
		t.Errorf("ids were given to %v; notes %v", pods, kinds(r.notes()))
	}
}

// E225: an executor whose connection breaks is told to the manager; the true reason comes from there.
func TestDisconnectE225(t *testing.T) {
	t.Parallel()
	finish := filepath.Join(t.TempDir(), "finish")
	r := start(t, app{script: "remove-lost", program: []string{"rounds.py", finish}})
	r.await("executor.registered", 2)
	text, err := os.ReadFile(filepath.Join(r.dir, "executors"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.Fields(string(text))[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	lost := params[struct{ ID string }](t, r.await("executor.disconnected", 1))
	if diff := cmp.Diff(map[string]string{"id": lost.ID, "reason": "exited"}, params[map[string]string](t, r.await("executor.removed", 1))); diff != "" {
		t.Error("executor.removed:", diff)
	}
	if err := os.WriteFile(finish, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.expect("its connection broke")
}

// E228, E233, E246, E247: a manager that hangs holds no thread of Spark up, is replaced, and its successor learns the newest
// target.
func TestSilentManagerE228E233E246E247(t *testing.T) {
	t.Parallel()
	finish := filepath.Join(t.TempDir(), "finish")
	r := start(t, app{script: "hang idle", conf: props{"spark.scheduler.maxRegisteredResourcesWaitingTime": "1ms",
		"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Dkubespark.keeper.pingSeconds=1 " +
			"-Dkubespark.keeper.silenceSeconds=8"}, program: []string{"requests.py", finish}})
	first := r.await("hangs", 1).PID
	next := r.await("session.open", 2)
	if !gone(first) {
		t.Errorf("the silent manager %d lives on", first)
	}
	r.await("session.start", 2)
	resume := params[struct {
		Resume struct{ Totals map[string]int }
	}](t, next).Resume
	if resume.Totals["0"] <= 2 {
		t.Errorf("the successor is told %v", resume.Totals)
	}
	last := func() int {
		sets := only(r.notes(), "targets.set")
		return params[struct{ Totals map[string]int }](t, sets[len(sets)-1]).Totals["0"]
	}
	for deadline := time.Now().Add(time.Minute); last() != 3002; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the last target is %d", last())
		}
	}
	if err := os.WriteFile(finish, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := r.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.expect("has been silent for")
	if n := r.count("targets.set"); n > 2900 { // those that waited for a reader became one
		t.Errorf("%d × targets.set were sent", n)
	}
	found := regexp.MustCompile(`longest call (\d+) ms`).FindStringSubmatch(r.output.String())
	if found == nil {
		t.Fatal("no longest call")
	}
	if ms, err := strconv.Atoi(found[1]); err != nil || ms > 5000 {
		t.Errorf("a call took %d ms", ms)
	}
}

// E245: five minutes without a ready manager end the application, however few restarts there were.
func TestNoReadyManagerE245(t *testing.T) {
	t.Parallel()
	r := start(t, app{script: "die-at-resume", conf: props{"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Dkubespark.keeper.windowSeconds=2"},
		program: []string{"rounds.py", "never"}})
	if err := syscall.Kill(r.await("session.start", 1).PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := r.wait(); code != 1 {
		t.Errorf("exit code %d, not 1", code)
	}
	r.expect("kubespark-manager cannot be kept running")
	if n := r.count("session.open"); n >= 11 {
		t.Errorf("%d children were started", n)
	}
}

// E234: an interrupt reaches driver and manager; the manager lives until it has cleaned up.
func TestInterruptE234(t *testing.T) {
	t.Parallel()
	r := start(t, app{script: "idle", conf: props{"spark.scheduler.maxRegisteredResourcesWaitingTime": "1ms"}, program: []string{"idle.py"}})
	pid := r.await("session.start", 1).PID
	time.Sleep(2 * time.Second)
	if err := syscall.Kill(-r.cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if stop := r.await("session.stop", 1); stop.PID != pid {
		t.Errorf("process %d cleaned up, not %d", stop.PID, pid)
	}
	r.wait()
}

// E260, E261: Spark's own roll plug-in accepts the backend and decommissions by it.
func TestRollPluginE260E261(t *testing.T) {
	t.Parallel()
	r := start(t, app{conf: props{"spark.plugins": "org.apache.spark.scheduler.cluster.k8s.ExecutorRollPlugin", "spark.decommission.enabled": "true",
		"spark.kubernetes.executor.rollInterval": "10s", "spark.kubernetes.executor.rollPolicy": "ID"}, program: []string{"idle.py"}})
	released := params[struct{ IDs []string }](t, r.await("executors.release", 1))
	if !slices.Equal(released.IDs, []string{"1"}) {
		t.Errorf("executors %v were released, not 1", released.IDs)
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.wait()
	r.expect("Ask to decommission executor 1")
}
