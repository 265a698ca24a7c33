package sparkpod

// DefaultProfileID is the id of the profile made from the application's own settings.
const DefaultProfileID = 0

// Profile is Spark's ResourceProfile as the bridge carries it. Memory amounts are MiB.
type Profile struct {
	ID                int                     `json:"id"`
	ExecutorResources map[string]ExecResource `json:"executorResources"`
	TaskResources     map[string]TaskResource `json:"taskResources"`
}

// ExecResource is one entry of ResourceProfile.executorResources: "cores", "memory", "memoryOverhead", "pyspark.memory",
// "offHeap", or a custom resource such as "gpu".
type ExecResource struct {
	Amount          int64  `json:"amount"`
	Vendor          string `json:"vendor"`
	DiscoveryScript string `json:"discoveryScript"`
}

// TaskResource is one entry of ResourceProfile.taskResources, "cpus" for instance.
type TaskResource struct {
	Amount float64 `json:"amount"`
}
