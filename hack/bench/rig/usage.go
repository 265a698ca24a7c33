package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kubespark/kubespark/hack/bench/result"
)

// ticks of the kernel's accounting in a second: USER_HZ, 100 on every Linux that Go runs on.
const ticks = 100

// Ran is what one process took.
type Ran struct {
	Began     time.Time
	Wall, CPU time.Duration
	PeakMiB   float64
	Output    string
}

// Run runs a program to its end and reads what it took from wait4: its own CPU time and that of its children that have
// ended, and the greatest resident size of one of them, which is never less than this process's (RunApart).
func Run(cmd *exec.Cmd) (Ran, error) {
	var out strings.Builder
	if cmd.Stdout == nil {
		cmd.Stdout = &out
	}
	if cmd.Stderr == nil {
		cmd.Stderr = cmd.Stdout
	}
	began := time.Now()
	err := cmd.Run()
	r := Ran{Began: began, Wall: time.Since(began), Output: out.String()}
	if err != nil {
		return r, fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, lastLines(out.String()))
	}
	r.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.PeakMiB = float64(u.Maxrss) / 1024
	}
	return r, nil
}

// Meter measures who uses the CPUs during a phase.
type Meter struct {
	cluster *Cluster
	extra   map[string]int // pid by name
	began   time.Time
	busy    float64
	total   float64
	by      map[string]float64
}

// Measure begins a phase. extra names processes beside the cluster's own and this one.
func (c *Cluster) Measure(extra map[string]int) (*Meter, error) {
	m := &Meter{cluster: c, extra: extra, began: time.Now()}
	var err error
	if m.busy, m.total, err = machine(); err != nil {
		return nil, err
	}
	m.by = m.read()
	return m, nil
}

// read returns the CPU seconds so far of each process that takes part.
func (m *Meter) read() map[string]float64 {
	by := map[string]float64{"the measuring program": CPUSeconds(os.Getpid())}
	for name, pid := range m.extra {
		by[name] = CPUSeconds(pid)
	}
	if m.cluster.kwok != nil {
		by["kwok"] = CPUSeconds(m.cluster.kwok.Process.Pid)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return by // without /proc there are no numbers at all, and machine() has said so
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if name := m.cluster.component(pid); name != "" {
			by[name] += CPUSeconds(pid)
		}
	}
	return by
}

// component names the cluster's process of a pid, "" for others.
func (c *Cluster) component(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(raw), c.state()) {
		return ""
	}
	args := strings.Split(string(raw), "\x00")
	if strings.HasPrefix(filepath.Base(args[0]), "kubespark-c") && len(args) > 1 {
		return args[1]
	}
	return ""
}

// Stop ends the phase.
func (m *Meter) Stop(when string) (result.Load, error) {
	busy, total, err := machine()
	if err != nil {
		return result.Load{}, err
	}
	l := result.Load{When: when, Seconds: time.Since(m.began).Seconds(), Shares: map[string]float64{}}
	if total > m.total {
		l.Busy = (busy - m.busy) / (total - m.total)
	}
	rest := busy - m.busy
	for name, cpu := range m.read() {
		used := cpu - m.by[name]
		if used > 0 && busy > m.busy {
			l.Shares[name] = used / (busy - m.busy)
			rest -= used
		}
	}
	if rest > 0 && busy > m.busy {
		l.Shares["others"] = rest / (busy - m.busy)
	}
	return l, nil
}

// machine returns the CPU seconds that were not idle, and all.
func machine() (busy, total float64, err error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("read the machine's CPU time: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, f := range strings.Fields(line)[1:] {
		if i > 7 {
			break // guests are counted as users already
		}
		n, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("read the machine's CPU time: %w", err)
		}
		total += n / ticks
		if i != 3 && i != 4 { // idle, waiting for a disk
			busy += n / ticks
		}
	}
	return busy, total, nil
}

// CPUSeconds is the CPU time of a process so far, 0 for one that is gone.
func CPUSeconds(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(f) < 13 {
		return 0
	}
	user, err1 := strconv.ParseFloat(f[11], 64)
	system, err2 := strconv.ParseFloat(f[12], 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return (user + system) / ticks
}

// MemoryMiB reads a size of a process, such as VmRSS or VmHWM.
func MemoryMiB(pid int, field string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == field+":" {
			kib, err := strconv.ParseFloat(f[1], 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no %s", pid, field)
}
