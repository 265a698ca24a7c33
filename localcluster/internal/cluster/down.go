package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/kubespark/kubespark/localcluster/internal/process"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
)

const (
	// supervisorGrace covers the grace times of all that the supervisor stops.
	supervisorGrace = 45 * time.Second
	// orphanGrace is for components whose supervisor was killed, which as a rule the kernel has ended already.
	orphanGrace = 2 * time.Second
	killTimeout = 10 * time.Second
)

// Down stops the cluster of the folder and removes what it left on the machine, after a kill -9 of any or all of
// its processes as well. It reports whether there was anything to take down.
func Down(ctx context.Context, h Host, d statedir.Dir, say func(format string, args ...any)) (bool, error) {
	if _, err := os.Lstat(string(d)); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if owned, err := d.Owned(); err != nil {
		return false, err
	} else if !owned {
		return false, fmt.Errorf("%s holds no cluster, and is left as it is", d)
	}
	if err := checkRights(); err != nil {
		return false, err
	}
	unlock, err := d.Lock(func() { say("waiting for another kubespark-cluster command in %s\n", d) })
	if err != nil {
		return false, err
	}
	defer unlock()
	_, err = d.Load()
	found := !errors.Is(err, fs.ErrNotExist)
	return found, h.remove(ctx, d, say)
}

// remove clears the folder and deletes it. The caller holds the folder's lock, and this ends it.
func (h Host) remove(ctx context.Context, d statedir.Dir, say func(format string, args ...any)) error {
	if err := h.clear(ctx, d, say); err != nil {
		return err
	}
	return d.Remove()
}

// clear stops the processes that the record names, lets the node's leftovers be taken away, and empties the folder.
// The caller holds the folder's lock.
func (h Host) clear(ctx context.Context, d statedir.Dir, say func(format string, args ...any)) error {
	r, err := d.Load()
	if errors.Is(err, fs.ErrNotExist) {
		return d.Empty()
	}
	if err != nil {
		return err
	}
	boot, err := h.Table.Boot()
	if err != nil {
		return err
	}
	if boot == r.Boot {
		if err := h.stop(ctx, d, say); err != nil {
			return err
		}
	}
	for i := range r.Spec.NodeCount() {
		if err := h.CleanNode(d.Node(i)); err != nil {
			return fmt.Errorf("remove what the node left: %w", err)
		}
	}
	return d.Empty()
}

// stop ends the supervisor, which stops the others in order, then whatever it did not stop.
func (h Host) stop(ctx context.Context, d statedir.Dir, say func(format string, args ...any)) error {
	r, err := d.Load()
	if err != nil {
		return err
	}
	if h.Table.Alive(r.Supervisor) {
		if err := h.Table.Stop(ctx, r.Supervisor, supervisorGrace); err != nil {
			return err
		}
	}
	if r, err = d.Load(); err != nil { // it recorded its children until its end
		return err
	}
	for _, c := range slices.Backward(r.Components) {
		if !h.Table.Alive(c.Process) {
			continue
		}
		say("ending %s (pid %d), which its supervisor left\n", c.Name, c.Process.PID)
		if err := h.end(ctx, c.Process); err != nil {
			return fmt.Errorf("end %s: %w", c.Name, err)
		}
	}
	return nil
}

func (h Host) end(ctx context.Context, id process.ID) error {
	ctx, cancel := context.WithTimeout(ctx, orphanGrace+killTimeout)
	defer cancel()
	return h.Table.Stop(ctx, id, orphanGrace)
}
