package executor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubespark/kubespark/internal/executor/allocator"
	"github.com/kubespark/kubespark/internal/executor/claims"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/feature"
	"github.com/kubespark/kubespark/internal/kube"
)

// Times of claims.
const (
	claimHold   = 5 * time.Second // for a claim whose pod is ending
	claimRelist = 5 * time.Minute // while executors wait for a claim
	claimCached = 100             // above that many the list comes from the server's cache
)

// claimBooks are the claims that executors are given again (spec section 9). table is nil when executors need none or reuse
// is off.
type claimBooks struct {
	table   *claims.Table
	facts   *snapshot.Queue
	listing bool
	held    []allocator.Create // wait for the list
	size    int                // of the last list
	said    time.Time          // of the last line about waiting
	denied  bool               // the missing right to list was said
	again   time.Time          // the next list while executors wait
}

// openClaims begins the books when executors need claims that may be given out again.
func (m *Manager) openClaims(perExecutor int) {
	if perExecutor == 0 || !m.set.reuseClaims || m.owner == nil {
		return
	}
	set := m.set.claims
	set.PerExecutor = perExecutor
	set.Maximum *= perExecutor
	from := time.Now()
	if m.session.Resume != nil {
		from = from.Add(10 * time.Second) // a create of the earlier life may still land
	}
	m.books = claimBooks{table: claims.New(set, m.driverClaims, from), facts: m.store.Subscribe()}
}

// takeClaimFacts enters what the pods that changed say of claims.
func (m *Manager) takeClaimFacts() {
	for _, f := range m.books.facts.Drain() {
		p := f.Pod
		switch {
		case !f.Gone:
			m.books.table.Mounts(p.ID, p.Claims, f.State.Final() || p.Deleting)
		case m.set.deleteExecutors || !strings.EqualFold(p.Phase, "running"):
			m.books.table.Release(p.ID) // else it was labelled and hidden, and a sidecar may still run
		}
	}
}

// stepClaims keeps the books and returns when they want to be looked at again.
func (m *Manager) stepClaims(now time.Time) time.Time {
	if m.books.table == nil {
		return time.Time{}
	}
	m.takeClaimFacts()
	if at := m.books.again; !at.IsZero() && !now.Before(at) {
		m.books.again, m.dirty = time.Time{}, true
		m.books.table.Outdate()
	}
	return m.books.again
}

// room is what the claims allow in wait mode; nil: there is no limit.
func (m *Manager) room(now time.Time) func() int {
	if m.books.table == nil || !m.set.claims.Wait {
		return nil
	}
	return func() int { return m.books.table.Room(now) }
}

// createAll sends creates; those that may be given free claims after one list of them all.
func (m *Manager) createAll(creates []allocator.Create) {
	if m.books.table == nil || m.set.claims.Wait { // in wait mode the list came before the round
		for _, c := range creates {
			m.create(c, false)
		}
		return
	}
	if len(creates) > 0 {
		m.books.held = append(m.books.held, creates...)
		m.listClaims()
	}
}

// waitForClaims says once a minute that executors wait, and looks for free claims when something may have freed one.
func (m *Manager) waitForClaims(now time.Time) {
	if m.books.table.Stale() {
		m.listClaims()
		return
	}
	if now.Sub(m.books.said) >= time.Minute {
		m.books.said = now
		m.log("INFO", allocatorLogger, fmt.Sprintf("Wait to reuse one of the existing %d PVCs.", m.books.table.Existing()))
	}
	m.books.again = now.Add(claimRelist)
	if from := m.books.table.From(); now.Before(from) {
		m.books.again = from
	}
}

// listClaims reads the application's claims, then sends the creates that waited for them.
func (m *Manager) listClaims() {
	if m.books.listing {
		return
	}
	m.books.listing = true
	ctx, cached := m.makeCtx, m.books.size > claimCached
	go func() {
		var list []corev1.PersistentVolumeClaim
		err := kube.Retry(ctx, kube.StockBackoff, func(ctx context.Context) (err error) {
			list, err = m.api.ListClaims(ctx, cached)
			return err
		})
		m.post(func() { m.claimsListed(list, err) })
	}()
}

func (m *Manager) claimsListed(list []corev1.PersistentVolumeClaim, err error) {
	m.books.listing, m.books.size, m.dirty = false, len(list), true
	m.takeClaimFacts()
	entries := make([]claims.Claim, 0, len(list))
	for i := range list {
		entries = append(entries, claimOf(&list[i]))
	}
	m.books.table.Replace(entries)
	if err == nil {
		m.books.denied = false
		free, all := m.books.table.Free(time.Now())
		m.log("INFO", allocatorLogger, fmt.Sprintf("Found %d reusable PVCs from %d PVCs", free, all))
	} else if !m.books.denied {
		m.books.denied = true
		m.log("INFO", allocatorLogger, "Cannot list PVC resources. Please check account permissions.")
		m.log("DEBUG", allocatorLogger, err.Error())
	}
	held := m.books.held
	m.books.held = nil
	if m.phase != running {
		return
	}
	for _, c := range held {
		if !m.allocator.Withdraw(c.ID) {
			m.create(c, false)
		}
	}
}

