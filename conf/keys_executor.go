package conf

import (
	"math"
	"time"
)

// The keys that kubespark-manager reads: allocation, sources, lifecycle and the driver's end (spec executor-management,
// section 1). Keys of the pod itself are in keys_pod.go.
var (
	AllocationBatchSize = Int("spark.kubernetes.allocation.batch.size", DefaultFor(batchSize), Check(positiveInt,
		"Allocation batch size should be a positive integer"), Since("2.3.0"),
		Doc("Pods created per round and resource profile. Without it and batch.delay kubespark creates as many as the server takes."))
	AllocationBatchDelay = Millis("spark.kubernetes.allocation.batch.delay", time.Millisecond, Default(time.Second),
		Check(func(d time.Duration) bool { return d > 100*time.Millisecond }, "Allocation batch delay must be greater than 0.1s."),
		Since("2.3.0"), Doc("Time between two rounds of pod creation."))
	AllocationMaximum = Int("spark.kubernetes.allocation.maximum", Default(math.MaxInt32), Check(positiveInt,
		"Allocation maximum should be a positive integer"), Since("4.1.0"),
		Doc("Executor pods that one application may create in all."))
	AllocationMaxPending = Int("spark.kubernetes.allocation.maxPendingPods", Default(math.MaxInt32), Check(positiveInt,
		"Maximum number of pending pods should be a positive integer"), Since("3.2.0"),
		Doc("Executor pods that may be pending at a time, all resource profiles together."))
	AllocationMaxPendingPerRP = Int("spark.kubernetes.allocation.maxPendingPodsPerRp", Default(math.MaxInt32), Check(positiveInt,
		"Maximum number of pending pods per rp id should be a positive integer"), Since("4.1.0"),
		Doc("Executor pods of one resource profile that may be pending at a time."))
	AllocationExecutorTimeout = Millis("spark.kubernetes.allocation.executor.timeout", time.Millisecond,
		Default(600*time.Second), Check(positive, "Allocation executor timeout must be a positive time value."), Since("3.1.0"),
		Doc("How long a created pod that nobody sees is waited for."))
	AllocationReadinessTimeout = Millis("spark.kubernetes.allocation.driver.readinessTimeout", time.Second,
		Default(time.Second), Check(positive, "Allocation driver readiness timeout must be a positive time value."),
		Since("3.1.3"), Doc("How long the first executor waits for the driver pod to be ready."))
	APIPollingInterval = Millis("spark.kubernetes.executor.apiPollingInterval", time.Millisecond, Default(30*time.Second),
		Check(positive, "API server polling interval must be a positive time value."), Since("2.4.0"),
		Doc("Time between two full lists of the executor pods."))
	EventProcessingInterval = Millis("spark.kubernetes.executor.eventProcessingInterval", time.Millisecond,
		Default(time.Second), Check(positive, "Event processing interval must be a positive time value."), Since("2.4.0"),
		Doc("Longest time that the end of an executor pod waits to be handled."))
	EnableAPIPolling = Bool("spark.kubernetes.executor.enableApiPolling", Default(true), Since("3.4.0"),
		Doc("Whether executor pods are listed from time to time."))
	EnableAPIWatcher = Bool("spark.kubernetes.executor.enableApiWatcher", Default(true), Since("3.4.0"),
		Doc("Whether executor pods are watched."))
	PollingWithVersion = Bool("spark.kubernetes.executor.enablePollingWithResourceVersion", Default(false), Since("3.3.0"),
		Doc("Whether lists are served from the API server's cache."))
	MissingPodDetectDelta = Millis("spark.kubernetes.executor.missingPodDetectDelta", time.Millisecond,
		Default(30*time.Second), Check(positive, "delay must be a positive time value"), Since("3.1.1"),
		Doc("How long after its registration an executor without a pod is taken as lost."))
	ExecutorDeleteOnTermination = Bool("spark.kubernetes.executor.deleteOnTermination", Default(true), Since("3.0.0"),
		Doc("Whether ended executor pods are deleted; otherwise they are labelled and kept."))
	CheckAllContainers = Bool("spark.kubernetes.executor.checkAllContainers", Default(true), Since("3.1.0"),
		Doc("Whether an executor has failed as soon as any container of its pod has."))
	DecommissionLabel = String("spark.kubernetes.executor.decommissionLabel", Since("3.3.0"),
		Doc("Label that an executor pod gets when Spark releases it."))
	DecommissionLabelValue = String("spark.kubernetes.executor.decommissionLabelValue", Since("3.3.0"),
		Doc("Value of that label."))
	PodDeletionCost = Int("spark.kubernetes.executor.podDeletionCost", Since("4.2.0"),
		Doc("Deletion cost written on a released executor's pod, with the deployment allocator; below 0, so that it goes first."))
	DeleteGracePeriod = Millis("spark.kubernetes.dynamicAllocation.deleteGracePeriod", time.Millisecond,
		Default(5*time.Second), Since("3.0.0"), Doc("How long a killed executor may take to end by itself."))
	ServiceDeleteOnTermination = Bool("spark.kubernetes.driver.service.deleteOnTermination", Default(true), Since("3.2.0"),
		Doc("Whether the driver's Services are deleted at the end of the application."))
	OwnClaims = Bool("spark.kubernetes.driver.ownPersistentVolumeClaim", Default(true), Since("3.2.0"),
		Doc("Whether the driver pod owns the executors' on-demand claims."))
	ReuseClaims = Bool("spark.kubernetes.driver.reusePersistentVolumeClaim", Default(true), Since("3.2.0"),
		Doc("Whether free claims of the driver are given to new executors."))
	WaitToReuseClaims = Bool("spark.kubernetes.driver.waitToReusePersistentVolumeClaim", Default(false), Since("3.4.0"),
		Doc("Whether executors wait for a free claim when as many exist as all executors need."))
	DeletedExecutorsCacheTimeout = Millis("spark.kubernetes.executor.deletedExecutorsCacheTimeout", time.Second,
		Default(180*time.Second), Check(func(d time.Duration) bool { return d >= 0 },
			"deletedExecutorsCacheTimeout must be non-negative"), Since("4.1.0"),
		Doc("With the difference report-once off: how long an executor whose pod stays is not reported to Spark again."))
	PendingTimeout = Millis("spark.kubespark.executor.pendingTimeout", time.Second, Default(time.Duration(0)),
		Doc("How long an executor pod may be pending before it is replaced; 0 is for ever."))
	DriverRequestTimeout = Int("spark.kubernetes.driver.requestTimeout", Default(10000), Since("3.0.0"),
		Doc("Milliseconds that a request of the driver to the API server may take."))
	DriverConnectionTimeout = Int("spark.kubernetes.driver.connectionTimeout", Default(10000), Since("3.0.0"),
		Doc("Milliseconds that the driver may take to connect to the API server."))
	ExecutorInstances = Int("spark.executor.instances", Since("1.0.0"), Doc("Number of executors; 2 when unset."))
	DynamicAllocation = Bool("spark.dynamicAllocation.enabled", Default(false), Since("1.2.0"),
		Doc("Whether Spark changes the number of executors as it goes."))
	DynamicMaxExecutors = Int("spark.dynamicAllocation.maxExecutors", Default(math.MaxInt32), Since("1.2.0"),
		Doc("Largest number of executors with dynamic allocation."))
	DynamicIdleTimeout = Millis("spark.dynamicAllocation.executorIdleTimeout", time.Second, Default(60*time.Second),
		Check(func(d time.Duration) bool { return d >= 0 }, "Timeout must be >= 0."), Since("1.2.0"),
		Doc("Idle time of an executor before it is released; pending pods younger than it are not taken back."))
	StreamingDynamicAllocation = Bool("spark.streaming.dynamicAllocation.enabled", Default(false), Since("3.0.0"),
		Doc("Dynamic allocation of streaming applications."))
	StreamingMaxExecutors = Int("spark.streaming.dynamicAllocation.maxExecutors", Default(math.MaxInt32), Since("3.0.0"),
		Doc("Largest number of executors with it."))
	MaxExecutorFailures = Int("spark.executor.maxNumFailures", Since("3.5.0"),
		Doc("Executor failures after which the application ends with exit code 11."))
	ExecutorFailuresValidity = Millis("spark.executor.failuresValidityInterval", time.Millisecond, Since("3.5.0"),
		Doc("How long an executor failure counts; without it for ever."))
)

