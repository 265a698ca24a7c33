package sets

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p-exec-EXECID","namespace":"ns","labels":{"spark-exec-id":"EXECID"}},
"spec":{"volumes":[{"name":"conf","configMap":{"name":"c"}},{"name":"spark-local-dir-1","persistentVolumeClaim":{"claimName":"p-exec-EXECID-pvc-0"}}],
"containers":[{"name":"spark-kubernetes-executor","newField":1.50}]}}`

// E195: creatable claims become templates named like their volumes, which leave the pod.
func TestClaimTemplatesE195(t *testing.T) {
	claim := &corev1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: "p-exec-EXECID-pvc-0", Labels: map[string]string{"spark-app-selector": "app"}}}
	body, err := StatefulSet.Body(Template{Pod: []byte(pod), Claims: []*corev1.PersistentVolumeClaim{claim}, Namespace: "ns"},
		Change{Profile: 3, Name: "spark-s-app-3", Replicas: 4}, "app")
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	err = json.Unmarshal([]byte(`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"spark-s-app-3","namespace":"ns"},
"spec":{"replicas":4,"podManagementPolicy":"Parallel",
"selector":{"matchLabels":{"spark-app-selector":"app","spark-role":"executor","spark-exec-resourceprofile-id":"3"}},
"template":{"metadata":{"name":"p-exec-EXECID","labels":{"spark-exec-id":"EXECID"}},
"spec":{"volumes":[{"name":"conf","configMap":{"name":"c"}}],"containers":[{"name":"spark-kubernetes-executor","newField":1.50}]}},
"volumeClaimTemplates":[{"apiVersion":"v1","kind":"PersistentVolumeClaim",
"metadata":{"name":"spark-local-dir-1","labels":{"spark-app-selector":"app"}},"spec":{"resources":{}}}]}}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("StatefulSet (-want +got):\n%s", d)
	}
	if _, err := Deployment.Body(Template{Pod: []byte(pod)}, Change{}, "app"); err == nil {
		t.Error("a Deployment took a claim") // E198
	}
}

// K4, as a property over random histories: no scale call leaves fewer replicas than the executors that Spark has, a
// StatefulSet keeps each ordinal that works, and once Spark has released enough the target is reached.
func TestNoWorkingExecutorLosesItsPod(t *testing.T) {
	cost := -5
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		kind := []Kind{StatefulSet, Deployment}[r.IntN(2)]
		s := &run{t: t, r: r, a: New(Settings{Kind: kind, AppID: "app", Cost: &cost}), kind: kind, known: map[int64]time.Time{},
			pods: map[string]int64{}, costs: map[string]int{}, now: time.Unix(1000, 0), target: r.IntN(6)}
		for range 60 {
			s.step()
		}
		s.target = r.IntN(6)
		for _, id := range s.ids() {
			if len(s.known) > s.target {
				s.kill(id)
			}
		}
		if kind.ordinals { // what is free in the middle waits for those above it
			for _, id := range s.ids() {
				s.kill(id)
			}
		}
		for range 10 {
			s.now = s.now.Add(2 * time.Minute)
			s.round(false)
		}
		if s.replicas != s.target {
			t.Errorf("seed %d: %s ends with %d replicas, target %d", seed, kind.Object, s.replicas, s.target)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

type run struct {
	t        *testing.T
	r        *rand.Rand
	a        *Allocator
	kind     Kind
	now      time.Time
	target   int
	replicas int
	made     int
	nextID   int64
	known    map[int64]time.Time
	pods     map[string]int64
	costs    map[string]int
}

func (s *run) step() {
	switch s.r.IntN(5) {
	case 0:
		s.target = s.r.IntN(8)
	case 1: // an executor that comes or restarts in place
		if pods := s.sorted(); len(pods) > 0 {
			s.start(pods[s.r.IntN(len(pods))])
		}
	case 2:
		if ids := s.ids(); len(ids) > 0 && (len(ids) > s.target || s.r.IntN(4) == 0) {
			s.kill(ids[s.r.IntN(len(ids))])
		}
	case 3:
		s.now = s.now.Add(time.Duration(s.r.IntN(5)) * time.Second)
	}
	s.round(s.r.IntN(4) == 0)
}

func (s *run) start(pod string) {
	delete(s.known, s.pods[pod])
	s.nextID++
	s.a.Assigned(pod, s.nextID)
	s.known[s.nextID], s.pods[pod] = s.now, s.nextID
	s.a.Registered(s.nextID)
}

func (s *run) ids() []int64 { return slices.Sorted(maps.Keys(s.known)) }

func (s *run) kill(id int64) {
	s.a.Release([]int64{id})
	delete(s.known, id)
}

func (s *run) sorted() []string {
	var names []string
	for p := range s.pods {
		names = append(names, p)
	}
	slices.Sort(names)
	return names
}

func (s *run) round(fail bool) {
	act := s.a.Round(map[int]int{0: s.target}, s.known, s.now)
	for _, c := range act.Costs {
		if !fail {
			s.costs[c.Pod] = c.Value
		}
		s.a.Annotated(c, !fail, s.now)
	}
	for _, c := range append(act.Creates, act.Scales...) {
		o := Outcome{Change: c}
		if fail {
			o.Text = "no"
		} else {
			s.scale(c)
		}
		s.a.Answer(o, s.now)
	}
}

// scale is what the controllers do: the highest ordinals go, or the cheapest to delete.
func (s *run) scale(c Change) {
	if c.Replicas < s.replicas && c.Replicas < len(s.known) {
		s.t.Errorf("scaled to %d with %d executors", c.Replicas, len(s.known))
	}
	s.replicas = c.Replicas
	for len(s.pods) < c.Replicas {
		name := c.Name + "-" + strconv.Itoa(len(s.pods))
		if !s.kind.ordinals {
			s.made++
			name = fmt.Sprintf("%s-x-%d", c.Name, s.made)
		}
		s.pods[name] = 0
	}
	for len(s.pods) > c.Replicas {
		victim := s.victim()
		id := s.pods[victim]
		if _, works := s.known[id]; works {
			s.t.Errorf("scaling to %d took pod %s of executor %d, which works", c.Replicas, victim, id)
			delete(s.known, id)
		}
		delete(s.pods, victim)
		delete(s.costs, victim)
		s.a.Gone(victim, id)
	}
}

// victim is the pod that goes next. Of a Deployment's pods those that do not work yet go first, as pods that are not ready do.
func (s *run) victim() string {
	names := s.sorted()
	return slices.MinFunc(names, func(a, b string) int { return s.rank(a) - s.rank(b) })
}

func (s *run) rank(pod string) int {
	if s.kind.ordinals {
		n, err := strconv.Atoi(pod[len("spark-s-app-0-"):])
		if err != nil {
			s.t.Fatal(err)
		}
		return -n
	}
	if s.pods[pod] == 0 {
		return -1000
	}
	return s.costs[pod]
}
