package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// plan is what a seed draws before the run begins.
type plan struct {
	conf        map[string]string
	initial     int
	most        int // executors of one profile
	profiles    int
	maxPending  int // 0: the default
	perProfile  int
	driver      bool
	driverReady time.Duration
	storm       time.Duration
	skew        time.Duration // of the server's clock
	grace       time.Duration // of kills
	deletes     bool          // deleteOnTermination

	nodes, room int
	slowKubelet time.Duration
	crash       float64       // share of the executors that crash
	harm        time.Duration // mean time between harms to the cluster, 0: none
	watchLife   time.Duration // mean life of a watch, 0: long
	slowEvents  float64
	lossy       bool // watch events may be lost: the user lists too
	refuse      float64
	lose        float64
	slowAnswers float64
	weather     bool
	deaths      float64 // chance of the manager's death at each event
	acts        time.Duration
	stormyStop  bool
}

func pickOf[T any](r *rand.Rand, v ...T) T { return v[r.IntN(len(v))] }

func draw(r *rand.Rand) plan {
	p := plan{
		initial: r.IntN(7), most: 2 + r.IntN(8), profiles: pickOf(r, 1, 1, 2, 3), driver: r.IntN(20) > 0,
		driverReady: pickOf(r, 0, 0, 3*time.Second), storm: time.Minute + time.Duration(r.IntN(240))*time.Second,
		skew: pickOf(r, 0, 0, 90*time.Second, -90*time.Second), grace: pickOf(r, 2*time.Second, 5*time.Second, 20*time.Second),
		deletes: r.IntN(8) > 0, nodes: 1 + r.IntN(4), room: 2 + r.IntN(8),
		slowKubelet: pickOf(r, 0, 0, 10*time.Second, 50*time.Second), crash: pickOf(r, 0, 0.1, 0.4),
		harm: pickOf(r, 0, 10*time.Second, 30*time.Second), watchLife: pickOf(r, 0, 5*time.Second, 30*time.Second),
		slowEvents: pickOf(r, 0, 0.05, 0.2), lossy: r.IntN(4) == 0, refuse: pickOf(r, 0, 0.03, 0.15), lose: pickOf(r, 0, 0.03, 0.15),
		slowAnswers: pickOf(r, 0, 0.05, 0.2), weather: r.IntN(3) == 0, deaths: pickOf(r, 0, 0, 0.003, 0.01),
		acts: pickOf(r, 8*time.Second, 20*time.Second), stormyStop: r.IntN(5) == 0,
	}
	p.settings(r)
	return p
}

func (p *plan) settings(r *rand.Rand) {
	c := map[string]string{
		"spark.executor.maxNumFailures":                        "100000",
		"spark.kubernetes.driver.pod.name":                     driverPod,
		"spark.kubernetes.executor.deleteOnTermination":        strconv.FormatBool(p.deletes),
		"spark.dynamicAllocation.executorIdleTimeout":          pickOf(r, "60s", "5s"),
		"spark.kubernetes.dynamicAllocation.deleteGracePeriod": p.grace.String(),
		"spark.kubernetes.executor.missingPodDetectDelta":      pickOf(r, "30s", "5s"),
		"spark.kubernetes.executor.eventProcessingInterval":    pickOf(r, "1s", "3s"),
		"spark.kubernetes.allocation.driver.readinessTimeout":  pickOf(r, "1s", "5s"),
	}
	if !p.driver {
		delete(c, "spark.kubernetes.driver.pod.name")
	}
	if r.IntN(3) == 0 {
		p.maxPending = 1 + r.IntN(5)
		c["spark.kubernetes.allocation.maxPendingPods"] = fmt.Sprint(p.maxPending)
		if r.IntN(2) == 0 {
			p.perProfile = 1 + r.IntN(p.maxPending)
			c["spark.kubernetes.allocation.maxPendingPodsPerRp"] = fmt.Sprint(p.perProfile)
		}
	}
	if r.IntN(3) == 0 {
		c["spark.kubernetes.allocation.batch.size"] = fmt.Sprint(1 + r.IntN(4))
		c["spark.kubernetes.allocation.batch.delay"] = pickOf(r, "500ms", "2s")
	}
	switch r.IntN(4) {
	case 0:
		p.lossy = true
		c["spark.kubernetes.executor.apiPollingInterval"] = pickOf(r, "5s", "20s")
	case 1:
		p.lossy = false
		c["spark.kubernetes.executor.enableApiWatcher"] = pickOf(r, "true", "false")
		c["spark.kubernetes.executor.enablePollingWithResourceVersion"] = pickOf(r, "true", "false")
	default:
		p.lossy = false
	}
	if r.IntN(4) == 0 {
		c["spark.kubernetes.executor.decommissionLabel"] = "gone"
	}
	if r.IntN(4) == 0 {
		volume := "spark.kubernetes.executor.volumes.persistentVolumeClaim.data."
		c[volume+"options.claimName"], c[volume+"options.storageClass"] = "OnDemand", "fast"
		c[volume+"options.sizeLimit"], c[volume+"mount.path"] = "1Gi", "/data"
		c["spark.kubernetes.driver.ownPersistentVolumeClaim"] = pickOf(r, "true", "false")
		c["spark.kubernetes.driver.reusePersistentVolumeClaim"] = c["spark.kubernetes.driver.ownPersistentVolumeClaim"]
	}
	p.conf = c
}

