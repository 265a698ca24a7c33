package cli

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubespark/kubespark/localcluster/internal/cluster"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
	"github.com/kubespark/kubespark/localcluster/internal/userns"
)

type upFlags struct {
	port                  int
	network, memory, name string
	cpus, nodes           int
	capacity              []string
	wait                  time.Duration
	controlPlane, audit   string
	node, verbose         bool
	listener              int
}

func (a *App) upCommand() *cobra.Command {
	var f upFlags
	c := &cobra.Command{
		Use:   "up",
		Short: "Start the cluster and wait until it is ready",
		Long: `up starts the cluster and returns when pods can be created in it. The cluster goes on running in the background,
independent of the terminal, until it is taken down. If it is up already, up says so and changes nothing.
What a cluster in the same folder left when its processes were killed is removed first.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.up(c, f) },
	}
	c.Flags().IntVar(&f.port, "port", 6443, "port of the API server at 127.0.0.1")
	c.Flags().StringVar(&f.network, "network", "127.10.0.0/16", "loopback network of the cluster and its pods; clusters side by side need one each")
	c.Flags().StringVar(&f.name, "node-name", "local", "name of the node")
	c.Flags().IntVar(&f.cpus, "cpus", 64, "CPUs that the node advertises; pods share the CPUs of the machine whatever this says")
	c.Flags().StringVar(&f.memory, "memory", "", "memory that the node advertises, such as 16Gi (default the machine's)")
	c.Flags().StringArrayVar(&f.capacity, "capacity", nil, "extended resource that the node advertises, such as example.com/gpu=2; several times for several")
	c.Flags().IntVar(&f.nodes, "nodes", 1, "how many nodes there are; each advertises the CPUs and the memory given")
	c.Flags().DurationVar(&f.wait, "wait", time.Minute, "how long to wait until the cluster is ready; 0 does not wait")
	c.Flags().StringVar(&f.controlPlane, "control-plane", "", "the program kubespark-control-plane (default the one beside this program)")
	c.Flags().BoolVar(&f.node, "node", true, "start the node; without it pods stay pending")
	c.Flags().StringVar(&f.audit, "audit-policy", "", "file with an audit policy: the API server then writes an audit log, which `logs audit` prints")
	listenerFlag(c, &f.listener)
	c.Flags().BoolVar(&f.verbose, "verbose", false, "let the components log more")
	return c
}

func (a *App) up(c *cobra.Command, f upFlags) error {
	d, h, err := a.place()
	if err != nil {
		return err
	}
	spec, err := f.spec()
	if err != nil {
		return err
	}
	if nested, err := a.nestUp(c.Context(), h, d, spec); nested {
		return err
	}
	if spec.OwnNetwork {
		if err := userns.LoopbackUp(); err != nil {
			return userns.Refused(err)
		}
	}
	began := time.Now()
	already, err := cluster.Up(c.Context(), h, cluster.UpOptions{Dir: d, Spec: spec, Wait: f.wait, Listener: inherited(f.listener), Say: a.say})
	if err != nil {
		return err
	}
	switch {
	case already:
		a.say("the cluster in %s is up already\n", d)
	case f.wait <= 0:
		a.say("the cluster starts; %s tells how far it is\n", a.again("status"))
	default:
		a.say("the cluster is ready after %.1f s\n", time.Since(began).Seconds())
	}
	a.say("\n  export KUBECONFIG=%s\n", d.Kubeconfig())
	w := tabwriter.NewWriter(a.Out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "  %s\tlook around\n", a.again("kubectl get pods -A"))
	fmt.Fprintf(w, "  %s\twhat runs, and how well\n", a.again("status"))
	fmt.Fprintf(w, "  %s\tstop it, and leave nothing behind\n", a.again("down"))
	return w.Flush()
}

// spec checks the flags and completes them with what the machine says.
func (f upFlags) spec() (statedir.Spec, error) {
	network, err := netip.ParsePrefix(f.network)
	if err != nil {
		return statedir.Spec{}, usageError{fmt.Errorf("--network %q is no network: name one such as 127.10.0.0/16", f.network)}
	}
	memory, err := f.memoryMiB()
	if err != nil {
		return statedir.Spec{}, err
	}
	program := f.controlPlane
	if program == "" {
		if program, err = beside("kubespark-control-plane"); err != nil {
			return statedir.Spec{}, err
		}
	}
	capacity, err := extendedResources(f.capacity)
	if err != nil {
		return statedir.Spec{}, err
	}
	audit, err := f.auditPolicy()
	if err != nil {
		return statedir.Spec{}, err
	}
	s := statedir.Spec{
		ControlPlane: program, Port: f.port, Network: network, NodeName: f.name, CPUs: f.cpus, MemoryMiB: memory, Capacity: capacity, Nodes: f.nodes,
		NoNode: !f.node, Verbose: f.verbose, AuditPolicy: audit, OwnNetwork: f.listener != 0,
	}
	if err := s.Check(); err != nil {
		return statedir.Spec{}, usageError{err}
	}
	return s, nil
}

// extendedResources reads amounts such as example.com/gpu=2, by the API server's rules for their names.
func extendedResources(given []string) (map[string]int64, error) {
	if len(given) == 0 {
		return nil, nil
	}
	out := map[string]int64{}
	for _, g := range given {
		name, amount, _ := strings.Cut(g, "=")
		n, err := strconv.ParseInt(amount, 10, 64)
		domain, _, qualified := strings.Cut(name, "/")
		switch _, twice := out[name]; {
		case !qualified || len(validation.IsQualifiedName("requests."+name)) > 0 || domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io"):
			return nil, usageError{fmt.Errorf("--capacity %q: %q is no name of an extended resource: name one such as example.com/gpu=2", g, name)}
		case err != nil || n < 0:
			return nil, usageError{fmt.Errorf("--capacity %q has no whole amount: write it like example.com/gpu=2", g)}
		case twice:
			return nil, usageError{fmt.Errorf("--capacity names %s twice: give one amount", name)}
		}
		out[name] = n
	}
	return out, nil
}

// auditPolicy is the policy's absolute path, "" without one.
func (f upFlags) auditPolicy() (string, error) {
	if f.audit == "" {
		return "", nil
	}
	if _, err := os.Stat(f.audit); err != nil {
		return "", usageError{fmt.Errorf("--audit-policy: %w", err)}
	}
	path, err := filepath.Abs(f.audit)
	if err != nil {
		return "", fmt.Errorf("--audit-policy: %w", err)
	}
	return path, nil
}

func (f upFlags) memoryMiB() (int, error) {
	if f.memory == "" {
		text, err := os.ReadFile("/proc/meminfo")
		if err != nil {
			return 0, fmt.Errorf("read the machine's memory: %w", err)
		}
		return memTotalMiB(string(text))
	}
	q, err := resource.ParseQuantity(f.memory)
	if err != nil {
		return 0, usageError{fmt.Errorf("--memory %q is no amount of memory: write it like 16Gi or 512Mi", f.memory)}
	}
	return int(q.Value() >> 20), nil
}

// memTotalMiB reads the text of /proc/meminfo.
func memTotalMiB(meminfo string) (int, error) {
	for line := range strings.Lines(meminfo) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "MemTotal:" {
			kib, err := strconv.Atoi(f[1])
			if err != nil {
				return 0, fmt.Errorf("read the machine's memory: %w", err)
			}
			return kib >> 10, nil
		}
	}
	return 0, fmt.Errorf("the machine does not say how much memory it has: name an amount with --memory")
}
