package main

import (
	"bufio"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed Stock.java
var stockSource []byte

// quickStart makes short-lived JVMs cheap.
var quickStart = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss4m"}

// opened are the packages that Spark reaches into by reflection.
var opened = strings.Fields("java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util java.util.concurrent " +
	"java.util.concurrent.atomic sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar")

// stock is a JVM that runs cases of one Spark version.
type stock struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// compileStock compiles Stock.java against a Spark distribution and returns the class path that runs it.
func compileStock(home, dir string) (string, error) {
	source := filepath.Join(dir, "Stock.java")
	if err := os.WriteFile(source, stockSource, 0o644); err != nil {
		return "", err
	}
	jars := filepath.Join(home, "jars", "*")
	if out, err := exec.Command(javaTool("javac"), "-d", dir, "-cp", jars, source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("javac failed (a JDK 17 is needed): %w: %s", err, out)
	}
	return dir + string(os.PathListSeparator) + jars, nil
}

// startStock starts the JVM; its log goes to log.
func startStock(classPath, confDir string, env []string, log io.Writer) (*stock, error) {
	args := slices.Clone(quickStart)
	for _, p := range opened {
		args = append(args, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	args = append(args, "-cp", confDir+string(os.PathListSeparator)+classPath, "Stock")
	s := &stock{cmd: exec.Command(javaTool("java"), args...)}
	s.cmd.Env, s.cmd.Stderr, s.cmd.Dir = env, log, confDir
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.in, s.out = in, bufio.NewReader(out)
	return s, s.cmd.Start()
}

// patience is how long a JVM may take for one case.
const patience = 2 * time.Minute

// ask sends a request and returns the answer after its "ok"; an "error" answer gives its text as refusal. A JVM that does
// not answer is killed.
func (s *stock) ask(texts ...string) (answer []string, refusal string, err error) {
	late := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	var b []byte
	b = binary.BigEndian.AppendUint32(b, uint32(len(texts)))
	for _, t := range texts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(t)))
		b = append(b, t...)
	}
	if _, err := s.in.Write(b); err != nil {
		return nil, "", fmt.Errorf("the JVM took no request: %w", err)
	}
	n, err := s.number()
	if err != nil {
		return nil, "", fmt.Errorf("the JVM gave no answer: %w", err)
	}
	for range n {
		size, err := s.number()
		if err != nil {
			return nil, "", err
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(s.out, text); err != nil {
			return nil, "", err
		}
		answer = append(answer, string(text))
	}
	if len(answer) == 2 && answer[0] == "error" {
		return nil, answer[1], nil
	}
	return answer[1:], "", nil
}

func (s *stock) number() (int, error) {
	var b [4]byte
	_, err := io.ReadFull(s.out, b[:])
	return int(binary.BigEndian.Uint32(b[:])), err
}

func (s *stock) close() error {
	if err := s.in.Close(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- s.cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		return s.cmd.Process.Kill()
	}
}

// submitAlone runs bin/spark-submit. A submission that stock refuses gives the error's line.
func submitAlone(home string, line, env []string, log io.Writer) (refusal string, err error) {
	var text strings.Builder
	cmd := exec.Command(filepath.Join(home, "bin", "spark-submit"), line...)
	cmd.Env = append(env, "JAVA_TOOL_OPTIONS="+strings.Join(quickStart, " "))
	cmd.Stderr = io.MultiWriter(log, &text)
	err = cmd.Run()
	if _, exited := err.(*exec.ExitError); exited { //nolint:errorlint // as exec returns it
		for l := range strings.Lines(text.String()) {
			if e, ok := strings.CutPrefix(l, "Exception in thread \"main\" "); ok {
				return strings.TrimSpace(e), nil
			}
			if e, ok := strings.CutPrefix(l, "Error: "); ok {
				return strings.TrimSpace(e), nil
			}
		}
		return strings.TrimSpace(text.String()), nil
	}
	return "", err
}

func javaTool(name string) string {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		return filepath.Join(home, "bin", name)
	}
	return name
}

// environment is what a child gets: ours to find programs by, and the case's.
func environment(home string, own map[string]string) []string {
	all := map[string]string{"SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1"}
	for _, k := range []string{"PATH", "JAVA_HOME", "HOME", "LANG"} {
		if v, ok := os.LookupEnv(k); ok {
			all[k] = v
		}
	}
	maps.Copy(all, own)
	var env []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		env = append(env, k+"="+all[k])
	}
	return env
}