// fate is what becomes of a request.
type fate int

const (
	served       fate = iota
	lostRequest       // the connection breaks before it arrives
	lostAnswer        // and after it was carried out
	refusedDial       // nobody listens
	throttled         // 429
	brokenServer      // 500
	overQuota         // 403
	forbidden         // 403
	gone              // 410
)

func (f fate) label() string {
	return [...]string{"", " (lost)", " (its answer will be lost)", " (no server)", " (429)", " (500)", " (quota)", " (403)", " (410)"}[f]
}

func (w *world) fate(q *request) fate {
	if !w.stormy || (w.lives == 1 && !q.l.started) {
		return served
	}
	create := q.verb == "POST" && q.resource == "pods"
	if f := w.cluster.weather; f == refusedDial || f == brokenServer || (create && f != served) {
		return f
	}
	x, p := w.rng.Float64(), w.plan
	switch {
	case x >= p.lose:
		return w.refusal(q, x-p.lose, create)
	case x < p.lose/2 || q.isWatch():
		return lostRequest
	}
	return lostAnswer
}

func (w *world) refusal(q *request, x float64, create bool) fate {
	switch p := w.plan.refuse; {
	case x < p/3:
		return throttled
	case x < p*2/3:
		return brokenServer
	case x < p && create:
		return pickOf(w.rng, overQuota, forbidden)
	case x < p && q.isWatch():
		return gone
	}
	return served
}

// lag is the way of a message or a request.
func (w *world) lag() time.Duration {
	if w.stormy && w.chance(w.plan.slowAnswers) {
		return w.between(100*time.Millisecond, 4*time.Second)
	}
	return w.between(100*time.Microsecond, 20*time.Millisecond)
}

// eventLag is the way of a watch event.
func (w *world) eventLag() time.Duration {
	if w.stormy && w.chance(w.plan.slowEvents) {
		return w.between(time.Second, 15*time.Second)
	}
	return w.between(100*time.Microsecond, 30*time.Millisecond)
}

func (w *world) loseEvent() bool { return w.stormy && w.plan.lossy && w.chance(0.1) }

// forecast makes the faults of the cluster, Spark's wishes and bad weather begin.
func (w *world) forecast() {
	if w.plan.harm > 0 {
		w.often(w.plan.harm, w.cluster.harm)
	}
	w.often(w.plan.acts, w.spark.act)
	if w.plan.weather {
		w.often(time.Minute, func() {
			f := pickOf(w.rng, refusedDial, brokenServer, overQuota, overQuota, forbidden)
			w.note("bad weather:%s", f.label())
			w.cluster.weather = f
			w.after(w.between(time.Second, 80*time.Second), "", func() { w.cluster.weather = served })
		})
	}
}

// often lets f happen again and again while the storm lasts.
func (w *world) often(mean time.Duration, f func()) {
	w.after(w.between(mean/4, 2*mean), "", func() {
		if w.stormy {
			f()
			w.often(mean, f)
		}
	})
}

// act is something that Spark's dynamic allocation, or a user, does.
func (s *spark) act() {
	known := sortedKeys(s.known)
	some := func() []int64 {
		s.w.rng.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
		return slices.Sorted(slices.Values(known[:min(len(known), 1+s.w.rng.IntN(3))]))
	}
	rp := s.w.rng.IntN(s.w.plan.profiles)
	switch n := s.w.rng.IntN(10); {
	case n < 5:
		s.setTotals(map[int]int{rp: s.w.rng.IntN(s.w.plan.most + 1)})
	case len(known) == 0:
	case n < 7:
		ids := some()
		if s.w.chance(0.7) {
			less := map[int]int{}
			for _, id := range ids {
				rp := s.known[id].process.pod.profile
				if _, ok := less[rp]; !ok {
					less[rp] = s.totals[rp]
				}
				less[rp] = max(0, less[rp]-1)
			}
			s.setTotals(less)
		}
		s.kill(ids)
	case n < 8:
		s.release(some())
	case n < 9: // up and down in a moment
		s.setTotals(map[int]int{rp: s.w.plan.most})
		s.w.after(s.w.between(time.Millisecond, 2*time.Second), "", func() { s.setTotals(map[int]int{rp: s.w.rng.IntN(3)}) })
	default:
		s.setTotals(map[int]int{rp: 0})
	}
}

// trim kills what Spark has too many of, as dynamic allocation does with idle executors.
func (s *spark) trim() {
	for _, rp := range sortedKeys(s.totals) {
		var ids []int64
		for _, id := range sortedKeys(s.known) {
			if s.known[id].process.pod.profile == rp && !s.leaving[id] {
				ids = append(ids, id)
			}
		}
		if n := len(ids) - s.totals[rp]; n > 0 {
			s.kill(ids[:n])
		}
	}
}
