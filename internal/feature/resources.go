package feature

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// size is what a container asks for. Texts are quantities.
type size struct {
	memory          sparkpod.Memory
	request, limit  string // CPU; an empty limit is none
	requestKey      string
	devices         map[string]sparkpod.ExecResource
	keepTemplate    bool // put beside the template's resources instead of replacing them
	limitMayBeLower bool // Spark does not compare
}

// resources sets the container's requests and limits.
func resources(b *build) error {
	s, err := sizeOf(b)
	if err != nil {
		return err
	}
	c := b.sp.Container
	if !s.keepTemplate {
		b.sp.DropInContainer("resources")
		c.Resources = corev1.ResourceRequirements{}
	}
	memory := *resource.NewQuantity(s.memory.Total()<<20, resource.BinarySI)
	requests := map[corev1.ResourceName]resource.Quantity{corev1.ResourceMemory: memory}
	limits := map[corev1.ResourceName]resource.Quantity{corev1.ResourceMemory: memory}
	b.keepQuantity(memory, fmt.Sprintf("%dMi", s.memory.Total()), "requests", "memory")
	b.keepQuantity(memory, fmt.Sprintf("%dMi", s.memory.Total()), "limits", "memory")

	cpu, err := quantity(s.requestKey, s.request)
	if err != nil {
		return err
	}
	requests[corev1.ResourceCPU] = cpu
	b.keepQuantity(cpu, s.request, "requests", "cpu")
	if s.limit != "" {
		limitKey := "spark.kubernetes." + string(b.role) + ".limit.cores"
		limit, err := quantity(limitKey, s.limit)
		if err != nil {
			return err
		}
		if !s.limitMayBeLower && limit.Cmp(cpu) < 0 {
			return fmt.Errorf("The %s cpu request (%s) should be less than or equal to cpu limit (%s)", b.role, s.request, s.limit) //nolint:staticcheck // Spark's own text
		}
		limits[corev1.ResourceCPU] = limit
		b.keepQuantity(limit, s.limit, "limits", "cpu")
	} else if has, ok := c.Resources.Limits[corev1.ResourceCPU]; ok && has.Cmp(cpu) < 0 {
		return fmt.Errorf("the pod template limits cpu to %s, which is less than the request of %s; raise it or lower %s",
			has.String(), s.request, s.requestKey)
	}
	for name, d := range s.devices {
		if d.Amount > 0 {
			limits[corev1.ResourceName(d.Vendor+"/"+name)] = *resource.NewQuantity(d.Amount, resource.DecimalSI)
		}
	}
	putQuantities(&c.Resources.Requests, requests)
	putQuantities(&c.Resources.Limits, limits)
	return nil
}

// keepQuantity has the quantity posted in the user's words where those differ from Kubernetes' own.
func (b *build) keepQuantity(q resource.Quantity, text, list, name string) {
	if q.String() != text {
		b.sp.SetInContainer(text, "resources", list, name)
	}
}

func putQuantities(to *corev1.ResourceList, entries map[corev1.ResourceName]resource.Quantity) {
	if *to == nil {
		*to = make(corev1.ResourceList, len(entries))
	}
	for k, v := range entries {
		(*to)[k] = v
	}
}

func sizeOf(b *build) (size, error) {
	if b.driver != nil {
		return driverSize(b)
	}
	memory, cores, err := executorSize(b)
	if err != nil {
		return size{}, err
	}
	p := b.executor.Profile
	s := size{
		memory: memory, request: fmt.Sprint(cores), requestKey: conf.ExecutorCores.Key(),
		devices: map[string]sparkpod.ExecResource{}, limitMayBeLower: !b.version.AtLeast(4, 1),
	}
	for name, r := range p.ExecutorResources {
		if !sparkpod.IsDevice(name) {
			continue
		}
		if r.Vendor == "" && r.Amount > 0 {
			return s, noVendor(name)
		}
		s.devices[name] = r
	}
	if p.ID != sparkpod.DefaultProfileID {
		return s, nil
	}
	s.keepTemplate = true
	return s, s.cpuFrom(b.conf, conf.ExecutorRequestCores, conf.ExecutorLimitCores)
}

// cpuFrom takes the CPU request, if set, and limit.
func (s *size) cpuFrom(c *conf.Conf, request, limit *conf.Entry[string]) error {
	text, ok, err := request.Lookup(c)
	if err != nil {
		return err
	}
	if ok {
		s.request, s.requestKey = text, request.Key()
	}
	text, ok, err = limit.Lookup(c)
	if ok && text == "" {
		_, err = quantity(limit.Key(), text)
	}
	s.limit = text
	return err
}

func driverSize(b *build) (size, error) {
	memory, err := driverMemory(b.conf, b.driver.ResourceType)
	if err != nil {
		return size{}, err
	}
	cores, err := conf.DriverCores.Get(b.conf)
	if err != nil {
		return size{}, err
	}
	devices, err := Devices(b.conf, "spark.driver.resource.")
	if err != nil {
		return size{}, err
	}
	s := size{memory: memory, request: fmt.Sprint(cores), requestKey: conf.DriverCores.Key(), devices: devices,
		keepTemplate: true, limitMayBeLower: true}
	return s, s.cpuFrom(b.conf, conf.DriverRequestCores, conf.DriverLimitCores)
}

