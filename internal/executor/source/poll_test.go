package source

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// versions is a cluster whose lists have the given versions, one after the other.
type versions struct {
	scripted
	list []uint64
}

func (v *versions) ListPods(context.Context, string, func(*snapshot.Wire)) (string, error) {
	n := v.list[0]
	v.list = v.list[1:]
	return strconv.FormatUint(n, 10), nil
}

// E065: of lists from the cache one that is older than the last is ignored; versions are unsigned 64-bit numbers.
func TestVersionsE065(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &versions{list: []uint64{50, 40, 50, 18446744073709551615}}
		d := &diary{}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			NewPoll(c, &snapshot.Reader{}, d, time.Second, true, func() bool { return len(c.list) > 0 }).Run(ctx)
		}()
		sleep(10 * time.Second)
		var taken []uint64
		for _, l := range d.lists {
			taken = append(taken, l.Version)
		}
		if len(taken) != 3 || taken[0] != 50 || taken[1] != 50 || taken[2] != 18446744073709551615 {
			t.Errorf("taken: %v", taken)
		}
		cancel()
		<-done
	})
}
