package sparkpod

// Memory is what a container's memory is made of, in MiB.
type Memory struct {
	Heap, Overhead, OffHeap, PySpark int64
}

// Total is the container's memory request and limit.
func (m Memory) Total() int64 { return m.Heap + m.Overhead + m.OffHeap + m.PySpark }

// Overhead returns the memory beside the heap: the factor's part of it, cut towards zero, but at least least. All amounts
// are MiB.
func Overhead(heap int64, factor float64, least int64) int64 {
	return max(int64(factor*float64(heap)), least)
}

// Names of the built-in resources of a profile.
const (
	ResourceCores    = "cores"
	ResourceMemory   = "memory"
	ResourceOverhead = "memoryOverhead"
	ResourcePySpark  = "pyspark.memory"
	ResourceOffHeap  = "offHeap"
)

// IsDevice says whether a profile's resource is one of the user's, such as gpu.
func IsDevice(name string) bool {
	switch name {
	case ResourceCores, ResourceMemory, ResourceOverhead, ResourcePySpark, ResourceOffHeap:
		return false
	}
	return true
}

// Apply returns the memory and cores of an executor of the profile. memory and cores are the application's own, which a
// profile overrides entry by entry: one that sets memory alone keeps the overhead of the application's executors. The
// default profile is the application's settings, so it changes nothing.
func (p Profile) Apply(memory Memory, cores int64, offHeapEnabled bool) (Memory, int64) {
	if p.ID == DefaultProfileID {
		return memory, cores
	}
	for name, r := range p.ExecutorResources {
		switch name {
		case ResourceCores:
			cores = r.Amount
		case ResourceMemory:
			memory.Heap = r.Amount
		case ResourceOverhead:
			memory.Overhead = r.Amount
		case ResourcePySpark:
			memory.PySpark = r.Amount
		case ResourceOffHeap:
			memory.OffHeap = 0
			if offHeapEnabled {
				memory.OffHeap = r.Amount
			}
		}
	}
	return memory, cores
}
