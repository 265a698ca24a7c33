package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/kubespark/kubespark/localcluster/internal/controlplane"
	"github.com/kubespark/kubespark/localcluster/internal/process"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
)

// Component is what Inspect found of one component.
type Component struct {
	Name     string
	PID      int // 0 if it does not run or is a task of the supervisor
	Resident int64
	Restarts int
	State    string // a statedir.Phase, or "ended"
	Why      string // if it is not ready
}

// Report is the state of a cluster now.
type Report struct {
	Spec       statedir.Spec
	Components []Component // the supervisor first
	Ready      bool        // all of them are
	Problem    string      // what is wrong with the cluster as a whole, a sentence, or ""
}

// ErrNone says that the folder holds no cluster.
var ErrNone = errors.New("there is no cluster")

// Inspect looks at each process of the folder's cluster and asks each component whether it is ready.
func Inspect(ctx context.Context, h Host, d statedir.Dir) (Report, error) {
	r, err := d.Load()
	if errors.Is(err, fs.ErrNotExist) {
		return Report{}, ErrNone
	}
	if err != nil {
		return Report{}, err
	}
	prober, err := controlplane.NewProber(d, r.Spec)
	if err != nil {
		return Report{}, err
	}
	alive, err := h.supervised(r)
	if err != nil {
		return Report{}, err
	}
	report := Report{Spec: r.Spec, Ready: true, Problem: problem(r, alive)}
	report.Components = append(report.Components, h.describe(SupervisorLog, r.Supervisor, alive))
	report.Components = append(report.Components, h.components(ctx, r, prober, alive)...)
	for _, c := range report.Components {
		report.Ready = report.Ready && c.State == string(statedir.Ready)
	}
	return report, nil
}

func problem(r statedir.Record, supervised bool) string {
	switch {
	case r.Failure != "":
		return "the cluster has stopped: " + r.Failure
	case !supervised:
		return "the supervisor has ended: `up` starts the cluster afresh, `down` removes what is left"
	}
	return ""
}

func (h Host) describe(name string, id process.ID, alive bool) Component {
	if !alive {
		return Component{Name: name, State: "ended"}
	}
	return Component{Name: name, State: string(statedir.Ready), PID: id.PID, Resident: h.Table.Resident(id.PID)}
}

// components asks all at once: one that does not answer takes its whole time-out.
func (h Host) components(ctx context.Context, r statedir.Record, prober *controlplane.Prober, supervised bool) []Component {
	found := make([]Component, len(r.Components))
	var all sync.WaitGroup
	for i, c := range r.Components {
		all.Go(func() {
			task := c.Process == process.ID{}
			alive := task && supervised || !task && h.Table.Alive(c.Process)
			f := h.describe(c.Name, c.Process, alive)
			f.Restarts = c.Restarts
			if task && (c.Phase != statedir.Ready || alive && r.Spec.OwnNetwork) { // nothing can be asked in another network
				f.State, f.Why = string(c.Phase), c.Reason
			} else if alive {
				f.State, f.Why = probe(ctx, prober, c)
			}
			found[i] = f
		})
	}
	all.Wait()
	return found
}

func probe(ctx context.Context, prober *controlplane.Prober, c statedir.Component) (state, why string) {
	err := prober.Ready(ctx, c.Name)
	switch {
	case err == nil:
		return string(statedir.Ready), ""
	case c.Phase == statedir.Ready:
		return "not ready", fmt.Sprint(err)
	default:
		return string(c.Phase), fmt.Sprint(err)
	}
}
