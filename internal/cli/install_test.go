package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// asProgram makes the test's own binary behave as kubespark, so that installed files run for real.
const asProgram = "KUBESPARK_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Run(Process{Args: os.Args, Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Now: time.Now,
			Exec: syscall.Exec, Executable: os.Executable}))
	}
	os.Exit(m.Run())
}

// installer is a stand-in for the kubespark program, and a call of it.
func installer(t *testing.T) *run {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, dir, "it's kubespark", "program")
	return &run{executable: filepath.Join(dir, "it's kubespark")}
}

func (r *run) again(args ...string) (int, string) {
	r.stdout.Reset()
	r.stderr.Reset()
	code := r.do(args...)
	return code, strings.TrimSpace(r.stdout.String() + r.stderr.String())
}

// Installing beside nothing and undoing it; both a second time change nothing.
func TestInstall(t *testing.T) {
	r, dir := installer(t), t.TempDir()
	target := filepath.Join(dir, "spark-submit")
	if code, out := r.again("install", "spark-submit", "--dir", dir); code != 0 || !strings.HasPrefix(out, "installed "+target) {
		t.Fatal(code, out)
	}
	info, err := os.Lstat(target)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o755 {
		t.Fatal(info, err)
	}
	// Kyuubi resolves links first and then looks at the name.
	if real, err := filepath.EvalSymlinks(target); err != nil || filepath.Base(real) != "spark-submit" {
		t.Error(real, err)
	}
	text, err := os.ReadFile(target)
	if err != nil || strings.Count(string(text), "\n") != 2 || !isScript(string(text)) {
		t.Errorf("%s %v", text, err)
	}
	if code, out := r.again("install", "spark-submit", "--dir", dir); code != 0 || !strings.Contains(out, target+" is installed already") {
		t.Error(code, out)
	}
	if now, err := os.Lstat(target); err != nil || !os.SameFile(info, now) {
		t.Error("written again", err)
	}
	for _, want := range []string{"removed " + target, "there is no " + target + ": nothing to undo"} {
		if code, out := r.again("uninstall", "spark-submit", "--dir", dir); code != 0 || out != want {
			t.Errorf("%d %q, want %q", code, out, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// An original is kept, found by the hand-over, and comes back as the very file it was, links included.
func TestInstallInPlace(t *testing.T) {
	for _, kind := range []string{"file", "link"} {
		t.Run(kind, func(t *testing.T) {
			r, home := installer(t), sparkHome(t)
			target := filepath.Join(home, "bin/spark-submit")
			if kind == "link" {
				if err := os.Rename(target, filepath.Join(home, "real")); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink("../real", target); err != nil {
					t.Fatal(err)
				}
			}
			before, err := os.Lstat(target)
			if err != nil {
				t.Fatal(err)
			}
			if code, out := r.again("install", "spark-submit", "--spark-home", home); code != 0 || !strings.Contains(out, "the original is kept as "+target+".orig") {
				t.Fatal(code, out)
			}
			moved := installer(t) // a newer kubespark, elsewhere
			if code, out := moved.again("install", "spark-submit", "--spark-home", home); code != 0 || !strings.Contains(out, "renewed") {
				t.Error(code, out)
			}
			moved.environ = []string{"SPARK_HOME=" + home}
			if moved.again("submit", "a.jar"); moved.execPath != target+".orig" {
				t.Error(moved.execPath)
			}
			if code, out := moved.again("uninstall", "spark-submit"); code != 0 || out != "restored "+target {
				t.Error(code, out)
			}
			after, err := os.Lstat(target)
			if err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() || !before.ModTime().Equal(after.ModTime()) {
				t.Error(before, after, err)
			}
			if left, err := os.ReadDir(filepath.Join(home, "bin")); err != nil || len(left) != 1 {
				t.Error(left, err)
			}
			if code, out := moved.again("uninstall", "spark-submit"); code != 0 || !strings.Contains(out, "nothing to undo") {
				t.Error(code, out)
			}
		})
	}
}

func TestInstallRefusals(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(dir string) error
		args    string
		code    int
		out     string
	}{
		{"no place", nil, "install spark-submit", 2, "where is not said"},
		{"two places", nil, "install spark-submit --dir DIR --spark-home DIR", 1, "none of the others can be"},
		{"no folder", nil, "install spark-submit --dir DIR/nowhere", 1, "there is no folder"},
		{"no name", nil, "install --dir DIR", 2, "install takes one name"},
		{"another name", nil, "install spark-shell --dir DIR", 2, "install takes one name"},
		{"both there", func(d string) error {
			return errors.Join(os.WriteFile(d+"/spark-submit", []byte("a"), 0o755), os.WriteFile(d+"/spark-submit.orig", []byte("b"), 0o755))
		}, "install spark-submit --dir DIR", 1, "remove the one that is not the original"},
		{"both there, undo", func(d string) error {
			return errors.Join(os.WriteFile(d+"/spark-submit", []byte("a"), 0o755), os.WriteFile(d+"/spark-submit.orig", []byte("b"), 0o755))
		}, "uninstall spark-submit --dir DIR", 1, "both stay as they are"},
		{"kept alone", func(d string) error { return os.WriteFile(d+"/spark-submit.orig", []byte("b"), 0o755) }, "install spark-submit --dir DIR", 1, "run kubespark uninstall first"},
		{"kept alone, undo", func(d string) error { return os.WriteFile(d+"/spark-submit.orig", []byte("b"), 0o755) }, "uninstall spark-submit --dir DIR", 0, "restored"},
		{"a folder", func(d string) error { return os.Mkdir(d+"/spark-submit", 0o755) }, "install spark-submit --dir DIR", 1, "stays as it is"},
		{"a broken link", func(d string) error { return os.Symlink("nowhere", d+"/spark-submit") }, "install spark-submit --dir DIR", 1, "stays as it is"},
		{"another name of ours", nil, "install spark3-submit --dir DIR", 0, "spark3-submit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.prepare != nil {
				if err := tt.prepare(dir); err != nil {
					t.Fatal(err)
				}
			}
			before := names(t, dir)
			code, out := installer(t).again(strings.Fields(strings.ReplaceAll(tt.args, "DIR", dir))...)
			if code != tt.code || !strings.Contains(out, tt.out) {
				t.Errorf("%d %q", code, out)
			}
			if diff := cmp.Diff(before, names(t, dir)); diff != "" && code != 0 {
				t.Error(diff)
			}
		})
	}
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// installed is a Spark home whose spark-submit records how it was called, with the test's own binary installed over it.
type installed struct {
	home, record string
}

func installForReal(t *testing.T, original string, flags ...string) installed {
	t.Helper()
	home := sparkHome(t)
	record := filepath.Join(t.TempDir(), "record")
	if original == "" {
		original = `for a; do printf '%s\n' "[$a]"; done >"$RECORD"; env >>"$RECORD"; exit 7`
	}
	writeFile(t, home, "bin/spark-submit", "#!/bin/sh\n"+original+"\n")
	writeFile(t, home, "jars/spark-core_2.13-4.3.0.jar", "")
	i := installed{home, record}
	if code, out := i.call(t, nil, os.Args[0], append([]string{"install", "spark-submit", "--spark-home", home}, flags...)...); code != 0 {
		t.Fatal(out)
	}
	return i
}

// call runs a program with these variables and no others of Spark's.
func (i installed) call(t *testing.T, environ []string, program string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append([]string{asProgram + "=1", "PATH=/usr/bin:/bin", "RECORD=" + i.record}, environ...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func (i installed) submit(t *testing.T, environ []string, args ...string) (int, string) {
	t.Helper()
	return i.call(t, environ, filepath.Join(i.home, "bin/spark-submit"), args...)
}

// recorded is how the original was called.
func (i installed) recorded(t *testing.T) (args []string, environ string) {
	t.Helper()
	text, err := os.ReadFile(i.record)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "[") {
			args = append(args, line[1:len(line)-1])
		} else {
			environ += line + "\n"
		}
	}
	return args, environ
}

// S028: the installed file hands client mode and other masters to the original, byte for byte, and gives back its exit code;
// without SPARK_HOME it belongs to the distribution that it lies in.
func TestInstalledFileHandsOver(t *testing.T) {
	for _, flags := range [][]string{nil, {"--copy"}} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			i := installForReal(t, "", flags...)
			given := []string{"--master", "yarn", "--conf", "spark.a=b c", "a.jar", "", "*", "'\"$x", "日本", "--conf"}
			if code, out := i.submit(t, []string{"A=b"}, given...); code != 7 {
				t.Fatal(code, out)
			}
			args, environ := i.recorded(t)
			if diff := cmp.Diff(given, args); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(environ, "A=b\n") || strings.Contains(environ, "SPARK_HOME=") {
				t.Error(environ)
			}
			if code, out := i.submit(t, nil, "--version"); code != 0 || !strings.Contains(out, "version 4.3.0\n") {
				t.Error(code, out)
			}
			if code, out := i.submit(t, nil, "--frob"); code != 1 || !strings.HasPrefix(out, "Usage: spark-submit ") || !strings.HasSuffix(out, "Error: Unrecognized option: --frob\n") {
				t.Error(code, out)
			}
			if code, _ := i.submit(t, nil); code != 255 {
				t.Error(code)
			}
		})
	}
}

