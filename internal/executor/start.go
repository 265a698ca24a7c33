package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubespark/kubespark/internal/executor/allocator"
	"github.com/kubespark/kubespark/internal/executor/lifecycle"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/executor/source"
	"github.com/kubespark/kubespark/internal/feature"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// Start begins the work: the ConfigMap is made, the pods that are there are listed, the watch opens, and allocation begins
// with the initial target, or with the newest totals after a restart (B4, section 15).
func (m *Manager) Start(props map[string]string, profile sparkpod.Profile, target int, reply func(error)) {
	m.post(func() {
		if m.phase != opened {
			reply(errors.New("the session is not open"))
			return
		}
		container, err := m.check(props, profile)
		if err != nil {
			reply(err)
			return
		}
		m.profiles[profile.ID] = profile
		m.reader = &snapshot.Reader{Container: container, CheckAll: m.set.checkAll, RestartIsEnd: m.sets == nil,
			Warn: func(text string) { m.log("WARN", source.WatchLogger, text) }}
		m.began = true
		ctx := m.ctx
		go func() {
			list, version, err := m.begin(ctx)
			m.post(func() {
				if err == nil && m.phase != opened {
					err = errors.New("the session was stopped while it started")
				}
				if err == nil {
					m.run(list, version, profile.ID, target)
				}
				reply(err)
			})
		}()
	})
}

// check reads the settings as they are now, and builds one pod to find mistakes before anything is written. It returns the
// name of the Spark container.
func (m *Manager) check(props map[string]string, profile sparkpod.Profile) (string, error) {
	if err := m.configure(props, m.conf.Version()); err != nil {
		return "", err
	}
	files, skipped, err := confFiles(m.session.ConfDir, m.set.configMapMax)
	if err != nil {
		return "", err
	}
	for _, s := range skipped {
		m.log("WARN", backendLogger, s)
	}
	m.files, m.conffile = files, sortedKeys(files)
	if err := m.chooseAllocator(); err != nil {
		return "", err
	}
	if err := m.checkSets(profile); err != nil {
		return "", err
	}
	spec, err := feature.BuildExecutor(m.input("1", profile))
	if err != nil {
		return "", err
	}
	for _, w := range spec.Warnings {
		m.log("WARN", backendLogger, w)
	}
	m.claimsEach, m.userSteps = len(spec.Claims), len(spec.UserSteps) > 0
	return spec.ContainerName, nil
}

// begin makes the ConfigMap and the first complete list.
func (m *Manager) begin(ctx context.Context) (snapshot.List, string, error) {
	if m.set.configMap {
		if err := m.createConfigMap(ctx); err != nil {
			return snapshot.List{}, "", err
		}
	}
	var list snapshot.List
	var version string
	err := kube.Retry(ctx, kube.Backoff{First: 200 * time.Millisecond, Factor: 2, Max: 5 * time.Second, Tries: 9},
		func(ctx context.Context) (err error) {
			list, version, err = source.Read(ctx, m.api, m.reader, "")
			return err
		})
	if err != nil {
		return list, "", fmt.Errorf("the executor pods in namespace %s cannot be listed: %w", m.session.Namespace, err)
	}
	return list, version, nil
}

// run starts the sources and the allocator on the goroutine that owns them.
func (m *Manager) run(list snapshot.List, version string, profile, target int) {
	resume := m.session.Resume
	totals := map[int]int{profile: target}
	if resume == nil {
		resume = &Resume{NextID: 1}
	} else if len(resume.Totals) > 0 {
		totals = resume.Totals
	}
	for _, p := range resume.Profiles {
		m.profiles[p.ID] = p
	}
	m.lifecycle = lifecycle.New(m.set.lifecycle, resume.Reported, resume.Failures)
	m.allocator = allocator.New(m.set.allocator, resume.NextID, resume.Denied)
	m.allocator.SetTargets(totals)
	if resume.PodsCreated { // what an earlier life had created may be gone
		m.allocator.AnyCreated()
		if m.sets != nil {
			m.sets.AnyMade()
		}
		m.told = true
	}
	m.facts = m.store.Subscribe()
	m.makeCtx, m.stopMake = context.WithCancel(m.ctx)
	m.openClaims(m.claimsEach)
	m.adopt(list)
	m.openSources(version)
	m.phase, m.dirty = running, true
	m.log("DEBUG", allocatorLogger, fmt.Sprintf("Set total expected execs to %v", totals))
	for _, f := range m.deferred {
		f()
	}
	m.deferred = nil
	m.awaitDriver()
}

