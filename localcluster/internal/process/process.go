// Package process knows the machine's processes: it tells one process from a later one with the same number, signals
// exactly the one that was recorded, and says which process holds a TCP port. The supervisor records its children
// with it, and `down` finds them again, the supervisor itself included, after any of them was killed.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ID names one process for as long as the machine runs: numbers come again, the pair with the start time does not.
type ID struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks between the boot and the process's start
}

// Table reads a proc file system.
type Table struct {
	root string
}

// NewTable reads the proc file system mounted at root, "/proc" except in tests.
func NewTable(root string) Table { return Table{root: root} }

// Boot returns the kernel's id of this boot; an ID recorded under another one names no process any more.
func (t Table) Boot() (string, error) {
	text, err := os.ReadFile(filepath.Join(t.root, "sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("read the boot id: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Identify returns the ID of the process that has the number pid now. The error is fs.ErrNotExist if there is none.
func (t Table) Identify(pid int) (ID, error) {
	s, err := t.stat(pid)
	if err != nil {
		return ID{}, err
	}
	return ID{PID: pid, Start: s.start}, nil
}

// Alive reports whether the process runs still. One that ended and was not waited for is not alive; one whose first
// thread ended is, because the others may hold its files and sockets.
func (t Table) Alive(id ID) bool {
	s, err := t.stat(id.PID)
	if err != nil || s.start != id.Start {
		return false
	}
	ended := s.state == 'Z' || s.state == 'X'
	return !ended || s.threads > 1
}

// Name returns the process's short name, at most 15 bytes of it, or "" if it is gone.
func (t Table) Name(pid int) string {
	s, err := t.stat(pid)
	if err != nil {
		return ""
	}
	return s.name
}

// Resident returns the memory that the process holds, in bytes, or 0 if it is gone.
func (t Table) Resident(pid int) int64 {
	text, err := os.ReadFile(t.path(pid, "statm"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// Signal sends a signal to the process, and to no other one: it opens a handle on whatever has the number, checks
// that this is the process meant, and signals through the handle. A process that is gone is no error.
func (t Table) Signal(id ID, sig syscall.Signal) error {
	if id.PID <= 1 {
		return nil
	}
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return fmt.Errorf("find process %d: %w", id.PID, err)
	}
	defer func() { _ = p.Release() }() // a handle on a process that is not our child has nothing to report
	if !t.Alive(id) {
		return nil
	}
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %s to process %d: %w", sig, id.PID, err)
	}
	return nil
}

// Wait returns nil once the process is gone, or the context's error.
func (t Table) Wait(ctx context.Context, id ID) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for t.Alive(id) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// Stop asks the process to end, and kills it when it has not ended after the grace time.
func (t Table) Stop(ctx context.Context, id ID, grace time.Duration) error {
	if err := t.Signal(id, syscall.SIGTERM); err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if t.Wait(patience, id) == nil {
		return nil
	}
	return t.Kill(ctx, id)
}

// Kill ends the process at once and waits until it is gone.
func (t Table) Kill(ctx context.Context, id ID) error {
	if err := t.Signal(id, syscall.SIGKILL); err != nil {
		return err
	}
	if err := t.Wait(ctx, id); err != nil {
		return fmt.Errorf("process %d does not end: %w", id.PID, err)
	}
	return nil
}

type stat struct {
	name    string
	state   byte
	threads int
	start   uint64
}

func (t Table) path(pid int, name string) string {
	return filepath.Join(t.root, strconv.Itoa(pid), name)
}

func (t Table) stat(pid int) (stat, error) {
	text, err := os.ReadFile(t.path(pid, "stat"))
	if errors.Is(err, syscall.ESRCH) { // the process ended between open and read
		err = fs.ErrNotExist
	}
	if err != nil {
		return stat{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	s, err := parseStat(text)
	if err != nil {
		return stat{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return s, nil
}

// parseStat reads a line of /proc/PID/stat. The name stands in parentheses and may itself hold spaces and
// parentheses, so what follows is found from the last closing one.
func parseStat(text []byte) (stat, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return stat{}, fmt.Errorf("no name in %q", text)
	}
	fields := bytes.Fields(text[end+1:])
	const state, threads, start = 0, 17, 19 // fields 3, 20 and 22 of proc(5)
	if len(fields) <= start || len(fields[state]) != 1 {
		return stat{}, fmt.Errorf("too few fields in %q", text)
	}
	ticks, err := strconv.ParseUint(string(fields[start]), 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("start time: %w", err)
	}
	n, err := strconv.Atoi(string(fields[threads]))
	if err != nil {
		return stat{}, fmt.Errorf("number of threads: %w", err)
	}
	return stat{name: string(text[open+1 : end]), state: fields[state][0], threads: n, start: ticks}, nil
}
