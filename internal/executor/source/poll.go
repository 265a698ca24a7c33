package source

import (
	"context"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// Poll is the polling source: a safety net under the watch (W3).
type Poll struct {
	cluster  Cluster
	reader   *snapshot.Reader
	sink     Sink
	interval time.Duration
	cached   bool        // list from the server's cache
	needed   func() bool // asked before each list
	newest   uint64
}

// NewPoll makes a polling source. needed says, at the end of each interval, whether a list is wanted.
func NewPoll(c Cluster, r *snapshot.Reader, s Sink, interval time.Duration, cached bool, needed func() bool) *Poll {
	return &Poll{cluster: c, reader: r, sink: s, interval: interval, cached: cached, needed: needed}
}

// Run polls until ctx ends. The first list comes one interval after the start, the next one interval after the end of the
// last.
func (p *Poll) Run(ctx context.Context) {
	for pause(ctx, p.interval) {
		if p.needed() {
			p.once(ctx)
		}
	}
}

func (p *Poll) once(ctx context.Context) {
	version := ""
	if p.cached {
		version = "0"
	}
	p.sink.Log("DEBUG", PollLogger, "Resynchronizing full executor pod state from Kubernetes.")
	l, _, err := Read(ctx, p.cluster, p.reader, version)
	if err != nil {
		if ctx.Err() == nil {
			p.sink.Log("WARN", PollLogger, "The executor pods cannot be listed; trying again in "+p.interval.String()+": "+err.Error())
		}
		return
	}
	if p.cached && l.Version < p.newest {
		return
	}
	p.newest = max(p.newest, l.Version)
	p.sink.List(l)
}
