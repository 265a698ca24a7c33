package allocator

import (
	"testing"
	"time"

	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// D1: a create without an answer whose pod a look does not find is given up ten seconds after it was sent, not before, and
// its id is never used again.
func TestAbsentGivesUpTheID(t *testing.T) {
	h := newHouse(t, nil)
	h.a.SetTargets(map[int]int{0: 1})
	h.round()
	h.a.Answer(Outcome{ID: 1, Kind: Lost}, h.now)
	h.wants("looked at", h.round().Resolve, []Create{{ID: 1}})
	h.a.Answer(Outcome{ID: 1, Kind: Absent}, h.now)
	h.wants("may still land", len(h.round().Creates), 0)
	h.now = h.now.Add(10 * time.Second)
	h.wants("looked at again", h.round().Resolve, []Create{{ID: 1}})
	h.a.Answer(Outcome{ID: 1, Kind: Absent}, h.now)
	h.wants("another id", h.created(h.round()), []int64{2})
}

// What was not sent yet is taken back when the target falls, and only as much as is too many.
func TestWithdraw(t *testing.T) {
	h := newHouse(t, nil)
	h.a.SetTargets(map[int]int{0: 3})
	h.wants("creates", len(h.round().Creates), 3)
	h.wants("wanted", h.a.Withdraw(1), false)
	h.a.SetTargets(map[int]int{0: 1})
	h.wants("too many", h.a.Withdraw(1), true)
	h.wants("twice", h.a.Withdraw(1), false)
	h.wants("still too many", h.a.Withdraw(2), true)
	h.wants("the last", h.a.Withdraw(3), false)
	h.wants("in flight", h.a.InFlight(), 1)
	h.a.Answer(Outcome{ID: 1, Kind: Withdrawn}, h.now)
	h.wants("in flight after the answer", h.a.InFlight(), 1)
}

// A pod that a source shows although its create was not answered may lack what is made after it.
func TestShown(t *testing.T) {
	h := newHouse(t, nil)
	h.a.SetTargets(map[int]int{0: 2})
	h.round()
	h.a.Answer(Outcome{ID: 1, Kind: Lost}, h.now)
	h.show(1, 0, snapshot.Pending)
	h.show(2, 0, snapshot.Pending)
	h.wants("shown", h.round().Shown, []int64{1})
}
