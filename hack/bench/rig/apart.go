package rig

import (
	_ "embed" // apart.py
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

//go:embed apart.py
var apart string

// RunApart is Run by a parent of its own, a few MB of Python. The kernel counts a process's peak memory from its fork on, when it
// still shares its parent's memory: of a program smaller than this one, Run would say how big this one is.
func RunApart(cmd *exec.Cmd) (Ran, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return Ran{}, err
	}
	defer read.Close()
	python, err := exec.LookPath("python3")
	if err != nil {
		return Ran{}, errors.Join(err, write.Close())
	}
	cmd.Args = append([]string{"python3", "-I", "-c", apart, cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.ExtraFiles = python, []*os.File{write}
	ran, err := Run(cmd)
	if err = errors.Join(err, write.Close()); err != nil {
		return ran, err
	}
	var took struct{ Began, Wall, CPU, PeakKiB float64 }
	if err := json.NewDecoder(read).Decode(&took); err != nil {
		return ran, fmt.Errorf("read what %s took: %w", cmd.Args[4], err)
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return Ran{Began: time.UnixMicro(int64(took.Began * 1e6)), Wall: seconds(took.Wall), CPU: seconds(took.CPU), PeakMiB: took.PeakKiB / 1024,
		Output: ran.Output}, nil
}
