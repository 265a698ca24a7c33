package allocator

import "fmt"

// idBlock is how many ids are reserved at a time (design, decided 9).
const idBlock = 100

// ids hands out reserved executor ids.
type ids struct {
	reserved int64 // highest id ever reserved
	skip     int64 // ids up to this one belong to pods of an earlier life
	blocks   [][2]int64
	asking   bool
	said     bool
}

// Reserved takes a block of ids, both ends inclusive. A failed reservation has from > to.
func (a *Allocator) Reserved(from, to int64) {
	a.ids.asking = false
	if from <= to {
		a.ids.reserved = max(a.ids.reserved, to)
		a.ids.blocks = append(a.ids.blocks, [2]int64{from, to})
	}
}

// SkipIDs keeps ids up to highest out of use: pods of an earlier life of the driver carry them.
func (a *Allocator) SkipIDs(highest int64) { a.ids.skip = max(a.ids.skip, highest) }

func (i *ids) take() (int64, bool) {
	for len(i.blocks) > 0 {
		b := &i.blocks[0]
		b[0] = max(b[0], i.skip+1)
		if b[0] > b[1] {
			i.blocks = i.blocks[1:]
			continue
		}
		b[0]++
		return b[0] - 1, true
	}
	return 0, false
}

func (i *ids) left() int64 {
	var n int64
	for _, b := range i.blocks {
		n += max(0, b[1]-max(b[0], i.skip+1)+1)
	}
	return n
}

// reserve asks for ids when the queue needs more than there are.
func (a *Allocator) reserve(act *Actions) {
	wanted := 0
	for _, n := range a.queued {
		wanted += n
	}
	if a.ids.asking || int64(wanted) <= a.ids.left() {
		return
	}
	n := min(idBlock, a.set.Maximum-a.ids.reserved)
	if n > 0 {
		act.Reserve, a.ids.asking = int(n), true
		return
	}
	if a.ids.left() == 0 {
		clear(a.queued)
	}
	if !a.ids.said {
		a.ids.said = true
		act.logf("ERROR", fmt.Sprintf("Exceed the pod creation limit: %d", a.set.Maximum))
	}
}
