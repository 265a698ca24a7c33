//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kubespark/kubespark/localcluster/internal/userns"
)

const nobody = 65534

// user is an ordinary user of the machine, with a home folder, the programs and a Spark distribution.
type user struct {
	t                *testing.T
	home, bin, spark string
	c                *testCluster // at its default place
}

// newUser gives the user what root may have in places of its own: folders bound to where everybody can reach them.
func newUser(t *testing.T) *user {
	t.Helper()
	dir, err := os.MkdirTemp("", "kubespark-user-")
	if err != nil {
		t.Fatal(err)
	}
	u := &user{t: t, home: filepath.Join(dir, "home"), bin: filepath.Join(dir, "bin"), spark: filepath.Join(dir, "spark")}
	u.c = &testCluster{bin: u.bin, stateDir: filepath.Join(u.home, ".local/state/kubespark-cluster")}
	t.Cleanup(func() { // never through a mount that is still there
		if err := errors.Join(os.RemoveAll(u.home), os.Remove(u.bin), os.Remove(u.spark), os.Remove(dir)); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, source := range map[string]string{u.bin: cluster.bin, u.spark: cluster.sparkHomes[defaultSpark]} {
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount(source, path, "", syscall.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	if err := os.Mkdir(u.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(u.home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after a failure too
		if out, code := u.run("kubespark-cluster", "down"); code != 0 {
			t.Errorf("down: exit %d\n%s", code, out)
		}
	})
	return u
}

// command is a program run by the user, in an environment of its own.
func (u *user) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(u.bin, name), args...)
	cmd.Dir = u.home
	cmd.Env = []string{"HOME=" + u.home, "PATH=/usr/local/bin:/usr/bin:/bin", "KUBECONFIG=" + filepath.Join(u.c.stateDir, "kubeconfig")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

func (u *user) run(name string, args ...string) (string, int) {
	cmd := u.command(name, args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		return fmt.Sprint(err), -1
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (u *user) must(name string, args ...string) string {
	u.t.Helper()
	out, code := u.run(name, args...)
	if code != 0 {
		u.t.Fatalf("%s %s: exit %d\n%s", name, strings.Join(args, " "), code, out)
	}
	return out
}

func (u *user) up() string {
	u.t.Helper()
	began := time.Now()
	out := u.must("kubespark-cluster", "up", "--port", secondPort, "--network", secondNetwork)
	u.t.Logf("up in %.1f s\n%s", time.Since(began).Seconds(), out)
	return out
}

// traces are what can be seen of the user's cluster on the machine. It looks into every mount namespace: a user's mounts are in one of its own.
func (u *user) traces() []string {
	left := u.c.leftovers()
	tables, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	if err != nil {
		u.t.Fatal(err)
	}
	for _, path := range tables {
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(u.c.stateDir)) {
			left = append(left, path+" has a mount of the cluster")
		}
	}
	for _, p := range processes() {
		if strings.Contains(p.environ, u.home) {
			left = append(left, fmt.Sprintf("process %d %s", p.pid, p.cmdline))
		}
	}
	files, err := os.ReadDir(filepath.Dir(u.c.stateDir))
	if err != nil {
		u.t.Fatal(err)
	}
	for _, f := range files {
		left = append(left, f.Name())
	}
	return left
}

func (u *user) nothingLeft() {
	u.t.Helper()
	eventually(u.t, 10*time.Second, "nothing of the user's cluster is left", func() (bool, string) {
		left := u.traces()
		return len(left) == 0, strings.Join(left, "\n")
	})
}

// allowed reports whether the kernel gives out user namespaces. Where it does not, up must say so in one sentence.
func (u *user) allowed() bool {
	u.t.Helper()
	try := exec.Command("unshare", "--user", "true")
	try.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if try.Run() == nil {
		return true
	}
	refusal := regexp.MustCompile(`^kubespark-cluster: the cluster needs root or a user namespace, and the kernel gives this user no user namespace.*: run the command with sudo, or .*\n$`)
	if out, code := u.run("kubespark-cluster", "up", "--port", secondPort, "--network", secondNetwork); code != 1 || !refusal.MatchString(out) {
		u.t.Errorf("up: exit %d\n%s", code, out)
	}
	return false
}

// An ordinary user's cluster runs Spark's pi.py from `kubespark submit` to exit code 0, with an image that brings the manager and read-only root
// file systems, says once what it lacks, and goes without a trace.
func TestOrdinaryUser(t *testing.T) {
	u := newUser(t)
	if !u.allowed() {
		return
	}
	said := u.up()
	if notes := regexp.MustCompile(`(?m)^note: (no cgroup can be written|no other user exists|port 443 takes root) here`).FindAllString(said, -1); len(notes) < 2 ||
		strings.Count(said, "note: ") != len(notes) {
		t.Errorf("notes %q in\n%s", notes, said)
	}
	if again := u.up(); strings.Contains(again, "note: ") || !strings.Contains(again, "is up already") {
		t.Errorf("up again says\n%s", again)
	}
	u.must("kubespark-cluster", "status")
	u.must("kubespark-cluster", "image", "build-spark", "--spark-home", u.spark, "--kubespark", "none", stockImage)
	u.must("kubespark-cluster", "image", "load", "--name", ownImage, u.bin+"/kubespark-image.tar")
	template := filepath.Join(u.home, "restricted.yaml")
	if err := os.WriteFile(template, []byte(readFile(t, "testdata/restricted.yaml")), 0o644); err != nil {
		t.Fatal(err)
	}
	role := u.command("kubespark-cluster", "kubectl", "apply", "-f", "-")
	text, err := os.Open("../../deploy/driver-rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	role.Stdin = text
	if out, err := role.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out := u.must("kubespark", "submit", "--master", "k8s://https://127.0.0.1:"+secondPort, "--deploy-mode", "cluster", "--name", "spark-pi",
		"--conf", "spark.kubernetes.container.image="+stockImage, "--conf", "spark.kubernetes.authenticate.driver.serviceAccountName=spark",
		"--conf", "spark.kubespark.image="+ownImage, "--conf", "spark.executor.instances=2",
		"--conf", "spark.kubernetes.driver.podTemplateFile="+template, "--conf", "spark.kubernetes.executor.podTemplateFile="+template,
		"--conf", "spark.executor.memory=512m", "--conf", "spark.driver.memory=512m", pi, "4")
	if log := u.must("kubespark-cluster", "kubectl", "logs", "--tail=-1", "-l", "spark-role=driver"); !strings.Contains(log, "Pi is roughly 3.1") || !strings.Contains(log, "kubespark-manager") {
		t.Errorf("the driver's log has no result:\n%s\n%s", log, out)
	}
	u.askedUser()
	u.must("kubespark-cluster", "down")
	u.nothingLeft()
}

// askedUser: a pod that names a user runs as the cluster's, with an event that says so.
func (u *user) askedUser() {
	u.t.Helper()
	u.must("kubespark-cluster", "kubectl", "run", "asks", "--image", hostImage, "--restart=Never",
		`--overrides={"spec":{"securityContext":{"runAsUser":1000,"runAsNonRoot":true}}}`, "--command", "--", "sh", "-c", "id -u; grep CapEff /proc/self/status")
	u.must("kubespark-cluster", "kubectl", "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/asks", "--timeout=60s")
	if log := u.must("kubespark-cluster", "kubectl", "logs", "asks"); log != "0\nCapEff:\t0000000000000000\n" {
		u.t.Errorf("the pod's process is %q", log)
	}
	eventually(u.t, 20*time.Second, "an event about the user", func() (bool, string) {
		events := u.must("kubespark-cluster", "kubectl", "get", "events", "--field-selector=reason=RunAsUserIgnored", "-o", "jsonpath={.items[*].message}")
		return strings.HasPrefix(events, "User 1000 does not exist on this node"), events
	})
}

// A killed cluster of an ordinary user is taken down without a trace, the processes of its pods too.
func TestOrdinaryUsersKilledCluster(t *testing.T) {
	u := newUser(t)
	if !u.allowed() {
		return
	}
	u.up()
	u.must("kubespark-cluster", "kubectl", "run", "sleeper", "--image", hostImage, "--restart=Never", "--command", "--", "sleep", "987653")
	sleepers := func() (n int) {
		for _, p := range processes() {
			if strings.HasPrefix(p.cmdline, "sleep 987653") {
				n++
			}
		}
		return n
	}
	eventually(t, 30*time.Second, "the pod's process runs", func() (bool, string) { return sleepers() == 1, fmt.Sprint(sleepers()) })
	if !strings.Contains(strings.Join(u.traces(), "\n"), "/mountinfo has a mount of the cluster") {
		t.Error("the mounts of a running pod are not seen")
	}
	u.c.killAll(t)
	u.must("kubespark-cluster", "down")
	if n := sleepers(); n != 0 {
		t.Errorf("%d processes of the killed cluster's pod are left", n)
	}
	u.nothingLeft()
}

// A user who may listen at port 443 has a cluster in the machine's network, for which a network namespace of this test's stands here.
func TestOrdinaryUserInTheMachinesNetwork(t *testing.T) {
	u := newUser(t)
	if !u.allowed() {
		return
	}
	runtime.LockOSThread() // and never unlocked, so that the thread ends with the test
	if err := errors.Join(syscall.Unshare(syscall.CLONE_NEWNET), userns.LoopbackUp(),
		os.WriteFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", []byte("443"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if said := u.up(); strings.Contains(said, "port 443") {
		t.Errorf("up says\n%s", said)
	}
	u.must("kubespark-cluster", "kubectl", "run", "one", "--image", hostImage, "--restart=Never", "--command", "--", "true")
	u.must("kubespark-cluster", "kubectl", "wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/one", "--timeout=60s")
	u.must("kubespark-cluster", "status")
	u.must("kubespark-cluster", "down")
	u.nothingLeft()
}

// Where neither root nor a user namespace is to be had, and where it cannot be used, one sentence says what is needed.
func TestOrdinaryUserWithoutRights(t *testing.T) {
	u := newUser(t)
	if !u.allowed() {
		return
	}
	setpriv := "exec setpriv --reuid=65534 --regid=65534 --clear-groups --ambient-caps=-all "
	all := []syscall.SysProcIDMap{{Size: 65536}}
	for name, tc := range map[string]struct {
		namespaces syscall.SysProcAttr
		script     string
		port       string
		says       string
	}{
		"no user namespaces": {
			syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: all, GidMappings: all, GidMappingsEnableSetgroups: true},
			"echo 0 >/proc/sys/user/max_user_namespaces; " + setpriv, secondPort,
			"kubespark-cluster: the cluster needs root or a user namespace, and the kernel gives this user no user namespace, " +
				"because user.max_user_namespaces is 0: run the command with sudo, or have it set to 10000\n",
		},
		"covered proc": { // as in a container without privileges
			syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}, "mount --bind /dev/null /proc/keys; " + setpriv, secondPort,
			"kubespark-cluster: the kernel refuses containers a /proc of their own (operation not permitted), as it does where parts of /proc are covered: " +
				"run the command outside of the container, or as root in a privileged one\n",
		},
		"root's port": {
			syscall.SysProcAttr{}, setpriv, "101",
			"kubespark-cluster: 127.0.0.1:101, for the API server, takes the capability NET_BIND_SERVICE here: " +
				"run the command with it, or have net.ipv4.ip_unprivileged_port_start set to 101\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			words := []string{filepath.Join(u.bin, "kubespark-cluster"), "up", "--port", tc.port, "--network", secondNetwork}
			cmd := exec.Command("sh", "-c", tc.script+strings.Join(words, " "))
			cmd.SysProcAttr = &tc.namespaces
			cmd.Env, cmd.Dir = []string{"HOME=" + u.home, "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, "/"
			out, err := cmd.CombinedOutput()
			if err == nil || string(out) != tc.says {
				t.Errorf("%v, says\n%s\nwant\n%s", err, out, tc.says)
			}
			if _, err := os.Stat(u.c.stateDir); err == nil {
				t.Error("a folder is left behind")
			}
		})
	}
}

// Root in a container that may write no cgroup, or lacks SYS_ADMIN where user namespaces are given out, has a cluster with what is left, and is
// told so.
func TestRootWithFewerRights(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		notes  []string
		uid    string // of a pod that asks for 185
	}{
		"no writable cgroup": {
			`grep -E ' - cgroup2? ' /proc/self/mountinfo | cut -d ' ' -f 5 | while read -r at; do mount -o remount,bind,ro "$at" || exit 1; done; exec "$0" "$@"`,
			[]string{"no cgroup can be written here: "}, "185\n",
		},
		"no SYS_ADMIN": {
			`exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$0" "$@"`, []string{"no other user exists here: ", "port 443 takes root here: "}, "0\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := spare(t)
			cmd := exec.Command("sh", "-c", tc.script, filepath.Join(c.bin, "kubespark-cluster"), "up", "--state-dir", c.stateDir, "--port", secondPort, "--network", secondNetwork)
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			defer func() {
				if out, code := c.run("down", "--state-dir", c.stateDir); code != 0 {
					t.Errorf("down: exit %d\n%s", code, out)
				}
				c.nothingLeft(t)
			}()
			for _, n := range tc.notes {
				if !strings.Contains(string(out), "note: "+n) || strings.Count(string(out), "note: ") != len(tc.notes) {
					t.Errorf("up says\n%s", out)
				}
			}
			kubectl := []string{"--state-dir", c.stateDir, "kubectl"}
			for _, args := range [][]string{
				{"run", "limited", "--image", hostImage, "--restart=Never", `--overrides={"spec":{"securityContext":{"runAsUser":185}}}`, "--command", "--", "sh", "-c", "id -u"},
				{"wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/limited", "--timeout=60s"},
			} {
				if out, code := c.run(append(kubectl, args...)...); code != 0 {
					t.Fatalf("kubectl %s: exit %d\n%s", strings.Join(args, " "), code, out)
				}
			}
			if log, _ := c.run(append(kubectl, "logs", "limited")...); log != tc.uid {
				t.Errorf("the pod runs as %q, want %q", log, tc.uid)
			}
		})
	}
}
