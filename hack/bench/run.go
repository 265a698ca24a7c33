package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubespark/kubespark/hack/bench/page"
	"github.com/kubespark/kubespark/hack/bench/result"
	"github.com/kubespark/kubespark/hack/bench/rig"
)

// runner makes the measurements and writes what they find.
type runner struct {
	quick, resume       bool
	stock               bool // takes part
	only                []string
	out, page, bin, dir string
	sparkHome, network  string
	port                int
}

// bench is what a measurement works with.
type bench struct {
	*rig.Cluster
	sparkHome string
	stock     bool // takes part
	sizes     sizes
	m         *result.Measurement
}

func (r *runner) run(ctx context.Context) error {
	plan, err := r.plan()
	if err != nil {
		return err
	}
	f, err := r.file()
	if err != nil {
		return err
	}
	failed := 0
	for _, m := range plan {
		if old := f.Find(m.name); r.resume && old != nil && old.Failed == "" {
			fmt.Fprintf(os.Stderr, "%s: kept from %s\n", m.name, r.out)
			continue
		}
		found := r.measure(ctx, m)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted in %s: -resume goes on there", m.name)
		}
		if found.Failed != "" {
			failed++
		}
		f.Set(found)
		if err := f.Write(r.out); err != nil {
			return err
		}
	}
	order(f)
	judge(f)
	if err := f.Write(r.out); err != nil {
		return err
	}
	if r.page != "" {
		if err := page.Write(r.page, filepath.Base(r.out), f); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d measurements broke off: see %s", failed, r.out)
	}
	return nil
}

// plan picks the measurements.
func (r *runner) plan() ([]measurement, error) {
	all := measurements()
	if r.only == nil {
		return all, nil
	}
	var picked []measurement
	for _, name := range r.only {
		i := slices.IndexFunc(all, func(m measurement) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no measurement %q: bench list shows all", name)
		}
		picked = append(picked, all[i])
	}
	return picked, nil
}

// order puts the measurements of a file into the plan's order, whatever order they were made in.
func order(f *result.File) {
	at := map[string]int{}
	for i, m := range measurements() {
		at[m.name] = i
	}
	slices.SortStableFunc(f.Measurements, func(a, b result.Measurement) int { return at[a.Name] - at[b.Name] })
}

// file is the result so far: of an earlier run when it goes on with it or measures some anew.
func (r *runner) file() (*result.File, error) {
	fresh := &result.File{Started: time.Now().UTC().Format(time.RFC3339), Quick: r.quick}
	var err error
	if fresh.Machine, err = machine(); err != nil {
		return nil, err
	}
	if fresh.Versions, err = r.versions(); err != nil {
		return nil, err
	}
	if !r.resume && r.only == nil {
		return fresh, nil
	}
	old, err := result.Read(r.out)
	if errors.Is(err, os.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return nil, err
	}
	if old.Quick != r.quick || !maps.Equal(old.Versions, fresh.Versions) || old.Machine.CPU != fresh.Machine.CPU {
		return nil, fmt.Errorf("%s is of other sizes, versions or another machine: run everything, or name another file with -out", r.out)
	}
	return old, nil
}

// measure makes one measurement on a fresh cluster.
func (r *runner) measure(ctx context.Context, m measurement) (found result.Measurement) {
	began := time.Now()
	fmt.Fprintf(os.Stderr, "%s %s: %s\n", began.Format(time.TimeOnly), m.name, m.title)
	found = result.Measurement{Name: m.name, Title: m.title, How: m.how, At: began.UTC().Format(time.RFC3339), Commit: commit()}
	ctx, cancel := context.WithTimeoutCause(ctx, m.limit, fmt.Errorf("it took longer than %s", m.limit))
	defer cancel()
	if err := r.onCluster(ctx, m, &found); err != nil {
		found.Failed = err.Error()
		fmt.Fprintf(os.Stderr, "  broke off: %v\n", err)
	}
	found.Seconds = time.Since(began).Seconds()
	found.Goals = verdicts(m, &found)
	for _, goal := range found.Goals {
		text := "-"
		if goal.Figure != nil {
			text = result.Format(*goal.Figure)
		}
		fmt.Fprintf(os.Stderr, "  %-12s %s %s %s %s: %s\n", goal.Verdict(), goal.What, goal.Op, result.Format(goal.Limit), goal.Unit, text)
	}
	return found
}

func (r *runner) onCluster(ctx context.Context, m measurement, found *result.Measurement) (err error) {
	c, err := rig.Start(ctx, rig.Options{Bin: r.bin, Dir: r.dir, Port: r.port, Network: r.network, Node: m.node, Audit: m.audit})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Down()) }()
	s := full
	if r.quick {
		s = quick
	}
	return m.run(&bench{Cluster: c, sparkHome: r.sparkHome, stock: r.stock, sizes: s, m: found}, ctx)
}

func machine() (result.Machine, error) {
	m := result.Machine{Cores: runtime.NumCPU()}
	cpu, err1 := os.ReadFile("/proc/cpuinfo")
	mem, err2 := os.ReadFile("/proc/meminfo")
	kernel, err3 := os.ReadFile("/proc/sys/kernel/osrelease")
	load, err4 := os.ReadFile("/proc/loadavg")
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return m, fmt.Errorf("describe the machine: %w", err)
	}
	for line := range strings.Lines(string(cpu)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	kib, err := strconv.Atoi(strings.Fields(string(mem))[1])
	if err != nil {
		return m, fmt.Errorf("describe the machine: %w", err)
	}
	m.MemoryMiB, m.Kernel = kib/1024, strings.TrimSpace(string(kernel))
	m.LoadAvg, err = strconv.ParseFloat(strings.Fields(string(load))[0], 64)
	return m, err
}

// versions are those of everything that takes part.
func (r *runner) versions() (map[string]string, error) {
	v := map[string]string{"Spark": "4.2.0", "Go": runtime.Version()}
	for name, args := range map[string][]string{"kubespark": {"kubespark", "version"}, "kwok": {"kwok", "--version"},
		"Kubernetes": {"kubespark-control-plane", "kube-apiserver", "--version"}} {
		out, err := exec.Command(filepath.Join(r.bin, args[0]), args[1:]...).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
		}
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		v[name] = strings.TrimPrefix(strings.TrimPrefix(first, name+" "), "version ")
	}
	java, err := exec.Command("java", "-version").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("java -version: %w", err)
	}
	v["Java"], _, _ = strings.Cut(string(java), "\n")
	return v, nil
}

// commit is the repository's, "" outside of one.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude", "*", "--abbrev=12").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
