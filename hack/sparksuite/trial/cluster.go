package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options say where the suite finds what it needs. All paths are absolute.
type Options struct {
	Root  string            // the repository
	Bin   string            // the built programs
	Cache string            // what is downloaded, kept between runs
	Homes map[string]string // Spark distributions by version
	Port  string            // of the API server
	// Patience is how long pods and texts in logs are awaited. Spark's suite has three minutes; a machine with other work
	// needs more.
	Patience time.Duration
	// Network is the loopback network of the cluster and its pods, such as 127.150.0.0/16.
	Network string
	// ClassData has the image with kubespark made with class-data archives, which takes a minute and pays over many rows.
	ClassData bool
	// Schedulers run beside the cluster's own; their programs are in Bin.
	Schedulers []string
	// Logs is where their logs go.
	Logs string
}

// Cluster is a local cluster with the images of the suite. All rows share it.
type Cluster struct {
	Options
	Work       string // folder of this run; goes with Down
	State      string // the cluster's state folder
	Kubeconfig string
	Master     string // of spark-submit
	Address    string // of the API server, host:port
	Config     *rest.Config
	Client     kubernetes.Interface
	Dynamic    dynamic.Interface
	daemons    []*daemon
}

// Up starts the cluster, compiles the programs and makes the images of the versions. After an error nothing is left of it.
func Up(ctx context.Context, o Options, versions []string) (*Cluster, error) {
	work, err := os.MkdirTemp("", "sparksuite-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Options: o, Work: work, State: filepath.Join(work, "state")}
	if err := c.up(ctx, versions); err != nil {
		return nil, errors.Join(err, c.Down())
	}
	return c, nil
}

func (c *Cluster) up(ctx context.Context, versions []string) error {
	if err := os.Chmod(c.Work, 0o755); err != nil {
		return err
	}
	if err := c.cluster(ctx, "up", "--wait", "5m", "--port", c.Port, "--network", c.Network, "--memory", "64Gi"); err != nil {
		return err
	}
	c.Kubeconfig = filepath.Join(c.State, "kubeconfig")
	var err error
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return err
	}
	c.Config.QPS, c.Config.Burst = 100, 200
	c.Master, c.Address = "k8s://"+c.Config.Host, "127.0.0.1:"+c.Port
	if c.Client, err = kubernetes.NewForConfig(c.Config); err != nil {
		return err
	}
	if c.Dynamic, err = dynamic.NewForConfig(c.Config); err != nil {
		return err
	}
	for _, name := range c.Schedulers {
		if err := c.schedule(ctx, name); err != nil {
			return fmt.Errorf("scheduler %s: %w", name, err)
		}
	}
	for _, version := range versions {
		if err := c.images(ctx, version); err != nil {
			return fmt.Errorf("images of Spark %s: %w", version, err)
		}
	}
	return nil
}

// Down stops the schedulers and the cluster and removes the run's folder.
func (c *Cluster) Down() error {
	var all []error
	for _, d := range slices.Backward(c.daemons) {
		all = append(all, d.stop())
	}
	if err := c.cluster(context.Background(), "down"); err != nil {
		return errors.Join(append(all, err)...)
	}
	return errors.Join(append(all, os.RemoveAll(c.Work))...)
}

func (c *Cluster) cluster(ctx context.Context, args ...string) error {
	return command(exec.CommandContext(ctx, filepath.Join(c.Bin, "kubespark-cluster"), append([]string{"--state-dir", c.State}, args...)...))
}

func command(cmd *exec.Cmd) error {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out.String())
	}
	return nil
}
