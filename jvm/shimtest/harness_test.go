//go:build spark

package shimtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What TestMain makes once: absolute paths.
type kit struct {
	homes                      map[string]string // Spark version to its home
	jar, foreignJar, fake, jvm string
}

var made kit

const base = "4.2.0" // the version that the jar is compiled against

func TestMain(m *testing.M) {
	code, err := setUp(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func setUp(m *testing.M) (int, error) {
	made.homes = map[string]string{}
	for _, pair := range strings.Split(os.Getenv("KUBESPARK_SPARK_HOMES"), ",") {
		if version, home, ok := strings.Cut(pair, "="); ok {
			made.homes[strings.TrimSpace(version)] = strings.TrimSpace(home)
		}
	}
	if made.homes[base] == "" {
		return 0, errors.New("KUBESPARK_SPARK_HOMES must name Spark homes, " + base + " among them: " + base + "=PATH,…")
	}
	jvm, err := filepath.Abs("..")
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "shimtest-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	made.jvm, made.jar, made.fake = jvm, filepath.Join(dir, "kubespark.jar"), filepath.Join(dir, "fakemanager")
	build := exec.Command("go", "build", "-o", made.fake, "../internal/fakemanager")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building fakemanager: %w\n%s", err, out)
	}
	if out, err := exec.Command("../build.sh", made.homes[base], made.jar, made.fake).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building kubespark.jar: %w\n%s", err, out)
	}
	// A program that no kernel can run.
	foreign := filepath.Join(dir, "foreign")
	if err := os.WriteFile(foreign, []byte("\x7fELF not for this machine"), 0o755); err != nil {
		return 0, err
	}
	made.foreignJar = filepath.Join(dir, "foreign.jar")
	if out, err := exec.Command("../build.sh", made.homes[base], made.foreignJar, foreign).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building the jar with a foreign binary: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// app is one driver to run.
type app struct {
	version string // default base
	jar     string // default made.jar
	master  string
	script  string // FAKE_SCRIPT
	conf    map[string]string
	args    []string // spark-submit's own arguments
	program []string // the application and its arguments
	env     []string // the driver's, and so its manager's and its executors'
}

// running is a driver at work.
type running struct {
	t      *testing.T
	dir    string
	cmd    *exec.Cmd
	output *bytes.Buffer
	cancel context.CancelFunc
}

// note is a line that fakemanager wrote.
type note struct {
	PID    int
	What   string
	Params json.RawMessage
}

func start(t *testing.T, a app) *running {
	t.Helper()
	if a.version == "" {
		a.version = base
	}
	if a.jar == "" {
		a.jar = made.jar
	}
	if a.master == "" {
		a.master = "k8s://https://127.0.0.1:1"
	}
	home := made.homes[a.version]
	dir := t.TempDir()
	args := []string{"--master", a.master, "--deploy-mode", "client", "--driver-memory", "600m"}
	conf := map[string]string{
		"spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false", "spark.driver.defaultExtraClassPath": a.jar,
		"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1", "spark.executor.instances": "2",
		"spark.local.dir": filepath.Join(dir, "local"),
	}
	for key, value := range a.conf {
		conf[key] = value
	}
	for key, value := range conf {
		args = append(args, "--conf", key+"="+value)
	}
	args = append(append(append(args, a.args...), program(t, a.program[0])), a.program[1:]...)
	return launchWith(t, dir, a.version, a.script, a.env, filepath.Join(home, "bin", "spark-submit"), args...)
}

// program finds an application: a path, or a file in testdata.
func program(t *testing.T, name string) string {
	t.Helper()
	if filepath.IsAbs(name) {
		return name
	}
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// launch runs a program as a driver of this version, in a folder of its own.
func launch(t *testing.T, version, script, name string, args ...string) *running {
	t.Helper()
	return launchIn(t, t.TempDir(), version, script, name, args...)
}

func launchIn(t *testing.T, dir, version, script, name string, args ...string) *running {
	t.Helper()
	return launchWith(t, dir, version, script, nil, name, args...)
}

func launchWith(t *testing.T, dir, version, script string, env []string, name string, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	r := &running{t: t, dir: dir, output: &bytes.Buffer{}, cancel: cancel}
	r.cmd = exec.CommandContext(ctx, name, args...)
	r.cmd.Env = append(os.Environ(), "SPARK_HOME="+made.homes[version], "SPARK_LOCAL_IP=127.0.0.1", "FAKE_DIR="+dir,
		"FAKE_SCRIPT="+script, "FAKE_ENTRYPOINT="+filepath.Join(made.jvm, "image", "entrypoint.sh"),
		"SPARK_DRIVER_BIND_ADDRESS=127.0.0.1")
	r.cmd.Env = append(r.cmd.Env, env...)
	r.cmd.Dir = dir
	r.cmd.Stdout, r.cmd.Stderr = r.output, r.output
	r.cmd.WaitDelay = 5 * time.Second
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.cleanUp)
	return r
}

// cleanUp ends what the test may have left: the driver's own process group, with its executors and manager.
func (r *running) cleanUp() {
	r.cancel()
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // all may have ended
	if r.t.Failed() {
		r.t.Logf("the driver's log:\n%s", tail(r.output.String(), 12000))
	}
}

// wait gives the driver's exit code.
func (r *running) wait() int {
	r.t.Helper()
	err := r.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		r.t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode()
}

func (r *running) notes() []note {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, "notes.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	var all []note
	for line := range bytes.Lines(data) {
		var n note
		if json.Unmarshal(line, &n) == nil { // the last line may be half written
			all = append(all, n)
		}
	}
	return all
}

func (r *running) count(what string) int { return len(only(r.notes(), what)) }

// await waits until there are n notes of the kind and gives the last of them.
func (r *running) await(what string, n int) note {
	r.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		if found := only(r.notes(), what); len(found) >= n {
			return found[n-1]
		}
		if time.Now().After(deadline) || r.cmd.ProcessState != nil {
			r.t.Fatalf("%d × %q did not come; there are %v", n, what, kinds(r.notes()))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func only(notes []note, what string) []note {
	var found []note
	for _, n := range notes {
		if n.What == what {
			found = append(found, n)
		}
	}
	return found
}

func kinds(notes []note) []string {
	var all []string
	for _, n := range notes {
		all = append(all, strconv.Itoa(n.PID)+" "+n.What)
	}
	return all
}

func params[T any](t *testing.T, n note) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(n.Params, &v); err != nil {
		t.Fatalf("%s: %v", n.What, err)
	}
	return v
}

func (r *running) expect(text string) {
	r.t.Helper()
	if !strings.Contains(r.output.String(), text) {
		r.t.Errorf("the driver's log lacks %q", text)
	}
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func tail(text string, n int) string { return text[max(0, len(text)-n):] }
