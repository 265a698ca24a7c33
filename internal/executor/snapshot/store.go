package snapshot

import (
	"cmp"
	"slices"
	"time"
)

// Fact is one state that one executor pod passed through.
type Fact struct {
	Pod   *Pod
	State State // Pod.State, or Deleted for a pod that is gone
	Gone  bool  // the pod does not exist any more
	List  bool  // only a list that lacks it says so: a registered executor needs more proof (P10)
}

// List is a complete list of the application's executor pods.
type List struct {
	Pods    []*Pod
	Version uint64    // resourceVersion of the list, 0 when unknown
	Started time.Time // local time at which the list was asked for
	Cached  bool      // served from a cache that may be behind
}

// Store keeps the newest record of each executor pod. It belongs to one goroutine. Two sources may disagree: the newer
// resourceVersion wins, and a list proves the absence only of pods it could have seen (T5).
type Store struct {
	pods   map[int64]*entry
	names  map[string]int64
	gone   IDSet // ids whose pod was seen and is gone; ids are never reused
	fullAt time.Time
	queues []*Queue
	counts [Terminating + 1]int
}

type entry struct {
	pod  *Pod
	seen time.Time // local time of the newest look
}

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{pods: map[int64]*entry{}, names: map[string]int64{}}
}

// Queue is one reader's list of changes since its last Drain, in the order they happened.
type Queue struct {
	facts  []Fact
	finals int // of facts, those in a final state
}

func (q *Queue) add(f Fact) {
	q.facts = append(q.facts, f)
	if f.State.Final() {
		q.finals++
	}
}

// Subscribe adds a reader. It sees the pods that are already known as its first facts.
func (s *Store) Subscribe() *Queue {
	q := &Queue{}
	for _, p := range s.Pods() {
		q.add(Fact{Pod: p, State: p.State})
	}
	s.queues = append(s.queues, q)
	return q
}

// Drain returns what happened since the last call, possibly nothing.
func (q *Queue) Drain() []Fact {
	facts := q.facts
	q.facts, q.finals = nil, 0
	return facts
}

// Pending says whether Drain would return facts.
func (q *Queue) Pending() bool { return len(q.facts) > 0 }

// HasFinal says whether a fact is waiting that the lifecycle manager acts on.
func (q *Queue) HasFinal() bool { return q.finals > 0 }

// Update takes one pod from a watch event, a create's answer or a read. It says whether anything changed.
func (s *Store) Update(p *Pod, now time.Time) bool {
	if p == nil || s.gone.Has(p.ID) {
		return false
	}
	old := s.pods[p.ID]
	if old != nil {
		if old.pod.UID != p.UID && old.pod.Version > p.Version && p.Version != 0 {
			return false
		}
		if old.pod.UID == p.UID && old.pod.Version >= p.Version && p.Version != 0 {
			if now.After(old.seen) {
				old.seen = now
			}
			return false
		}
	}
	s.put(p, now)
	if old == nil || old.pod.State != p.State || old.pod.Deleting != p.Deleting || old.pod.Inactive != p.Inactive {
		s.tell(Fact{Pod: p, State: p.State})
	}
	return true
}

func (s *Store) put(p *Pod, now time.Time) {
	if old := s.pods[p.ID]; old != nil {
		s.counts[old.pod.State]--
		if old.pod.Name != p.Name {
			delete(s.names, old.pod.Name)
		}
	}
	s.counts[p.State]++
	s.pods[p.ID] = &entry{pod: p, seen: now}
	s.names[p.Name] = p.ID
}

// Remove takes the news that a pod is gone: a DELETED event or a read that answered 404. last is the record as the event
// carried it, nil when there is none.
func (s *Store) Remove(id int64, last *Pod, now time.Time) bool {
	old := s.pods[id]
	if old == nil && (last == nil || s.gone.Has(id)) {
		return false
	}
	if old != nil && last != nil && old.pod.UID != last.UID {
		return false // news of another pod that had this id
	}
	if last != nil && (last.State == Failed || last.State == Succeeded) {
		s.Update(last, now) // its end is a fact of its own (T4)
	} else if last == nil {
		last = old.pod
	}
	s.drop(last, false)
	return true
}

func (s *Store) drop(p *Pod, byList bool) {
	if old := s.pods[p.ID]; old != nil {
		s.counts[old.pod.State]--
		delete(s.names, old.pod.Name)
	}
	delete(s.pods, p.ID)
	s.gone.Add(p.ID)
	s.tell(Fact{Pod: p, State: Deleted, Gone: true, List: byList})
}

// Replace takes a complete list. It returns the executors in doubt: their pods are not in the list, yet were seen after it was
// asked for, and a watch from its version on may never tell of them again.
func (s *Store) Replace(l List) (doubtful []int64) {
	here := make(map[int64]bool, len(l.Pods))
	for _, p := range l.Pods {
		here[p.ID] = true
		s.Update(p, l.Started)
	}
	for _, p := range s.Pods() {
		if here[p.ID] {
			continue
		}
		switch s.absence(l, p) {
		case absent:
			s.drop(p, true)
		case unsure:
			doubtful = append(doubtful, p.ID)
		}
	}
	s.Confirm(l.Started)
	return doubtful
}

// What a list without a pod says of it.
const (
	nothing = iota // the list is older than the last look at the pod
	unsure         // newer by its version, but asked for before
	absent         // the pod is gone
)

// absence judges a list without the pod. One from a cache proves anything by its version only.
func (s *Store) absence(l List, p *Pod) int {
	switch {
	case l.Cached && p.Version < l.Version:
		return absent
	case l.Cached || l.Version != 0 && p.Version > l.Version:
		return nothing
	case s.pods[p.ID].seen.After(l.Started):
		return unsure
	}
	return absent
}

// Confirm says that the store was complete at a time: a complete list started then, or a bookmark arrived.
func (s *Store) Confirm(at time.Time) {
	if at.After(s.fullAt) {
		s.fullAt = at
	}
}

// FullAt is the newest time at which the store was complete; zero before the first list: fullSnapshotTs.
func (s *Store) FullAt() time.Time { return s.fullAt }

// Get returns the record of an executor, nil when there is none.
func (s *Store) Get(id int64) *Pod {
	if e := s.pods[id]; e != nil {
		return e.pod
	}
	return nil
}

// ByName returns the record of the pod of that name, nil when there is none.
func (s *Store) ByName(name string) *Pod { return s.Get(s.names[name]) }

// Gone says whether the executor's pod was seen once and does not exist any more.
func (s *Store) Gone(id int64) bool { return s.gone.Has(id) }

// Count is the number of pods in a state.
func (s *Store) Count(state State) int { return s.counts[state] }

// Len is the number of pods.
func (s *Store) Len() int { return len(s.pods) }

// Pods returns all records in ascending order of their ids.
func (s *Store) Pods() []*Pod {
	out := make([]*Pod, 0, len(s.pods))
	for _, e := range s.pods {
		out = append(out, e.pod)
	}
	slices.SortFunc(out, func(a, b *Pod) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (s *Store) tell(f Fact) {
	for _, q := range s.queues {
		q.add(f)
	}
}
