//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// testCluster is the local cluster that all tests share. Each test has a namespace of its own in it.
type testCluster struct {
	bin, stateDir, kubeconfig, master string
	apps                              string // testdata, readable by every user
	borrowed                          bool   // it ran before, and goes on
	sparkHomes                        map[string]string
	config                            *rest.Config
	client                            kubernetes.Interface
}

const defaultSpark = "4.2.0"

var cluster testCluster

func TestMain(m *testing.M) {
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (code int, err error) {
	if err := cluster.configure(); err != nil {
		return 1, err
	}
	if err := cluster.up(); err != nil {
		return 1, err
	}
	defer func() {
		if downErr := cluster.down(); downErr != nil && err == nil {
			code, err = 1, downErr
		}
	}()
	return m.Run(), nil
}

func (c *testCluster) configure() error {
	c.bin = os.Getenv("KUBESPARK_BIN")
	if c.bin == "" {
		return fmt.Errorf("KUBESPARK_BIN is not set; run the tests with `make e2e`")
	}
	c.sparkHomes = map[string]string{}
	for _, pair := range strings.Split(os.Getenv("KUBESPARK_SPARK_HOMES"), ",") {
		if version, home, ok := strings.Cut(pair, "="); ok {
			c.sparkHomes[version] = home
		}
	}
	if c.sparkHomes[defaultSpark] == "" {
		return fmt.Errorf("KUBESPARK_SPARK_HOMES names no Spark %s; run the tests with `make e2e`", defaultSpark)
	}
	if dir := os.Getenv("KUBESPARK_E2E_STATE"); dir != "" {
		apps, err := filepath.Abs("testdata")
		c.stateDir, c.borrowed, c.apps = dir, true, apps
		return err
	}
	dir, err := os.MkdirTemp("", "kubespark-e2e-")
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	c.stateDir = filepath.Join(dir, "state")
	c.apps = filepath.Join(dir, "apps")
	return os.CopyFS(c.apps, os.DirFS("testdata"))
}

// up starts the cluster; one that runs already, whose folder KUBESPARK_E2E_STATE names, is taken as it is.
func (c *testCluster) up() error {
	if c.borrowed {
		return c.connect()
	}
	began := time.Now()
	if err := c.command("kubespark-cluster", "up", "--state-dir", c.stateDir, "--port", clusterPort,
		"--network", clusterNetwork, "--capacity", "example.com/gpu=2"); err != nil {
		return err
	}
	fmt.Printf("cluster up in %.1f s\n", time.Since(began).Seconds())
	for version, home := range c.sparkHomes {
		if err := c.command("kubespark-cluster", "image", "build-spark", "--state-dir", c.stateDir,
			"--spark-home", home, "--kubespark", c.bin, imageOf(version)); err != nil {
			return err
		}
	}
	return c.connect()
}

func (c *testCluster) connect() error {
	c.kubeconfig = filepath.Join(c.stateDir, "kubeconfig")
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 100, 200
	c.config = config
	c.master = "k8s://" + config.Host
	c.client, err = kubernetes.NewForConfig(config)
	return err
}

// down stops the cluster and fails when anything of it is left.
func (c *testCluster) down() error {
	if c.borrowed {
		return nil
	}
	if err := c.command("kubespark-cluster", "down", "--state-dir", c.stateDir); err != nil {
		return err
	}
	if left := c.leftovers(); len(left) > 0 {
		return fmt.Errorf("`kubespark-cluster down` left behind:\n%s", strings.Join(left, "\n"))
	}
	return os.RemoveAll(filepath.Dir(c.stateDir))
}

// leftovers lists processes, mounts and files that belong to the cluster's state folder.
func (c *testCluster) leftovers() []string {
	var left []string
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, c.stateDir) {
			left = append(left, "mount "+line)
		}
	}
	for _, p := range processes() {
		if strings.Contains(p.cmdline, c.stateDir) {
			left = append(left, fmt.Sprintf("process %d %s", p.pid, p.cmdline))
		}
	}
	if _, err := os.Stat(c.stateDir); err == nil {
		left = append(left, "folder "+c.stateDir)
	}
	return left
}

func (c *testCluster) command(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out.String())
	}
	return nil
}

func imageOf(version string) string { return "kubespark/spark:" + version }

// eventually polls until the condition holds; what it returns as text is shown when time is up.
func eventually(t *testing.T, limit time.Duration, what string, condition func() (bool, string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	last := ""
	for {
		done, state := condition()
		if done {
			return
		}
		last = state
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %s; last seen: %s", limit, what, last)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