func driverMemory(c *conf.Conf, resourceType string) (sparkpod.Memory, error) {
	factor, err := overheadFactor(c, conf.DriverMemoryOverheadFactor, resourceType)
	if err != nil {
		return sparkpod.Memory{}, err
	}
	return heapAndOverhead(c, conf.DriverMemory, conf.DriverMemoryOverhead, conf.DriverMinMemoryOverhead, factor)
}

// heapAndOverhead is the arithmetic that both roles share.
func heapAndOverhead(c *conf.Conf, heap, overhead, least *conf.Entry[int64], factor float64) (sparkpod.Memory, error) {
	var m sparkpod.Memory
	var err error
	if m.Heap, err = heap.Get(c); err != nil {
		return m, err
	}
	explicit, ok, err := overhead.Lookup(c)
	if err != nil {
		return m, err
	}
	if ok {
		m.Overhead = explicit
		return m, nil
	}
	floor, err := least.Get(c)
	m.Overhead = sparkpod.Overhead(m.Heap, factor, floor)
	return m, err
}

// overheadFactor is the role's own factor, else the general one.
func overheadFactor(c *conf.Conf, own *conf.Entry[float64], resourceType string) (float64, error) {
	if f, ok, err := own.Lookup(c); ok || err != nil {
		return f, err
	}
	return defaultOverheadFactor(c, resourceType)
}

func defaultOverheadFactor(c *conf.Conf, resourceType string) (float64, error) {
	if f, ok, err := conf.MemoryOverheadFactor.Lookup(c); ok || err != nil {
		return f, err
	}
	if resourceType == Python || resourceType == R {
		return 0.4, nil
	}
	return 0.1, nil
}

// executorSize returns memory and cores of an executor of the profile.
func executorSize(b *build) (sparkpod.Memory, int64, error) {
	c := b.conf
	resourceType, _, err := conf.ResourceType.Lookup(c)
	if err != nil {
		return sparkpod.Memory{}, 0, err
	}
	factor, err := overheadFactor(c, conf.ExecutorMemoryOverheadFactor, Java)
	if err != nil {
		return sparkpod.Memory{}, 0, err
	}
	m, err := heapAndOverhead(c, conf.ExecutorMemory, conf.ExecutorMemoryOverhead, conf.ExecutorMinMemoryOverhead, factor)
	if err != nil {
		return m, 0, err
	}
	offHeap, err := conf.OffHeapEnabled.Get(c)
	if err != nil {
		return m, 0, err
	}
	if m.OffHeap, err = offHeapMiB(c, offHeap); err != nil {
		return m, 0, err
	}
	if m.PySpark, err = conf.PySparkMemory.Get(c); err != nil {
		return m, 0, err
	}
	cores, err := conf.ExecutorCores.Get(c)
	if err != nil {
		return m, 0, err
	}
	m, n := b.executor.Profile.Apply(m, int64(cores), offHeap)
	if resourceType != Python {
		m.PySpark = 0
	}
	return m, n, nil
}

func offHeapMiB(c *conf.Conf, enabled bool) (int64, error) {
	if !enabled {
		return 0, nil
	}
	bytes, err := conf.OffHeapSize.Get(c)
	if err == nil && bytes == 0 {
		err = fmt.Errorf("requirement failed: %s must be > 0 when %s == true", conf.OffHeapSize.Key(), conf.OffHeapEnabled.Key())
	}
	return bytes >> 20, err
}

func noVendor(name string) error {
	return fmt.Errorf("Resource: %s was requested, but vendor was not specified.", name) //nolint:staticcheck // Spark's own text
}

// Devices returns the custom resources, such as gpu, of a family spark.driver.resource. or spark.executor.resource., by
// name.
func Devices(c *conf.Conf, prefix string) (map[string]sparkpod.ExecResource, error) {
	family := c.Family(prefix)
	out := map[string]sparkpod.ExecResource{}
	for _, k := range sorted(family) {
		name, _, ok := strings.Cut(k, ".")
		if !ok {
			return nil, fmt.Errorf("You must specify an amount config for resource: %s config: %s%s", k, prefix, k) //nolint:staticcheck // Spark's own text
		}
		if _, done := out[name]; done {
			continue
		}
		text, ok := family[name+".amount"]
		if !ok {
			return nil, fmt.Errorf("You must specify an amount for %s", name) //nolint:staticcheck // Spark's own text
		}
		amount, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s%s.amount: For input string: %q", prefix, name, text)
		}
		vendor := family[name+".vendor"]
		if amount > 0 && vendor == "" {
			return nil, noVendor(name)
		}
		out[name] = sparkpod.ExecResource{Amount: amount, Vendor: vendor, DiscoveryScript: family[name+".discoveryScript"]}
	}
	return out, nil
}
