package snapshot

// Supersede tells that the executor in the pod of that name was given another id: the record under its older id, if there is
// one, is Deleted from now on (K5). It says whether there was one.
func (s *Store) Supersede(name string, id int64) bool {
	old := s.ByName(name)
	if old == nil || old.ID == id {
		return false
	}
	last := *old
	last.Next = id
	s.drop(&last, false)
	return true
}
