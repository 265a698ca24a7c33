package snapshot

// IDSet is a set of executor ids. Ids are small, dense and never reused, so a bitmap holds every id an application ever
// had in a few kilobytes.
type IDSet struct{ words []uint64 }

// Add puts an id into the set and says whether it was new. Ids below zero are ignored.
func (s *IDSet) Add(id int64) bool {
	if id < 0 || s.Has(id) {
		return false
	}
	w := int(id / 64)
	for len(s.words) <= w {
		s.words = append(s.words, 0)
	}
	s.words[w] |= 1 << (id % 64)
	return true
}

// Remove takes an id out of the set.
func (s *IDSet) Remove(id int64) {
	if id >= 0 && int(id/64) < len(s.words) {
		s.words[id/64] &^= 1 << (id % 64)
	}
}

// Has says whether the id is in the set.
func (s *IDSet) Has(id int64) bool {
	return id >= 0 && int(id/64) < len(s.words) && s.words[id/64]&(1<<(id%64)) != 0
}
