package simulation

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kubespark/kubespark/internal/executor"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
)

// judge holds the validators. Each has a name, which begins its verdicts.
type judge struct {
	w         *world
	made      map[int64]string // executor id → UID of its pod
	claims    map[string]*pod
	lastWrite time.Time
}

const (
	idTwice        = "an id used twice"
	idForeign      = "an id that was not reserved"
	knownDeleted   = "a known executor deleted"
	claimTwice     = "a claim in two pods"
	tooMany        = "more pods than the target"
	tooManyPending = "more pods not running than maxPendingPods"
	exitTwice      = "an exit reported twice"
	exitInvented   = "an exit invented"
	exitWrong      = "an exit with a wrong code or blame"
	exitLate       = "an exit reported after the stop"
	endedForNone   = "the application ended without need"
	targetMissed   = "the target is not reached"
	targetLeft     = "the target does not stay reached"
	exitMissed     = "an exit not reported"
	leftBehind     = "something left behind"
	notDone        = "a command not acknowledged"
	denialLeft     = "an id denied for ever"
	notIdle        = "an idle manager writes"
)

func newJudge(w *world) *judge {
	return &judge{w: w, made: map[int64]string{}, claims: map[string]*pod{}}
}

// sent judges a request when it leaves the manager.
func (j *judge) sent(q *request) {
	if q.verb != http.MethodGet && q.resource != "events" {
		j.lastWrite = time.Now()
	}
	switch {
	case q.resource == "pods" && q.verb == http.MethodPost:
		j.sentCreate(q)
		q.l.executing[q.profile]++
		q.l.creating[q.id] = true
	case q.resource == "pods" && q.verb == http.MethodDelete && q.name != "" && !q.l.stopped:
		j.sentDelete(q)
	}
}

// carriedOut is told when a request can have no more effect.
func (j *judge) carriedOut(q *request) {
	if q.resource == "pods" && q.verb == http.MethodPost {
		q.l.executing[q.profile]--
	}
}

// counts says whether the manager must count a pod: it is neither over nor on its way out, and the manager can know it.
func (l *life) counts(p *pod) bool {
	switch {
	case p.gone, p.ended(), l.denying[p.id]:
		return false
	case p.maker != l && (l.adopted == 0 || p.version > l.adopted):
		return false // a create of an earlier life that came late
	case p.deleting():
		return p.phase() == "Running" && l.known[p.id]
	}
	return true
}

func (j *judge) sentCreate(q *request) {
	l := q.l
	if !slices.ContainsFunc(l.blocks, func(b [2]int64) bool { return b[0] <= q.id && q.id <= b[1] }) {
		j.w.fail(idForeign, "manager %d creates executor %d, which is in none of %v", l.number, q.id, l.blocks)
	}
	all, pending, pendingRP := j.with(q)
	if all > l.targets[q.profile] {
		j.w.fail(tooMany, "manager %d creates executor %d of profile %d as number %d of %d", l.number, q.id, q.profile, all, l.targets[q.profile])
	}
	if most := j.w.plan.maxPending; most > 0 && pending > most {
		j.w.fail(tooManyPending, "manager %d creates executor %d as number %d of %d", l.number, q.id, pending, most)
	}
	if most := j.w.plan.perProfile; most > 0 && pendingRP > most {
		j.w.fail(tooManyPending, "manager %d creates executor %d of profile %d as number %d of %d", l.number, q.id, q.profile, pendingRP, most)
	}
}

// with counts the pods that there would be with a create: of its profile, and those not running of all and of its profile.
func (j *judge) with(q *request) (all, pending, pendingRP int) {
	mine := func(rp int) bool { return rp == q.profile || len(q.l.targets) == 1 }
	add := func(rp, n int, runs bool) {
		if !runs {
			pending += n
		}
		if mine(rp) {
			all += n
			if !runs {
				pendingRP += n
			}
		}
	}
	add(q.profile, 1, false)
	for _, p := range j.w.cluster.pods {
		if q.l.counts(p) && p.id != q.id {
			add(p.profile, 1, p.phase() != "Pending")
		}
	}
	for rp, n := range q.l.executing {
		add(rp, n, false)
	}
	return all, pending, pendingRP
}

func (j *judge) sentDelete(q *request) {
	p := j.w.server.pods[q.name]
	if p == nil || p.deleting() || p.ended() {
		return
	}
	if e := j.w.spark.known[p.id]; e != nil && e.process.alive {
		j.w.fail(knownDeleted, "manager %d deletes executor %d, which Spark knows and did not kill", q.l.number, p.id)
	}
}

