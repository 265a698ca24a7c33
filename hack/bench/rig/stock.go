package rig

import (
	"bufio"
	"context"
	_ "embed" // driver.py
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

//go:embed driver.py
var driverProgram []byte

// log4j lets stock's allocator say when all executors run, and nothing else below INFO.
const log4j = `rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n
logger.allocator.name = org.apache.spark.scheduler.cluster.k8s.ExecutorPodsAllocator
logger.allocator.level = debug
`

// Stock is stock Spark's driver in client mode.
type Stock struct {
	AppID string

	cmd   *exec.Cmd // Python
	jvm   int       // its child's pid
	in    io.WriteCloser
	said  chan string // what driver.py says
	ended chan struct{}

	mu       sync.Mutex
	last     []string // of the log
	complete waiting
}

// OpenStock starts the stock driver with a context of no executors. conf has more settings.
func (c *Cluster) OpenStock(ctx context.Context, sparkHome, url, namespace, appID string, conf map[string]string) (*Stock, error) {
	dir, err := os.MkdirTemp(c.Dir, "stock-")
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "driver.py")
	if err := errors.Join(os.WriteFile(program, driverProgram, 0o644), os.WriteFile(filepath.Join(dir, "log4j2.properties"), []byte(log4j), 0o644)); err != nil {
		return nil, err
	}
	py4j, err := filepath.Glob(filepath.Join(sparkHome, "python", "lib", "py4j-*.zip"))
	if err != nil || len(py4j) != 1 {
		return nil, fmt.Errorf("%s has no single python/lib/py4j-*.zip: name a Spark with its Python library", sparkHome)
	}
	path := filepath.Join(sparkHome, "python") + ":" + py4j[0]
	args := []string{"--master", "k8s://" + url}
	all := SparkConf(namespace, appID)
	delete(all, "spark.driver.port") // a free one
	for k, v := range conf {
		all[k] = v
	}
	for k, v := range all {
		args = append(args, "--conf", k+"="+v)
	}
	s := &Stock{AppID: appID, said: make(chan string, 16), ended: make(chan struct{})}
	// Python starts the JVM, as the pyspark shell does: under spark-submit the program would have no stdin.
	s.cmd = exec.Command("python3", program)
	s.cmd.Env = c.Env("SPARK_HOME="+sparkHome, "SPARK_CONF_DIR="+dir, "SPARK_LOCAL_IP=127.0.0.1", "PYSPARK_PYTHON=python3",
		"PYSPARK_SUBMIT_ARGS="+strings.Join(append(args, "pyspark-shell"), " "), "PYTHONPATH="+path)
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	log, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start stock's driver: %w", err)
	}
	go s.listen(out, log)
	pid, err := s.expect(ctx, "ready")
	if err == nil {
		s.jvm, err = strconv.Atoi(pid)
	}
	if err != nil {
		s.Kill()
		return nil, err
	}
	return s, nil
}

func (s *Stock) listen(out, log io.Reader) {
	var both sync.WaitGroup
	both.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if text, ok := strings.CutPrefix(lines.Text(), "@ "); ok {
				s.said <- text
			}
		}
	})
	both.Go(func() {
		for lines := bufio.NewScanner(log); lines.Scan(); {
			s.logged(lines.Text())
		}
	})
	both.Wait()
	_ = s.cmd.Wait() // its exit code says no more than the log that expect shows
	close(s.ended)
}

func (s *Stock) logged(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last = append(s.last, line); len(s.last) > 20 {
		s.last = s.last[1:]
	}
	s.complete.heard(line)
}

func (s *Stock) expect(ctx context.Context, word string) (string, error) {
	select {
	case text := <-s.said:
		if rest, ok := strings.CutPrefix(text, word); ok {
			return strings.TrimSpace(rest), nil
		}
		return "", fmt.Errorf("stock's driver says %q instead of %s", text, word)
	case <-s.ended:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return "", fmt.Errorf("stock's driver does not say %s; its log ends with: %s", word, lastLines(strings.Join(s.last, "\n")))
}

func (s *Stock) order(text string) error {
	if _, err := fmt.Fprintln(s.in, text); err != nil {
		return fmt.Errorf("stock's driver takes no orders: %w", err)
	}
	return nil
}

// Request asks for the first n executors. The channel gives the time at which the allocator says that all run.
func (s *Stock) Request(ctx context.Context, n int) (<-chan time.Time, error) {
	at := make(chan time.Time, 1)
	s.mu.Lock()
	s.complete = waiting{n: n, at: at}
	s.mu.Unlock()
	if err := s.order(fmt.Sprint("request ", n)); err != nil {
		return nil, err
	}
	answer, err := s.expect(ctx, "requested")
	if err == nil && answer != "True" {
		err = fmt.Errorf("stock's driver refuses %d executors: %s", n, answer)
	}
	return at, err
}

// HeapMiB is the driver's heap that is in use after a collection.
func (s *Stock) HeapMiB(ctx context.Context) (float64, error) {
	if err := s.order("heap"); err != nil {
		return 0, err
	}
	text, err := s.expect(ctx, "heap")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseFloat(text, 64)
	return n / (1 << 20), err
}

// PID is the driver's JVM.
func (s *Stock) PID() int { return s.jvm }

// Stop ends the context, which deletes the executors, and waits for the process.
func (s *Stock) Stop(ctx context.Context) error {
	if err := s.order("stop"); err != nil {
		return err
	}
	_, err := s.expect(ctx, "stopped")
	_ = s.in.Close() // it has ended
	s.Kill()
	return err
}

// Kill ends the process at once; its executors stay.
func (s *Stock) Kill() {
	if s.jvm != 0 {
		_ = syscall.Kill(s.jvm, syscall.SIGKILL) // the only error is that it has ended
	}
	_ = s.cmd.Process.Kill() // likewise
	_ = s.in.Close()         // likewise
	<-s.ended
}
