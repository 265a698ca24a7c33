package container

import (
	"errors"
	"fmt"
	"time"

	"github.com/opencontainers/cgroups"
)

// Limits are what a container may use, as in its Spec. 0 is no limit.
type Limits struct {
	Memory    int64 // bytes
	CPUShares uint64
	CPUQuota  int64 // microseconds of CPU per 100 ms
}

// errFree says why a container has no limits and no usage.
var errFree = errors.New("no cgroup can be written here, so nothing limits and measures it")

// SetLimits changes the limits of a running container. After an error the old ones hold.
func (c *Container) SetLimits(l Limits) error {
	if c.r.free {
		return fmt.Errorf("limits of container %s: %w", c.id, errFree)
	}
	config := c.lc.Config()
	cg, res := *config.Cgroups, *config.Cgroups.Resources
	res.Memory, res.CpuShares, res.CpuQuota, res.CpuPeriod = orUnlimited(l.Memory), l.CPUShares, orUnlimited(l.CPUQuota), cpuPeriod
	if canLimitSwap() {
		res.MemorySwap = res.Memory
	}
	cg.Resources = &res
	config.Cgroups = &cg
	if err := c.lc.Set(config); err != nil {
		return fmt.Errorf("limits of container %s: %w", c.id, err)
	}
	return nil
}

// orUnlimited: to a cgroup 0 means "as it is".
func orUnlimited(n int64) int64 {
	if n == 0 {
		return -1
	}
	return n
}

// Usage is what a container uses.
type Usage struct {
	CPU        time.Duration // since its start
	Memory     uint64        // bytes, page cache included
	WorkingSet uint64        // bytes that the kernel cannot take back at once: without the page cache that nobody has touched lately
}

// Usage asks the container's cgroup.
func (c *Container) Usage() (Usage, error) {
	if c.r.free {
		return Usage{}, fmt.Errorf("usage of container %s: %w", c.id, errFree)
	}
	s, err := c.lc.Stats()
	if err != nil {
		return Usage{}, fmt.Errorf("usage of container %s: %w", c.id, err)
	}
	return usageOf(s.CgroupStats), nil
}

func usageOf(s *cgroups.Stats) Usage {
	m := s.MemoryStats
	idle := m.Stats["total_inactive_file"] // cgroup v1
	if idle == 0 {
		idle = m.Stats["inactive_file"]
	}
	return Usage{
		CPU: time.Duration(s.CpuStats.CpuUsage.TotalUsage), Memory: m.Usage.Usage, WorkingSet: m.Usage.Usage - min(idle, m.Usage.Usage),
	}
}