// created judges a pod that the server has just made.
func (j *judge) created(p *pod) {
	if old := j.made[p.id]; old != "" {
		j.w.fail(idTwice, "executor %d had the pod %s and gets %s", p.id, old, p.wire.Metadata.UID)
	}
	j.made[p.id] = p.wire.Metadata.UID
	for _, claim := range p.claims {
		if other := j.claims[claim]; other != nil && !other.gone && !other.ended() {
			j.w.fail(claimTwice, "%s is in %s and in %s", claim, other.name, p.name)
		}
		j.claims[claim] = p
	}
}

// reported judges executor.remove when the manager says it.
func (j *judge) reported(l *life, r executor.Removal) {
	var p *pod
	for _, x := range j.w.cluster.pods {
		if x.id == r.ID {
			p = x
		}
	}
	switch {
	case l.stopped:
		j.w.fail(exitLate, "executor %d", r.ID)
	case l.reported[r.ID]:
		j.w.fail(exitTwice, "executor %d, by manager %d", r.ID, l.number)
	case p == nil:
		j.w.fail(exitInvented, "executor %d never had a pod", r.ID)
	case !p.gone && !p.ended() && (!p.deleting() || p.phase() == "Running"):
		j.w.fail(exitInvented, "the pod of executor %d is %s", r.ID, p.phase())
	default:
		j.blame(p, r)
	}
	l.reported[r.ID] = true
}

func (j *judge) blame(p *pod, r executor.Removal) {
	x := p.process
	code, reason := snapshot.NoCode, ""
	if x != nil {
		code, reason = x.code, x.reason
	}
	foreign := p.wire.Status.Reason == "Evicted" || strings.Contains(r.Text, "deleted by a user")
	own := reason == "OOMKilled" && r.Code == code && !p.deleting()
	switch {
	case r.Code != snapshot.NoCode && code != r.Code:
		j.w.fail(exitWrong, "executor %d is told to have exited with %d", r.ID, r.Code)
	case r.CausedByApp && foreign:
		j.w.fail(exitWrong, "the end of executor %d is not the application's", r.ID)
	case r.Counts && (!r.CausedByApp || code <= 0):
		j.w.fail(exitWrong, "the end of executor %d counts as a failure", r.ID)
	case !r.CausedByApp && own:
		j.w.fail(exitWrong, "executor %d was OOMKilled, which is the application's", r.ID)
	}
}

// exit judges app.exit.
func (j *judge) exit(l *life, code int, text string) {
	if code == 1 && strings.Contains(text, "refuses every executor pod") && !j.w.spark.ever {
		return // three refusals before any executor
	}
	j.w.fail(endedForNone, "manager %d: %d %s", l.number, code, text)
}

// calm judges a cluster that had time to heal.
func (j *judge) calm(verdict string) {
	s := j.w.spark
	live := map[int]int{}
	alive := map[int64]bool{}
	for _, p := range j.w.cluster.pods {
		if p.gone {
			continue
		}
		if p.ended() {
			if j.w.plan.deletes || shown(p.wire) {
				j.w.fail(leftBehind, "the ended pod %s", p.name)
			}
			continue
		}
		if p.deleting() || s.known[p.id] == nil {
			j.w.fail(verdict, "%s is %s, deleting %t, registered %t", p.name, p.phase(), p.deleting(), s.known[p.id] != nil)
		}
		live[p.profile]++
		alive[p.id] = true
	}
	for _, rp := range sortedKeys(s.totals) {
		if live[rp] != s.totals[rp] {
			j.w.fail(verdict, "profile %d has %d executors instead of %d", rp, live[rp], s.totals[rp])
		}
	}
	for _, id := range sortedKeys(s.known) {
		if !alive[id] {
			j.w.fail(exitMissed, "Spark still knows executor %d", id)
		}
	}
	for _, c := range s.journal {
		j.w.fail(notDone, "%s (%d)", c.kind, c.seq)
	}
	if len(s.denied) > 0 {
		j.w.fail(denialLeft, "%v", sortedKeys(s.denied))
	}
}

// end judges what is left after the stop.
func (j *judge) end(left int) {
	if left != 0 {
		j.w.fail(leftBehind, "session.stop says that %d pods are left", left)
	}
	for _, p := range j.w.cluster.pods {
		if !p.gone && j.w.plan.deletes {
			j.w.fail(leftBehind, "%s, %s", p.name, p.phase())
		}
	}
	for _, key := range sortedKeys(j.w.server.others) {
		if j.w.plan.deletes || strings.HasPrefix(key, "persistentvolumeclaims/") && j.w.plan.conf["spark.kubernetes.driver.ownPersistentVolumeClaim"] != "false" {
			j.w.fail(leftBehind, "%s", key)
		}
	}
}
