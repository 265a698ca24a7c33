package container

import (
	"testing"
	"time"
)

// The limits of a running container change, and what it uses can be asked for.
func TestLimitsOfARunningContainer(t *testing.T) {
	r := newRuntime(t)
	var out output
	s := sh("grows", `exec /usr/bin/python3 -c '
x = bytearray(40 << 20)
print("up", flush=True)
while True: pass'`, &out)
	s.MemoryLimit = 64 << 20
	c, err := r.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Kill(); err != nil {
			t.Error(err)
		}
		<-c.Done()
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
	}()
	deadline := time.Now().Add(20 * time.Second)
	for out.String() != "up\n" && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if err := c.SetLimits(Limits{Memory: 96 << 20, CPUShares: 512}); err != nil {
		t.Fatal(err)
	}
	if got := c.lc.Config().Cgroups.Resources; got.Memory != 96<<20 || got.CpuShares != 512 {
		t.Errorf("limits now %+v", got)
	}
	u, err := c.Usage()
	if err != nil || u.WorkingSet < 40<<20 || u.WorkingSet > 96<<20 || u.Memory < u.WorkingSet || u.CPU <= 0 {
		t.Errorf("usage %+v, %v", u, err)
	}
	if err := c.SetLimits(Limits{}); err != nil {
		t.Errorf("no limits at all: %v", err)
	}
}
