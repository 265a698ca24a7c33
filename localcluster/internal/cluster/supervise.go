package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/kubespark/kubespark/localcluster/internal/controlplane"
	"github.com/kubespark/kubespark/localcluster/internal/process"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
	"github.com/kubespark/kubespark/localcluster/internal/supervisor"
)

// Supervise runs the cluster that the folder's record describes, until the context ends or the cluster cannot go
// on. It is the main function of the process that Up leaves behind. The listener is where a cluster with a network of its own
// is reached from outside.
func Supervise(ctx context.Context, d statedir.Dir, table process.Table, listener *os.File, log *slog.Logger) error {
	s := &store{dir: d}
	record, err := d.Load()
	if err != nil {
		return err
	}
	s.record = record
	if s.record.Supervisor, err = table.Identify(os.Getpid()); err != nil {
		return err
	}
	if err := d.Save(s.record); err != nil {
		return err
	}
	parts, err := newParts(d, record.Spec, supervisor.NewSpawner(table), listener)
	if err == nil {
		err = supervisor.Run(ctx, parts, s, log)
	}
	if err != nil {
		s.fail(explain(err, d), log)
	}
	return err
}

// explain adds the last words of a part that could not be started.
func explain(err error, d statedir.Dir) string {
	var failed *supervisor.PartError
	if !errors.As(err, &failed) {
		return err.Error()
	}
	log := d.Log(failed.Part)
	if last := lastLine(log); last != "" {
		return fmt.Sprintf("%v; its log %s ends with: %s", err, log, last)
	}
	return err.Error()
}

const lastLineMax = 400

// lastLine returns the last line of the file that is not empty, shortened to lastLineMax bytes, or "".
func lastLine(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	text = bytes.TrimRight(text, "\n")
	line := string(text[bytes.LastIndexByte(text, '\n')+1:])
	if len(line) > lastLineMax {
		line = strings.ToValidUTF8(line[:lastLineMax], "") + "…"
	}
	return line
}

// newParts joins the components' command lines with their order and their probes.
func newParts(d statedir.Dir, spec statedir.Spec, spawner *supervisor.Spawner, listener *os.File) ([]supervisor.Part, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the own program: %w", err)
	}
	prober, err := controlplane.NewProber(d, spec)
	if err != nil {
		return nil, err
	}
	var all []supervisor.Part
	for _, c := range controlplane.Commands(d, spec, program) {
		part := supervisor.Part{
			Name:  c.Name,
			After: needs(c.Name),
			Ready: func(ctx context.Context) error { return prober.Ready(ctx, c.Name) },
			Start: func() (supervisor.Running, error) {
				return spawner.Process(c.Path, c.Args, environment(), d.Log(c.Name))
			},
			Grace: 5 * time.Second,
		}
		switch {
		case controlplane.IsNode(c.Name): // it ends its pods' containers first
			part.Prepare, part.Grace = prober.CreateObjects, 15*time.Second
		case c.Name == controlplane.APIServer:
			all = append(all, part)
			if spec.OwnNetwork {
				all = append(all, hostPort(spec, prober, listener))
			}
			part = service(spec, prober)
		}
		all = append(all, part)
	}
	return all, nil
}

// service is the way of pods to the API server.
func service(spec statedir.Spec, prober *controlplane.Prober) supervisor.Part {
	return supervisor.Part{
		Name:  controlplane.Service,
		After: needs(controlplane.Service),
		Ready: func(ctx context.Context) error { return prober.Ready(ctx, controlplane.Service) },
		Start: func() (supervisor.Running, error) {
			return supervisor.Forward(spec.Service().String(), spec.APIServer().String())
		},
	}
}

// hostPort is the way to the API server from outside of the cluster's own network.
func hostPort(spec statedir.Spec, prober *controlplane.Prober, listener *os.File) supervisor.Part {
	return supervisor.Part{
		Name:  controlplane.HostPort,
		After: needs(controlplane.HostPort),
		Ready: func(ctx context.Context) error { return prober.Ready(ctx, controlplane.HostPort) },
		Start: func() (supervisor.Running, error) { return supervisor.ForwardFrom(listener, spec.APIServer().String()) },
	}
}

// needs lists what has to be ready before a component's first start. The API server waits a whole second whenever
// it does not find etcd, and the others likewise for the API server.
func needs(component string) []string {
	switch component {
	case controlplane.Etcd:
		return nil
	case controlplane.APIServer:
		return []string{controlplane.Etcd}
	default:
		return []string{controlplane.APIServer}
	}
}

// environment is what the components get of the user's: where programs and the home folder are, nothing that
// configures them.
func environment() []string {
	var kept []string
	for _, name := range []string{"PATH", "HOME", "TZ"} {
		if value, ok := os.LookupEnv(name); ok {
			kept = append(kept, name+"="+value)
		}
	}
	return kept
}

// store writes the supervisor's state into the folder's record.
type store struct {
	mu     sync.Mutex
	dir    statedir.Dir
	record statedir.Record
}

// Save implements supervisor.Store. It writes into no folder that has lost its record, so that a cluster whose
// folder was deleted ends and leaves nothing.
func (s *store) Save(parts []statedir.Component) error {
	if err := s.Present(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.Components = parts
	return s.dir.Save(s.record)
}

// Present implements supervisor.Store.
func (s *store) Present() error {
	if _, err := os.Lstat(s.dir.Record()); errors.Is(err, fs.ErrNotExist) {
		return errors.New("the state folder was deleted under the running cluster")
	} else if err != nil {
		return fmt.Errorf("look at the state folder: %w", err)
	}
	return nil
}

// fail leaves the reason for Up and Status to read.
func (s *store) fail(reason string, log *slog.Logger) {
	if s.Present() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.Failure = reason
	if err := s.dir.Save(s.record); err != nil {
		log.Error("the reason was not written down", "error", err)
	}
}
