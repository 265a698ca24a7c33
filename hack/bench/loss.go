package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubespark/kubespark/hack/bench/result"
	"github.com/kubespark/kubespark/hack/bench/rig"
)

func lossMeasurement() measurement {
	goals := []goal{}
	for _, n := range []string{few, thousand} {
		goals = append(goals,
			goal{"p50 at " + n, "≤", 5, "ms", ours(lossAt(n), 0.5)},
			goal{"p99 at " + n, "≤", 25, "ms", ours(lossAt(n), 0.99)})
	}
	return measurement{name: "loss", title: "Loss to replacement", audit: true, limit: 10 * time.Minute,
		how: "One running pod after another is set to Failed. From the arrival of that event at a watch of this program, which gets it " +
			"together with the manager's, until the API server has the POST of the successor (audit log).",
		run: (*bench).loss, goals: goals}
}

// Sizes as the page names them.
const (
	few      = "10 executors"
	thousand = "1,000 executors"
)

func lossAt(n string) string { return "pod's end to its successor's POST at " + n }

func (b *bench) loss(ctx context.Context) error {
	var failed error
	for _, c := range []struct {
		label string
		n     int
	}{{few, min(10, b.sizes.mid)}, {thousand, b.sizes.mid}} {
		if err := b.loseOurs(ctx, c.label, c.n); err != nil {
			return err
		}
		if c.label == few && b.stock {
			failed = errors.Join(failed, b.loseTheirs(ctx, c.label, c.n))
		}
	}
	return failed
}

func (b *bench) loseOurs(ctx context.Context, label string, n int) error {
	ns := fmt.Sprint("ours-", n)
	if err := b.Namespace(ctx, ns); err != nil {
		return err
	}
	m, running, err := b.ourExecutors(ctx, b.URL, ns, n)
	if err != nil {
		return err
	}
	defer running.Close()
	err = b.lose(ctx, result.Kubespark, label, rig.ManagerAgent, ns, b.sizes.losses, running)
	_, serr := m.Stop(time.Minute)
	return errors.Join(err, serr, m.Close())
}

func (b *bench) loseTheirs(ctx context.Context, label string, n int) error {
	ns := fmt.Sprint("theirs-", n)
	if err := b.Namespace(ctx, ns); err != nil {
		return err
	}
	s, err := b.OpenStock(ctx, b.sparkHome, b.URL, ns, ns, nil)
	if err != nil {
		return err
	}
	defer s.Kill()
	if err := b.stockExecutors(ctx, s, ns, n); err != nil {
		return err
	}
	running, err := b.WatchPods(ctx, ns, rig.Executors(ns), "status.phase=Running", nil)
	if err != nil {
		return err
	}
	defer running.Close()
	if _, err := running.Reached(ctx, n); err != nil {
		return err
	}
	return errors.Join(b.lose(ctx, result.Stock, label, rig.StockAgent, ns, b.sizes.stockLosses, running), s.Stop(ctx))
}

// failed is what a kubelet reports of a container that ended by itself.
const failed = `{"status":{"phase":"Failed","containerStatuses":[{"name":"spark-kubernetes-executor","image":"kubespark/spark:4.2.0","imageID":"",` +
	`"ready":false,"restartCount":0,"state":{"terminated":{"exitCode":1,"reason":"Error"}}}]}}`

// lose ends executors one after another and waits for each successor.
func (b *bench) lose(ctx context.Context, who, label, agent, ns string, times int, running *rig.Watch) error {
	n := running.Count()
	var ends []ended
	for range times {
		name, sent := running.Any(), time.Now()
		if err := b.Fail(ctx, ns, name, failed); err != nil {
			return err
		}
		seen, err := running.Ended(ctx, name)
		if err != nil {
			return err
		}
		if _, err := running.Reached(ctx, n); err != nil {
			return err
		}
		ends = append(ends, ended{sent, seen})
	}
	found, err := rig.Requests(b.AuditLog(), agent, ends[0].sent)
	if err != nil {
		return err
	}
	var posts []time.Time
	for _, r := range found {
		if r.Verb == "create" && r.ObjectRef.Resource == "pods" && strings.Contains(r.URI, "/namespaces/"+ns+"/") {
			posts = append(posts, r.Received)
		}
	}
	took, err := successors(ends, posts)
	b.m.Add(who, lossAt(label), "ms", took...)
	return err
}

// ended is one loss: when this program wrote the pod's end, and when the event came to its watch.
type ended struct{ sent, seen time.Time }

// successors are the milliseconds from each loss to the first POST after it, which must come before the next loss.
func successors(ends []ended, posts []time.Time) ([]float64, error) {
	slices.SortFunc(posts, time.Time.Compare)
	var took []float64
	for i, e := range ends {
		at := slices.IndexFunc(posts, e.sent.Before)
		if at < 0 || i+1 < len(ends) && posts[at].After(ends[i+1].sent) {
			return took, fmt.Errorf("loss %d of %d has no successor in the audit log", i+1, len(ends))
		}
		took = append(took, ms(posts[at].Sub(e.seen)))
	}
	return took, nil
}
