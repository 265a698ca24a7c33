package executor

import (
	"fmt"
	"math"
	"time"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/executor/allocator"
	"github.com/kubespark/kubespark/internal/executor/claims"
	"github.com/kubespark/kubespark/internal/executor/lifecycle"
)

// settings are the configuration of one session, read once.
type settings struct {
	allocator allocator.Settings
	lifecycle lifecycle.Settings

	checkAll          bool
	watch, poll       bool
	pollCached        bool
	pollAlways        bool // the user set the interval: list at each of its ends
	pollInterval      time.Duration
	readinessTimeout  time.Duration
	deleteExecutors   bool
	deleteServices    bool
	ownClaims         bool
	reuseClaims       bool
	claims            claims.Settings // Maximum in executors
	countRefused      bool            // refused creates count as executor failures
	stopWait          bool            // executors may end by themselves at stop
	configMap         bool
	configMapMax      int64
	releaseLabel      string
	releaseValue      string
	grace             time.Duration // of executor pods
	requestTimeout    time.Duration
	connectTimeout    time.Duration
	templateContainer string
}

// reader collects the first error of a row of reads.
type reader struct {
	c   *conf.Conf
	err error
}

func read[T any](r *reader, e *conf.Entry[T]) T {
	v, err := e.Get(r.c)
	if err != nil && r.err == nil {
		r.err = err
	}
	return v
}

func readSettings(c *conf.Conf) (settings, error) {
	r := &reader{c: c}
	read(r, conf.Stock) // an unknown name is refused, not ignored
	set := settings{
		checkAll: read(r, conf.CheckAllContainers),
		watch:    read(r, conf.EnableAPIWatcher), poll: read(r, conf.EnableAPIPolling),
		pollCached: read(r, conf.PollingWithVersion), pollInterval: read(r, conf.APIPollingInterval),
		pollAlways:       conf.APIPollingInterval.IsSet(c) || conf.IsStock(c, "safety-list"),
		readinessTimeout: read(r, conf.AllocationReadinessTimeout),
		deleteExecutors:  read(r, conf.ExecutorDeleteOnTermination),
		deleteServices:   read(r, conf.ServiceDeleteOnTermination),
		ownClaims:        read(r, conf.OwnClaims),
		reuseClaims:      read(r, conf.OwnClaims) && read(r, conf.ReuseClaims),
		countRefused:     conf.IsStock(c, "refused-creates") && c.Version().AtLeast(4, 2),
		stopWait:         !conf.IsStock(c, "stop-wait"),
		configMap:        !read(r, conf.ExecutorDisableConfigMap), configMapMax: read(r, conf.ConfigMapMaxSize),
		releaseLabel: read(r, conf.DecommissionLabel), releaseValue: read(r, conf.DecommissionLabelValue),
		grace:             read(r, conf.ExecutorTerminationGrace),
		requestTimeout:    time.Duration(read(r, conf.DriverRequestTimeout)) * time.Millisecond,
		connectTimeout:    time.Duration(read(r, conf.DriverConnectionTimeout)) * time.Millisecond,
		templateContainer: read(r, conf.ExecutorTemplateContainer),
	}
	set.allocator = allocatorSettings(r)
	set.claims = claimSettings(r, set)
	set.lifecycle = lifecycle.Settings{
		DeleteOnTermination: set.deleteExecutors, Interval: read(r, conf.EventProcessingInterval),
		MissingDelta: read(r, conf.MissingPodDetectDelta), MaxFailures: maxFailures(r),
		Validity: read(r, conf.ExecutorFailuresValidity), StockFaults: conf.IsStock(c, "faults"),
	}
	if conf.IsStock(c, "report-once") {
		set.lifecycle.ReportAgain = read(r, conf.DeletedExecutorsCacheTimeout)
	}
	if r.err == nil && conf.AllocationMaxPendingPerRP.IsSet(c) && set.allocator.MaxPendingPerRP > set.allocator.MaxPending {
		r.err = fmt.Errorf("Maximum pending pods per resource profile ID (%d) must be less than or equal to maximum pending pods (%d).", //nolint:staticcheck // Spark's own text
			set.allocator.MaxPendingPerRP, set.allocator.MaxPending)
	}
	return set, r.err
}

func allocatorSettings(r *reader) allocator.Settings {
	delay := read(r, conf.AllocationBatchDelay)
	paced := conf.AllocationBatchSize.IsSet(r.c) || conf.AllocationBatchDelay.IsSet(r.c) || conf.IsStock(r.c, "pace")
	set := allocator.Settings{
		Paced: paced, BatchSize: read(r, conf.AllocationBatchSize), BatchDelay: delay,
		MaxPending: read(r, conf.AllocationMaxPending), MaxPendingPerRP: read(r, conf.AllocationMaxPendingPerRP),
		Maximum:     int64(read(r, conf.AllocationMaximum)),
		Timeout:     max(5*delay, read(r, conf.AllocationExecutorTimeout)),
		IdleTimeout: read(r, conf.DynamicIdleTimeout), PendingTimeout: read(r, conf.PendingTimeout),
		StockGate: conf.IsStock(r.c, "creation-gate"), CountLeaving: conf.IsStock(r.c, "leaving-pods"),
		OldestFirst: conf.IsStock(r.c, "trim-order"), NeverFatal: conf.IsStock(r.c, "permanent-refusals"),
		NoStartDelay: conf.IsStock(r.c, "start-delay"),
	}
	if conf.IsStock(r.c, "allocation-maximum") {
		set.Maximum--
	}
	return set
}

// claimSettings says how claims are given out again (spec section 9).
func claimSettings(r *reader, set settings) claims.Settings {
	out := claims.Settings{Wait: set.reuseClaims && read(r, conf.WaitToReuseClaims), Larger: r.c.Version().AtLeast(4, 2), Maximum: 2}
	if conf.ExecutorInstances.IsSet(r.c) {
		out.Maximum = read(r, conf.ExecutorInstances)
	}
	if read(r, conf.DynamicAllocation) {
		out.Maximum = read(r, conf.DynamicMaxExecutors)
	}
	if conf.IsStock(r.c, "claim-age") {
		out.MinAge = set.allocator.Timeout
	}
	return out
}

// maxFailures is the failure limit (L11): twice the executors, at least three, without overflow.
func maxFailures(r *reader) int {
	if conf.MaxExecutorFailures.IsSet(r.c) {
		return read(r, conf.MaxExecutorFailures)
	}
	n := read(r, conf.ExecutorInstances)
	switch {
	case read(r, conf.StreamingDynamicAllocation):
		n = read(r, conf.StreamingMaxExecutors)
	case read(r, conf.DynamicAllocation):
		n = read(r, conf.DynamicMaxExecutors)
	}
	if n > math.MaxInt32/2 {
		return math.MaxInt32
	}
	return max(3, 2*n)
}