// adopt takes the pods that are there. Those of an earlier life of the driver are deleted and never enter the books: after
// a restart of the JVM no executor of before is of any use (section 15).
func (m *Manager) adopt(list snapshot.List) {
	fresh := m.session.Resume == nil
	var highest int64
	old := 0
	list.Pods = slices.DeleteFunc(list.Pods, func(p *snapshot.Pod) bool {
		mine := m.mine(p)
		if mine {
			highest = max(highest, p.ID)
		}
		if mine && !fresh {
			return !m.current(p)
		}
		old++
		m.foreign[p.UID] = true
		m.deletePod(p.Name, p.UID, nil)
		return true
	})
	if fresh {
		m.allocator.SkipIDs(highest)
	}
	if old > 0 {
		m.log("INFO", managerLogger, fmt.Sprintf("Deleting %d executor pods of an earlier run of this driver.", old))
	}
	m.store.Replace(list)
	if !fresh {
		for _, p := range m.store.Pods() {
			m.ensureCompanions(p)
			if _, known := m.known[p.ID]; known && p.IP != "" {
				m.hosts[p.IP] = p.ID
			}
		}
		m.log("INFO", managerLogger, fmt.Sprintf("Adopted %d executor pods after a restart of the manager; %d executors are "+
			"registered.", m.store.Len(), len(m.known)))
	}
}

func (m *Manager) mine(p *snapshot.Pod) bool {
	if m.sets != nil {
		return m.sets.Mine(p.Name)
	}
	return p.Name == m.podName(p.IDText())
}

func (m *Manager) openSources(version string) {
	ctx, cancel := context.WithCancel(m.ctx)
	m.stopRead = cancel
	m.watch = source.NewWatch(m.api, m.reader, m, version)
	if m.set.watch {
		m.log("DEBUG", source.WatchLogger, "Starting to watch for pods with labels "+sparkpod.LabelAppSelector+"="+m.session.AppID+
			", "+sparkpod.LabelRole+"=executor.")
		m.sources.Go(func() { m.watch.Run(ctx) })
	}
	if m.set.poll {
		m.log("DEBUG", source.PollLogger, fmt.Sprintf("Starting to check for executor pod state every %d ms.",
			m.set.pollInterval.Milliseconds()))
		needed := func() bool { return m.set.pollAlways || !m.set.watch || !m.watch.Healthy() }
		poll := source.NewPoll(m.api, m.reader, m, m.set.pollInterval, m.set.pollCached, needed)
		m.sources.Go(func() { poll.Run(ctx) })
	}
	if !m.set.watch && !m.set.poll {
		m.log("WARN", managerLogger, "Both spark.kubernetes.executor.enableApiWatcher and .enableApiPolling are off: the end of an "+
			"executor pod will not be noticed.")
	}
}

// The methods of source.Sink.

// List takes a complete list. What it leaves in doubt is read by name.
func (m *Manager) List(l snapshot.List) {
	m.post(func() {
		l.Pods = slices.DeleteFunc(l.Pods, m.alien)
		for _, id := range m.store.Replace(l) {
			m.look(id)
		}
		m.dirty = true
	})
}

// Pod takes one pod.
func (m *Manager) Pod(p *snapshot.Pod) {
	if p == nil {
		return // not part of the snapshot
	}
	m.post(func() {
		if !m.alien(p) && m.store.Update(p, time.Now()) {
			m.dirty = true
		}
	})
}

// Gone takes the end of one pod.
func (m *Manager) Gone(p *snapshot.Pod) {
	m.post(func() {
		if !m.alien(p) && m.store.Remove(p.ID, p, time.Now()) {
			m.dirty = true
			if m.sets != nil {
				m.sets.Gone(p.Name, p.ID)
			}
		}
	})
}

// Confirm takes the news that the watch has told everything up to a time.
func (m *Manager) Confirm(at time.Time) { m.post(func() { m.store.Confirm(at) }) }

// Log writes a line of a source.
func (m *Manager) Log(level, logger, text string) { m.log(level, logger, text) }

func (m *Manager) alien(p *snapshot.Pod) bool { return m.foreign[p.UID] || !m.mine(p) || !m.current(p) }

// awaitDriver opens the gate for the first create when the driver pod is Ready, or the readiness timeout is over; it goes
// on looking, because executors that die while the driver's name does not resolve are not to blame (B4, L7).
func (m *Manager) awaitDriver() {
	if m.owner == nil {
		m.gate, m.ready = true, true
		return
	}
	ctx, name, deadline := m.ctx, m.owner.Name, time.Now().Add(m.set.readinessTimeout)
	if m.session.Resume != nil {
		deadline = time.Now() // the driver was waited for in the manager's first life
	}
	go func() {
		wait, said := 100*time.Millisecond, false
		for {
			pod, err := m.api.GetPod(ctx, name)
			ready := err == nil && isReady(pod)
			over := !time.Now().Before(deadline)
			if (ready || over) && !said {
				said = true
				if !ready {
					m.log("WARN", allocatorLogger, fmt.Sprintf("The driver pod %s is not ready after %s; creating executors all the "+
						"same.", name, m.set.readinessTimeout))
				}
			}
			opens := said // a copy: the owner goroutine reads it while this one goes on
			m.post(func() {
				m.gate, m.ready, m.dirty = (m.gate || opens) && !m.exited, ready, true
			})
			if ready {
				return
			}
			if !over {
				wait = min(2*wait, time.Until(deadline), time.Second)
			} else {
				wait = min(2*max(wait, time.Second), 30*time.Second)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(max(wait, time.Millisecond)):
			}
		}
	}()
}

func isReady(pod *snapshot.Wire) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c snapshot.WireCondition) bool {
		return c.Type == "Ready" && strings.EqualFold(c.Status, "true")
	})
}