// A link to the installed file, and a SPARK_HOME of another distribution, lead to an original all the same.
func TestInstalledFileThroughALink(t *testing.T) {
	i := installForReal(t, "")
	link := filepath.Join(t.TempDir(), "spark-submit")
	if err := os.Symlink(filepath.Join(i.home, "bin/spark-submit"), link); err != nil {
		t.Fatal(err)
	}
	if code, out := i.call(t, []string{"SPARK_HOME=" + t.TempDir()}, link, "--master", "local", "a.jar"); code != 7 {
		t.Error(code, out)
	}
}

// Two installations on the PATH do not take each other for the original; without any original there is one clear error.
func TestInstallationsDoNotFindEachOther(t *testing.T) {
	i := installForReal(t, "")
	other := t.TempDir()
	if code, out := i.call(t, nil, os.Args[0], "install", "spark-submit", "--dir", other, "--copy"); code != 0 {
		t.Fatal(out)
	}
	path := "PATH=" + other + ":" + filepath.Join(i.home, "bin") + ":/usr/bin:/bin"
	if code, out := i.call(t, []string{path}, filepath.Join(other, "spark-submit"), "a.jar"); code != 7 {
		t.Error(code, out)
	}
	if err := os.Remove(filepath.Join(i.home, "bin/spark-submit.orig")); err != nil {
		t.Fatal(err)
	}
	code, out := i.call(t, []string{path}, filepath.Join(other, "spark-submit"), "a.jar")
	if code != 1 || !strings.Contains(out, "this submission needs Spark's own spark-submit") {
		t.Error(code, out)
	}
}

