package sparkpod

import "testing"

func TestOverhead(t *testing.T) {
	for _, tc := range []struct {
		heap   int64
		factor float64
		least  int64
		want   int64
	}{
		{1024, 0.1, 384, 384},
		{4096, 0.1, 384, 409},
		{4096, 0.4, 384, 1638},
		{512, 0.4, 384, 384},
		{3072, 0.4, 384, 1228},
		{1024, 0.1, 500, 500},
		{7680, 0.2, 384, 1536},
		{7680, 0.3, 384, 2304},
		{10, 0, 0, 0},
	} {
		if got := Overhead(tc.heap, tc.factor, tc.least); got != tc.want {
			t.Errorf("Overhead(%d, %v, %d) = %d, want %d", tc.heap, tc.factor, tc.least, got, tc.want)
		}
	}
}

func TestProfileApply(t *testing.T) { // PR3, P109, P111
	app := Memory{Heap: 1024, Overhead: 384, OffHeap: 50, PySpark: 300}
	res := func(kv map[string]int64) Profile {
		p := Profile{ID: 1, ExecutorResources: map[string]ExecResource{}}
		for k, v := range kv {
			p.ExecutorResources[k] = ExecResource{Amount: v}
		}
		return p
	}
	for _, tc := range []struct {
		name    string
		p       Profile
		offHeap bool
		total   int64
		cores   int64
	}{
		{"nothing set", res(nil), true, 1758, 2},
		{"memory keeps the application's overhead", res(map[string]int64{"memory": 8192}), true, 8192 + 384 + 350, 2},
		{"all set", res(map[string]int64{"memory": 2048, "memoryOverhead": 1024, "offHeap": 100, "pyspark.memory": 7, "cores": 3}), true, 3179, 3},
		{"off-heap is off", res(map[string]int64{"offHeap": 100}), false, 1708, 2},
		{"the default profile changes nothing", Profile{ExecutorResources: map[string]ExecResource{"memory": {Amount: 1}}}, true, 1758, 2},
	} {
		m, cores := tc.p.Apply(app, 2, tc.offHeap)
		if m.Total() != tc.total || cores != tc.cores {
			t.Errorf("%s: %d MiB, %d cores; want %d, %d", tc.name, m.Total(), cores, tc.total, tc.cores)
		}
	}
}