func batchSize(v Version) int {
	if v.AtLeast(4, 2) {
		return 20
	}
	return 10
}

func positiveInt(n int) bool { return n > 0 }

func positive(d time.Duration) bool { return d > 0 }

// executorKeys lists the keys of this file.
func executorKeys() []Key {
	return []Key{AllocationBatchSize, AllocationBatchDelay, AllocationMaximum, AllocationMaxPending,
		AllocationMaxPendingPerRP, AllocationExecutorTimeout, AllocationReadinessTimeout, APIPollingInterval,
		EventProcessingInterval, EnableAPIPolling, EnableAPIWatcher, PollingWithVersion, MissingPodDetectDelta,
		ExecutorDeleteOnTermination, CheckAllContainers, DecommissionLabel, DecommissionLabelValue, PodDeletionCost,
		DeleteGracePeriod,
		ServiceDeleteOnTermination, OwnClaims, ReuseClaims, WaitToReuseClaims,
		DeletedExecutorsCacheTimeout, PendingTimeout, DriverRequestTimeout, DriverConnectionTimeout, ExecutorInstances,
		DynamicAllocation, DynamicMaxExecutors, DynamicIdleTimeout, StreamingDynamicAllocation, StreamingMaxExecutors,
		MaxExecutorFailures, ExecutorFailuresValidity}
}
