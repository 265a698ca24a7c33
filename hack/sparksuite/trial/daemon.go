package trial

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// daemon is a program that runs beside the cluster for the whole run.
type daemon struct {
	name, log string
	process   *os.Process
	ended     chan struct{}
	err       error // what Wait said, once ended is closed
}

// stopLimit is how long a daemon may take to end.
const stopLimit = 10 * time.Second

// start runs a program of Bin with the cluster's kubeconfig until Down. Its log is in Logs.
func (c *Cluster) start(program string, env []string, args ...string) error {
	log, err := os.Create(filepath.Join(c.Logs, program+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(c.Bin, program), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Work, log, log
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+c.Kubeconfig), env...)
	// An interrupt of the terminal is for the suite, which stops the daemons when the rows have ended.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	d := &daemon{name: program, log: log.Name(), process: cmd.Process, ended: make(chan struct{})}
	go func() {
		d.err = cmd.Wait()
		close(d.ended)
	}()
	c.daemons = append(c.daemons, d)
	return nil
}

// alive is an error if the program has ended by itself.
func (d *daemon) alive() error {
	select {
	case <-d.ended:
		return fmt.Errorf("%s has ended by itself, see %s: %w", d.name, d.log, cmp.Or(d.err, errors.New("exit status 0")))
	default:
		return nil
	}
}

// stop ends the program. That it had ended before is an error: what ran without it proves nothing.
func (d *daemon) stop() error {
	if err := d.alive(); err != nil {
		return err
	}
	if err := d.process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop %s: %w", d.name, err)
	}
	select {
	case <-d.ended:
		return nil
	case <-time.After(stopLimit):
	}
	if err := d.process.Kill(); err != nil {
		return fmt.Errorf("stop %s: %w", d.name, err)
	}
	<-d.ended
	return nil
}
