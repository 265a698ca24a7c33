package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/submit"
)

const sparkEnvTime = 5 * time.Second

// sparkEnviron is the environment after spark-env.sh of the configuration folder, which stock's scripts run first. warning
// says why it was not read.
func sparkEnviron(environ []string, s *submit.Settings) (result []string, warning string, err error) {
	if s.ConfDir == "" {
		return environ, "", nil
	}
	file := filepath.Join(s.ConfDir, "spark-env.sh")
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return environ, "", nil
	}
	on, err := conf.SubmitSparkEnv.Get(conf.New(s.Props))
	if err != nil || !on {
		return environ, "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), sparkEnvTime)
	defer cancel()
	// The variables come back on a stream of their own, so that what the script prints does no harm.
	cmd := exec.CommandContext(ctx, "bash", "-c", `set -a; . "$1" 1>&2; env -0 >&3`, "bash", file)
	r, w, err := os.Pipe()
	if err != nil {
		return nil, "", fmt.Errorf("run %s: %w", file, err)
	}
	defer func() { _ = r.Close() }() // read to its end
	cmd.Env, cmd.ExtraFiles, cmd.WaitDelay = environ, []*os.File{w}, time.Second
	text := make(chan []byte, 1)
	go func() { text <- readAll(r) }()
	err = cmd.Run()
	_ = w.Close() // the script has its own copy
	out := <-text
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return environ, file + " was not read: there is no bash here", nil
	case ctx.Err() != nil:
		return nil, "", fmt.Errorf("%s has not ended within %s: correct it, or set %s=false", file, sparkEnvTime, conf.SubmitSparkEnv.Key())
	case err != nil:
		return nil, "", fmt.Errorf("%s failed (%w): correct it, or set %s=false", file, err, conf.SubmitSparkEnv.Key())
	}
	for kv := range strings.SplitSeq(string(out), "\x00") {
		if strings.Contains(kv, "=") {
			result = append(result, kv)
		}
	}
	return result, "", nil
}