// An application may run a spark-submit of its own; a wrapper that only calls us again ends.
func TestGuardAgainstLoops(t *testing.T) {
	i := installForReal(t, `if [ "$1" = inner.jar ]; then exit 5; fi; KUBESPARK_TEST_AS_PROGRAM=1 "$HOME/bin/spark-submit" inner.jar`)
	if code, out := i.submit(t, []string{"HOME=" + i.home}, "outer.jar"); code != 5 {
		t.Error(code, out)
	}
	for _, wrapper := range []string{`exec "$HOME/bin/spark-submit" "$@"`, `"$HOME/bin/spark-submit" "$@"`} {
		i = installForReal(t, wrapper)
		code, out := i.submit(t, []string{"HOME=" + i.home}, "a.jar")
		if code != 1 || !strings.Contains(out, "is kubespark again") {
			t.Error(code, out)
		}
	}
}

// Works as any user with nothing to write to.
func TestInstalledFileAsAnotherUser(t *testing.T) {
	i := installForReal(t, "exit 7", "--copy")
	for dir := i.home; dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && strings.HasPrefix(dir, os.TempDir()+"/") {
			if err := os.Chmod(dir, info.Mode()|0o055); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.Command(filepath.Join(i.home, "bin/spark-submit"), "--version")
	cmd.Env, cmd.Dir = []string{asProgram + "=1"}, "/"
	if os.Getuid() == 0 { // others cannot become another user, and are one already
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 185, Gid: 185}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("version 4.3.0")) {
		t.Error(err, string(out))
	}
}
