package trial

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// killManager finds the manager by its name, which the kernel cuts to 15 letters.
const killManager = `pid=$(pgrep -o -x kubespark-manag) && kill -9 "$pid" && echo "killed $pid"`

// takenOver is what the shim logs when another manager works.
const takenOver = "has taken over."

// kill ends the manager with -9 once the first executor's container runs: its JVM has yet to register.
func (t *Trial) kill() error {
	if !t.Column.Kill {
		return nil
	}
	err := t.Eventually(t.limit(), "an executor's container runs", func() error {
		for _, p := range t.SeenExecutors() {
			if p.Status.Phase == corev1.PodRunning {
				return nil
			}
		}
		return errors.Join(errors.New("none does"), t.driverAlive())
	})
	if err != nil {
		return err
	}
	out, err := t.Exec(t.DriverName, "/bin/sh", "-c", killManager)
	if err != nil || !strings.Contains(out, "killed ") {
		return fmt.Errorf("the manager was not killed: %w: %s", err, out)
	}
	t.killed = true
	return nil
}

// checkKill holds that the application lived on under another manager.
func (t *Trial) checkKill() error {
	if !t.killed {
		return nil
	}
	if err := t.DriverSays(10*time.Second, takenOver); err != nil {
		return fmt.Errorf("no other manager took over, so the kill proves nothing: %w", err)
	}
	return nil
}
