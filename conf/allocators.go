package conf

// The allocators of spark.kubernetes.allocation.pods.allocator that run here.
const (
	DirectAllocator      = "direct"
	StatefulSetAllocator = "statefulset"
	DeploymentAllocator  = "deployment" // from Spark 4.2 on
)

const allocatorPackage = "org.apache.spark.scheduler.cluster.k8s."

// AllocatorOf names the allocator of a configuration by its short name, whether the user gave that or the class of Spark
// that it stands for. ok is false for any other class, and for one that this Spark does not have.
func AllocatorOf(c *Conf) (name string, ok bool, err error) {
	name, err = PodsAllocator.Get(c)
	if err != nil {
		return "", false, err
	}
	switch name {
	case DirectAllocator, allocatorPackage + "ExecutorPodsAllocator":
		return DirectAllocator, true, nil
	case StatefulSetAllocator, allocatorPackage + "StatefulSetPodsAllocator":
		return StatefulSetAllocator, true, nil
	case DeploymentAllocator, allocatorPackage + "DeploymentPodsAllocator":
		return DeploymentAllocator, c.Version().AtLeast(4, 2), nil
	}
	return name, false, nil
}