func claimOf(c *corev1.PersistentVolumeClaim) claims.Claim {
	out := claims.Claim{Name: c.Name, Size: c.Spec.Resources.Requests.Storage().Value(), Deleting: c.DeletionTimestamp != nil,
		Created: c.CreationTimestamp.Time}
	if c.Spec.StorageClassName != nil {
		out.Class = *c.Spec.StorageClassName
	}
	if c.Spec.VolumeMode != nil {
		out.VolumeMode = string(*c.Spec.VolumeMode)
	}
	for _, mode := range c.Spec.AccessModes {
		out.Modes = append(out.Modes, string(mode))
	}
	return out
}

// takeClaims gives an executor's pod free claims in the place of those it would have made (V5). It may wait some seconds
// for the claims of a pod that is ending, because they hold shuffle data. false: the pod is not wanted any more.
func (m *Manager) takeClaims(ctx context.Context, id int64, spec *feature.ExecutorSpec) bool {
	if len(spec.Claims) == 0 {
		return true
	}
	wants := make([]claims.Claim, 0, len(spec.Claims))
	for _, c := range spec.Claims {
		wants = append(wants, claimOf(c))
	}
	until := time.Now().Add(claimHold)
	for {
		now := time.Now()
		type answer struct {
			names     []string
			hold      bool
			withdrawn bool
		}
		got := askIn(ctx, m, id, func() answer {
			if m.books.table == nil {
				return answer{}
			}
			m.takeClaimFacts()
			if m.allocator.Withdraw(id) {
				return answer{withdrawn: true}
			}
			names, hold := m.books.table.Prepare(id, wants, now.Before(until), now)
			for i, name := range names {
				if c, ok := m.books.table.Mismatch(wants[i], now); ok && name == wants[i].Name {
					m.log("INFO", allocatorLogger, fmt.Sprintf("PersistentVolumeClaim %s is free, but its access modes %v lack the "+
						"wanted %v.", c.Name, c.Modes, wants[i].Modes))
				}
			}
			return answer{names: names, hold: hold}
		})
		if got.withdrawn {
			return false
		}
		if !got.hold || ctx.Err() != nil {
			swapClaims(spec, got.names, func(name string) {
				m.log("INFO", allocatorLogger, "Reuse PersistentVolumeClaim "+name)
			})
			return true
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// swapClaims puts the names into the pod's volumes; claims that exist are not made.
func swapClaims(spec *feature.ExecutorSpec, names []string, reused func(name string)) {
	var own []*corev1.PersistentVolumeClaim
	for i, claim := range spec.Claims {
		if i >= len(names) || names[i] == claim.Name {
			own = append(own, claim)
			continue
		}
		for j := range spec.Pod.Spec.Volumes {
			if v := spec.Pod.Spec.Volumes[j].PersistentVolumeClaim; v != nil && v.ClaimName == claim.Name {
				v.ClaimName = names[i]
			}
		}
		reused(names[i])
	}
	spec.Claims = own
}

// releaseRefused gives back the claims of an executor whose pod was never made.
func (m *Manager) releaseRefused(o allocator.Outcome) {
	if m.books.table != nil && o.Kind != allocator.Created && o.Kind != allocator.Lost && m.store.Get(o.ID) == nil {
		m.books.table.Release(o.ID)
	}
}

// claimPatience is for the claims of a pod that is there already. It pends without them, so there is time.
var claimPatience = kube.Backoff{First: 200 * time.Millisecond, Factor: 2, Max: 10 * time.Second, Tries: 20}

// createClaims makes the claims that the pod mounts (V6). A pod whose claim is refused is deleted again.
func (m *Manager) createClaims(ctx context.Context, c creation, claims []*corev1.PersistentVolumeClaim, w *snapshot.Wire) allocator.Outcome {
	owner := c.owner
	if owner == nil {
		owner = &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: w.Metadata.Name,
			UID: types.UID(w.Metadata.UID), Controller: new(true)}
	}
	mounted := w.Claims()
	for _, claim := range claims {
		if !slices.Contains(mounted, claim.Name) {
			continue // a pod that was adopted has other claims
		}
		class := ""
		if claim.Spec.StorageClassName != nil {
			class = *claim.Spec.StorageClassName
		}
		m.log("INFO", allocatorLogger, "Trying to create PersistentVolumeClaim "+claim.Name+" with StorageClass "+class)
		claim.Namespace, claim.OwnerReferences = c.in.Namespace, []metav1.OwnerReference{*owner}
		err := kube.Retry(ctx, claimPatience, func(ctx context.Context) error { return m.api.CreateClaim(ctx, claim) })
		switch kube.Kind(err) {
		case kube.None, kube.AlreadyExists:
		case kube.Transient, kube.Unknown, kube.Canceled: // it may be there, and the executor at work
			m.log("WARN", allocatorLogger, "The claim "+claim.Name+" of executor pod "+w.Metadata.Name+" may be lacking: "+err.Error())
		default:
			m.undo(w)
			return outcome(fmt.Errorf("the claim %s: %w", claim.Name, err))
		}
	}
	return allocator.Outcome{Kind: allocator.Created}
}
