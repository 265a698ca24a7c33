package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/kubespark/kubespark/internal/bridge"
	"github.com/kubespark/kubespark/internal/executor"
)

const bridgeLogger = "org.apache.spark.scheduler.cluster.k8s.KubernetesClusterManager"

// lines makes the manager's log function of a slog handler. TRACE and other names of log4j are DEBUG.
func lines(h slog.Handler) func(level, logger, text string) {
	levels := map[string]slog.Level{"INFO": slog.LevelInfo, "WARN": slog.LevelWarn, "ERROR": slog.LevelError}
	return func(level, logger, text string) {
		l, ok := levels[level]
		if !ok {
			l = slog.LevelDebug
		}
		slog.New(h).With(bridge.LoggerKey, logger).Log(context.Background(), l, text)
	}
}

// session hands the driver's messages to the manager.
type session struct {
	manager *executor.Manager
	opened  func()
}

func at(ms int64) time.Time { return time.UnixMilli(ms) }

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func (s session) Open(p bridge.OpenParams, reply func(bridge.OpenResult, error)) {
	s.opened()
	s.manager.Open(executor.Session{
		SparkVersion: p.SparkVersion, AppID: p.AppID, Namespace: p.Namespace, ClientMode: p.DeployMode == "client",
		APIServer: p.APIServer, AuthPrefix: p.AuthPrefix, CAFile: p.CAFile, DriverPodName: p.DriverPodName,
		PodNamePrefix: p.PodNamePrefix, ConfigMapName: p.ConfigMapName, UserName: p.UserName, AuthSecret: p.AuthSecret,
		ConfDir: p.ConfDir, Template: p.Template, Conf: p.Conf, Resume: resume(p.Resume),
	}, func(uid string, err error) {
		env := s.manager.Env()
		reply(bridge.OpenResult{Protocol: bridge.Protocol, ManagerVersion: env.Version, PID: env.PID, DriverPodUID: uid}, refusal(err))
	})
}

func resume(r *bridge.Resume) *executor.Resume {
	if r == nil {
		return nil
	}
	out := &executor.Resume{Totals: r.Totals, Profiles: r.Profiles, NextID: r.NextID, Executors: times(r.Executors),
		Reported: bridge.Numbers(r.Reported), Denied: bridge.Numbers(r.Denied), PodsCreated: r.PodsCreated}
	for _, ms := range r.Failures {
		out.Failures = append(out.Failures, at(ms))
	}
	return out
}

func times(ids map[int64]int64) map[int64]time.Time {
	out := make(map[int64]time.Time, len(ids))
	for id, ms := range ids {
		out[id] = at(ms)
	}
	return out
}

// refusal gives an error the code that tells the driver what to do.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	if f := (*executor.FallbackError)(nil); errors.As(err, &f) {
		return &bridge.Error{Code: bridge.CodeFallback, Text: f.Text}
	}
	return &bridge.Error{Code: bridge.CodeFatal, Text: err.Error()}
}

func (s session) Start(p bridge.StartParams, reply func(error)) {
	s.manager.Start(p.Conf, p.DefaultProfile, p.InitialTarget, func(err error) { reply(refusal(err)) })
}

func (s session) Stop(p bridge.StopParams, reply func(bridge.StopResult, error)) {
	s.manager.Stop(millis(p.DeadlineMs), func(left int) { reply(bridge.StopResult{Left: left}, nil) })
}

func (s session) Targets(p bridge.Targets) { s.manager.SetTargets(p.Seq, p.Totals, p.Profiles) }

func (s session) Kill(p bridge.Kill) {
	s.manager.Kill(p.Seq, bridge.Numbers(p.IDs), millis(p.GraceMs), at(p.IssuedAt))
}

func (s session) Release(p bridge.Release) { s.manager.Release(p.Seq, bridge.Numbers(p.IDs)) }

func (s session) Assigned(p bridge.Assigned) { s.manager.Assigned(p.Seq, p.PodName, int64(p.ID)) }

func (s session) Registered(p bridge.Registered) {
	s.manager.Registered(int64(p.ID), p.Profile, p.Host, at(p.RegisteredAt))
}

func (s session) Removed(p bridge.Removed) {
	s.manager.Removed(int64(p.ID), p.Reason == "killed" || p.Reason == "decommissioned")
}

func (s session) Disconnected(p bridge.Disconnected) { s.manager.Disconnected(int64(p.ID)) }

func (s session) ConfSet(p bridge.ConfSet) { s.manager.SetConf(p.Seq, p.Key, p.Value) }

// driver hands the manager's messages to the driver.
type driver struct{ *bridge.Server }

func (d driver) Remove(r executor.Removal, done func(error)) {
	d.Server.Remove(bridge.Remove{ID: bridge.ID(r.ID), Code: r.Code, CausedByApp: r.CausedByApp, Text: r.Text,
		CountsAsFailure: r.Counts, At: r.At.UnixMilli()}, done)
}

func (d driver) List(done func(map[int64]time.Time, error)) {
	d.Server.List(func(r bridge.ListResult, err error) { done(times(r.IDs), err) })
}

func (d driver) Build(b executor.PodBuild, done func(executor.PodBuilt, error)) {
	d.Server.Build(bridge.PodBuild{ID: b.ExecutorID, Profile: b.Profile, Steps: b.Steps, DriverPod: b.DriverPod,
		DriverUID: b.DriverUID, Pod: b.Pod, Container: b.Container},
		func(r bridge.PodBuilt, err error) { done(executor.PodBuilt(r), err) })
}
