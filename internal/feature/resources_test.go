package feature

import (
	"testing"

	"github.com/kubespark/kubespark/internal/sparkpod"
)

// Section D of the scenarios: requests and limits.
func TestResources(t *testing.T) {
	kind := func(k string) func(*DriverInput) { return func(in *DriverInput) { in.ResourceType = k } }
	profile := func(kv map[string]int64) func(*ExecutorInput) {
		return func(in *ExecutorInput) {
			in.Profile = sparkpod.Profile{ID: 2, ExecutorResources: map[string]sparkpod.ExecResource{}}
			for k, v := range kv {
				r := sparkpod.ExecResource{Amount: v}
				if k == "gpu" {
					r.Vendor = "nvidia.com"
				}
				in.Profile.ExecutorResources[k] = r
			}
		}
	}
	memory := func(s string) kv { return kv{"c|resources|requests|memory": s, "c|resources|limits|memory": s} }
	const f, df, ef = "spark.kubernetes.memoryOverheadFactor", "spark.driver.memoryOverheadFactor", "spark.executor.memoryOverheadFactor"
	big := kv{"spark.executor.memory": "3g", "spark.executor.pyspark.memory": "300m", "spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "150m"}
	python := kv{"spark.kubernetes.resource.type": "python", f: "0.4"}
	for k, v := range big {
		python[k] = v
	}
	const tmpl = "spec: {containers: [{name: x, resources: {requests: {cpu: 7, ephemeral-storage: 2Gi}, limits: {cpu: 9, gpu: 1, memory: 1Mi}}}]}"
	runCases(t, []podCase{
		{name: "table: defaults", role: drv, want: memory("1408Mi")},
		{name: "P103 4g jar", role: drv, conf: kv{"spark.driver.memory": "4g"}, want: memory("4505Mi")},
		{name: "P103 4g Python", role: drv, driver: kind(Python), conf: kv{"spark.driver.memory": "4g"}, want: memory("5734Mi")},
		{name: "P103 4g R", role: drv, driver: kind(R), conf: kv{"spark.driver.memory": "4g"}, want: memory("5734Mi")},
		{name: "P103 general factor", role: drv, driver: kind(Python), conf: kv{"spark.driver.memory": "4g", f: "0.3"}, want: memory("5324Mi")},
		{name: "P103 driver's factor", role: drv, driver: kind(Python), conf: kv{"spark.driver.memory": "4g", f: "0.3", df: "0.2"}, want: memory("4915Mi")},
		{name: "table: 512m Python", role: drv, driver: kind(Python), conf: kv{"spark.driver.memory": "512m"}, want: memory("896Mi")},
		{name: "table: explicit overhead", role: drv, conf: kv{"spark.driver.memory": "256m", "spark.driver.memoryOverhead": "200"}, want: memory("456Mi")},
		{name: "whole GiB keeps its words", role: drv, conf: kv{"spark.driver.memory": "4g", "spark.driver.memoryOverhead": "1g"}, want: memory("5120Mi")},
		{name: "P104 factor for executors", role: drv, driver: kind(Python), conf: kv{df: "0.2"}, want: kv{"p|" + f: "0.4"}},
		{name: "factor of 1", role: drv, conf: kv{f: "1"}, want: kv{"p|" + f: "1.0"}},
		{name: "factor of 0", role: drv, conf: kv{df: "0"}, errHas: "Ensure that memory overhead is a double greater than 0"},
		{name: "negative factor", role: drv, conf: kv{f: "-0.1"}, errHas: "Ensure that memory overhead is non-negative"},
		{name: "P105 least overhead", role: drv, conf: kv{"spark.driver.minMemoryOverhead": "500m"}, want: memory("1524Mi")},
		{name: "P105 explicit overhead wins", role: drv, conf: kv{"spark.driver.minMemoryOverhead": "500m", "spark.driver.memoryOverhead": "100"}, want: memory("1124Mi")},
		{name: "P105 executors", role: exe, conf: kv{"spark.executor.minMemoryOverhead": "500m"}, want: memory("1524Mi")},
		{name: "P106 executor's factor", role: exe, conf: kv{"spark.executor.memory": "7680m", ef: "0.2", f: "0.3"}, want: memory("9216Mi")},
		{name: "P106 general factor", role: exe, conf: kv{"spark.executor.memory": "7680m", f: "0.3"}, want: memory("9984Mi")},
		{name: "P107 Python memory", role: exe, conf: kv{"spark.executor.pyspark.memory": "42", "spark.kubernetes.resource.type": "python"}, want: memory("1450Mi")},
		{name: "P107 not for jars", role: exe, conf: kv{"spark.executor.pyspark.memory": "42", "spark.kubernetes.resource.type": "java"}, want: memory("1408Mi")},
		{name: "P108 off-heap", role: exe, conf: kv{"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "42m"}, want: memory("1450Mi")},
		{name: "P108 off-heap disabled", role: exe, conf: kv{"spark.memory.offHeap.size": "42m"}, want: memory("1408Mi")},
		{name: "P108 off-heap of 0", role: exe, conf: kv{"spark.memory.offHeap.enabled": "true"}, err: "requirement failed: spark.memory.offHeap.size must be > 0 when spark.memory.offHeap.enabled == true"},
		{name: "table: executor 3g Python", role: exe, conf: python, want: memory("4750Mi")},
		{name: "table: executor 3g jar", role: exe, conf: big, want: memory("3606Mi")},
		{name: "P109 profile", role: exe, conf: kv{"spark.kubernetes.resource.type": "python"}, executor: profile(map[string]int64{"cores": 4, "memory": 2048, "memoryOverhead": 1024, "pyspark.memory": 3072}),
			want: kv{"c|resources|requests|cpu": "4", "c|resources|requests|memory": "6144Mi", "c|env|=SPARK_EXECUTOR_CORES|value": "4", "c|env|=SPARK_EXECUTOR_MEMORY|value": "2048m"}},
		{name: "P110 profile with GPUs", role: exe, executor: profile(map[string]int64{"cores": 2, "gpu": 2}), want: kv{"c|resources": `{"limits":{"memory":"1408Mi","nvidia.com/gpu":"2"},"requests":{"cpu":"2","memory":"1408Mi"}}`}},
		{name: "table: profile", role: exe, conf: kv{"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "1m"}, executor: profile(map[string]int64{"memory": 2048, "memoryOverhead": 1024, "offHeap": 100, "cores": 3, "gpu": 2}),
			want: kv{"c|resources|requests|memory": "3172Mi", "c|resources|requests|cpu": "3", "c|resources|limits|nvidia.com/gpu": "2"}},
		{name: "P111 profile with memory alone", role: exe, executor: profile(map[string]int64{"memory": 8192}), want: memory("8576Mi")},
		{name: "P112 profile ignores settings and template", role: exe, template: tmpl, conf: kv{"spark.kubernetes.executor.limit.cores": "7", "spark.kubernetes.executor.request.cores": "100m"},
			executor: profile(map[string]int64{"cores": 3}), want: kv{"c|resources": `{"limits":{"memory":"1408Mi"},"requests":{"cpu":"3","memory":"1408Mi"}}`}},
		{name: "P113 no vendor", role: drv, conf: kv{"spark.driver.resource.gpu.amount": "2"}, err: "Resource: gpu was requested, but vendor was not specified."},
		{name: "P113 no amount", role: drv, conf: kv{"spark.driver.resource.gpu.vendor": "nvidia.com"}, err: "You must specify an amount for gpu"},
		{name: "P113 key without a dot", role: drv, conf: kv{"spark.driver.resource.gpu": "2"}, err: "You must specify an amount config for resource: gpu config: spark.driver.resource.gpu"},
		{name: "P113 amount of 0", role: drv, conf: kv{"spark.driver.resource.gpu.amount": "0"}, want: kv{"c|resources|limits": `{"memory":"1408Mi"}`}},
		{name: "P113 half an amount", role: drv, conf: kv{"spark.driver.resource.gpu.amount": "0.5"}, errHas: `For input string: "0.5"`},
		{name: "P114 devices, driver", role: drv, conf: kv{"spark.driver.resource.gpu.amount": "2", "spark.driver.resource.gpu.vendor": "nvidia.com", "spark.driver.resource.fpga.amount": "1", "spark.driver.resource.fpga.vendor": "foo.com"},
			want: kv{"c|resources": `{"limits":{"foo.com/fpga":"1","memory":"1408Mi","nvidia.com/gpu":"2"},"requests":{"cpu":"1","memory":"1408Mi"}}`}},
		{name: "P114 devices, executor", role: exe, conf: kv{"spark.executor.resource.gpu.amount": "2", "spark.executor.resource.gpu.vendor": "nvidia.com"}, want: kv{"c|resources|limits|nvidia.com/gpu": "2"}},
		{name: "P115 limit below request", role: exe, conf: kv{"spark.kubernetes.executor.limit.cores": "1", "spark.kubernetes.executor.request.cores": "2"}, err: "The executor cpu request (2) should be less than or equal to cpu limit (1)"},
		{name: "P115 at submission", role: drv, conf: kv{"spark.kubernetes.executor.limit.cores": "1", "spark.kubernetes.executor.request.cores": "2"}, err: "The executor cpu request (2) should be less than or equal to cpu limit (1)"},
		{name: "P115 before 4.1", role: exe, version: "4.0.1", conf: kv{"spark.kubernetes.executor.limit.cores": "1", "spark.kubernetes.executor.request.cores": "2"}, want: kv{"c|resources|limits|cpu": "1"}},
		{name: "P115 not for drivers", role: drv, conf: kv{"spark.kubernetes.driver.limit.cores": "1", "spark.kubernetes.driver.request.cores": "2"}, want: kv{"c|resources|limits|cpu": "1"}},
		{name: "P116 template resources", role: drv, template: tmpl, want: kv{"c|resources": `{"limits":{"cpu":"9","gpu":"1","memory":"1408Mi"},"requests":{"cpu":"1","ephemeral-storage":"2Gi","memory":"1408Mi"}}`}},
		{name: "P116 template limit below the request", role: exe, template: tmpl, conf: kv{"spark.executor.cores": "10"}, errHas: "the pod template limits cpu to 9, which is less than the request of 10"},
		{name: "P117 KiB", role: drv, conf: kv{"spark.driver.memory": "1000000k"}, want: memory("1360Mi")},
		{name: "P117 fraction", role: drv, conf: kv{"spark.executor.memoryOverhead": "1.5g"}, errHas: `[INVALID_CONF_VALUE.TYPE_MISMATCH] The value '1.5g' in the config "spark.executor.memoryOverhead" is invalid.`},
		{name: "bad quantity", role: drv, conf: kv{"spark.kubernetes.driver.limit.cores": "many"}, errHas: `spark.kubernetes.driver.limit.cores: "many" is not a quantity`},
	})
}
