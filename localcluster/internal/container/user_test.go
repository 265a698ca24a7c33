package container

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kubespark/kubespark/localcluster/internal/userns"
)

// stepVariable tells a run of this test binary which part of TestOrdinaryUser it is.
const stepVariable = "KUBESPARK_TEST_STEP"

const nobody = 65534

// The containers of an ordinary user: this test binary runs itself as one, and that run itself again in a user namespace, for the subtests.
func TestOrdinaryUser(t *testing.T) {
	switch os.Getenv(stepVariable) {
	case "":
		asNobody(t)
	case "user":
		enter(t)
	default:
		t.Run("world", userWorld)
		t.Run("read-only root", userReadOnlyRoot)
		t.Run("image that stands alone", userAlone)
		t.Run("exec and clean", userExecAndClean)
	}
}

func asNobody(t *testing.T) {
	newRuntime(t) // says that root is needed
	dir, err := os.MkdirTemp("", "kubespark-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "test")
	if err := errors.Join(copyFile(os.Args[0], program), os.Chmod(program, 0o755), os.Chown(dir, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	// The user's machine has file systems of its own below system folders.
	const script = `mount -t tmpfs none /srv && mkdir /srv/sub && echo mounted >/srv/sub/file && mount --bind /etc/passwd /etc/group &&
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$0" "$@"`
	cmd := exec.Command("sh", "-c", script, program, "-test.run=^TestOrdinaryUser$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), stepVariable+"=user", "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func enter(t *testing.T) {
	if needed, err := userns.Needed(); err != nil || !needed {
		t.Fatalf("an ordinary user needs no user namespace: %v", err)
	}
	cmd := userns.Command(os.Args[0], []string{"-test.run=^TestOrdinaryUser$", "-test.v"}, true)
	cmd.Env = append(os.Environ(), stepVariable+"=root")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if cmd.ProcessState == nil {
		if text := userns.Refused(err).Error(); !strings.HasPrefix(text, "the cluster needs root or a user namespace, and ") {
			t.Errorf("refused so: %s", text)
		}
		return
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	t.Logf("%s", out.String())
}

// userWorld: the host's programs are there, its private places are empty, the image's files and mounts are in their places, and what the
// container writes stays in it.
func userWorld(t *testing.T) {
	r := newRuntime(t)
	if !r.nested || !userns.Alone() {
		t.Fatal("not in a user namespace with one user")
	}
	layer, data := t.TempDir(), t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(layer, "opt/tool"), 0o755), os.MkdirAll(filepath.Join(layer, "etc"), 0o755),
		os.WriteFile(filepath.Join(layer, "opt/tool/file"), []byte("tool\n"), 0o644),
		os.WriteFile(filepath.Join(layer, "etc/passwd"), []byte("me:x:0:0::/:/bin/sh\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	var out output
	s := sh("world", `echo pid=$$ host=$(hostname); ls -A /root | wc -l; ls -A /tmp | wc -l; id -un; cat /opt/tool/file; echo x > /opt/tool/new && cat /opt/tool/new
echo in > /usr/share/deep/er/f; cat /srv/sub/file; touch /srv/new 2>/dev/null || echo refused; cut -d : -f 6 /etc/group | head -1; echo y > /etc/new && cat /etc/new
test -e /dev/null && test -e /sys/fs && test -d /proc/1 && echo kernel; exit 7`, &out)
	s.Layer, s.MemoryLimit, s.Mounts = layer, 64<<20, []Mount{{Source: data, Destination: "/usr/share/deep/er"}}
	if exit := runToEnd(t, r, s); exit.Code != 7 || exit.OOMKilled {
		t.Errorf("exit %+v, want code 7", exit)
	}
	if want := "pid=1 host=box\n0\n0\nme\ntool\nx\nmounted\nrefused\n/root\ny\nkernel\n"; out.String() != want {
		t.Errorf("output %q, want %q", out.String(), want)
	}
	if text, err := os.ReadFile(filepath.Join(data, "f")); err != nil || string(text) != "in\n" {
		t.Errorf("the mount has %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(layer, "opt/tool/new")); err == nil {
		t.Error("the container wrote to its image")
	}
}

func userReadOnlyRoot(t *testing.T) {
	r := newRuntime(t)
	data := t.TempDir()
	var out output
	s := sh("ro", `for f in /x /etc/x /usr/x /opt/x; do touch $f 2>/dev/null || echo refused; done; touch /opt/data/ok && echo wrote; grep -E 'CapEff|CapBnd' /proc/self/status`, &out)
	s.ReadOnlyRoot, s.Capabilities, s.Mounts = true, nil, []Mount{{Source: data, Destination: "/opt/data"}}
	runToEnd(t, r, s)
	want := strings.Repeat("refused\n", 4) + "wrote\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"
	if out.String() != want {
		t.Errorf("output %q, want %q", out.String(), want)
	}
}

func userAlone(t *testing.T) {
	r := newRuntime(t)
	_, err := r.Start(Spec{ID: "alone", Layer: t.TempDir(), Alone: true, Args: []string{"/bin/sh"}})
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("its own root file system is not all it has: %v", err)
	}
}

func userExecAndClean(t *testing.T) {
	r := newRuntime(t)
	c, err := r.Start(sh("stay", `sleep 1000 & sleep 1001`, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, tty := range []bool{false, true} {
		var out bytes.Buffer
		code, err := c.Exec(t.Context(), Exec{Args: []string{"/bin/sh", "-c", "hostname; exit 4"}, Env: []string{"PATH=/usr/bin:/bin"}, TTY: tty, Stdout: &out})
		if err != nil || code != 4 || strings.TrimSpace(out.String()) != "box" {
			t.Errorf("exec, terminal %v: code %d, output %q, %v", tty, code, out.String(), err)
		}
	}
	if _, err := c.Usage(); !errors.Is(err, errFree) {
		t.Errorf("usage without a cgroup: %v", err)
	}
	if err := c.SetLimits(Limits{Memory: 1 << 30}); !errors.Is(err, errFree) {
		t.Errorf("limits without a cgroup: %v", err)
	}
	if err := Clean(r.dir); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	points, err := hostMountPoints()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range points {
		if below(p, r.dir) {
			t.Errorf("mount %s is left", p)
		}
	}
	if left, err := os.ReadDir(r.dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
