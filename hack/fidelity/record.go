package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubespark/kubespark/internal/fidelity"
)

// recorder records the cases of one Spark version, one after another.
type recorder struct {
	version, home string
	cases         []fidelity.Case

	dir       string // scratch
	classPath string
	shared    *stock // runs the cases without an environment of their own
	log       bytes.Buffer
}

func (r *recorder) record() (err error) {
	began := time.Now()
	if r.dir, err = os.MkdirTemp("", "fidelity-"); err != nil {
		return err
	}
	defer func() {
		if rerr := os.RemoveAll(r.dir); err == nil {
			err = rerr
		}
	}()
	if r.dir, err = filepath.EvalSymlinks(r.dir); err != nil {
		return err
	}
	if r.classPath, err = compileStock(r.home, r.dir); err != nil {
		return err
	}
	base := filepath.Join(r.dir, "shared")
	if err := (fidelity.Case{}).WriteFiles(base); err != nil {
		return err
	}
	env := environment(r.home, fidelity.Case{}.Environment(base))
	if r.shared, err = startStock(r.classPath, filepath.Join(base, "conf"), env, &r.log); err != nil {
		return err
	}
	for _, c := range r.cases {
		if err := r.one(c); err != nil {
			return fmt.Errorf("case %s-%s of Spark %s: %w\n%s", c.Role, c.Name, r.version, err, tail(r.log.String()))
		}
		r.log.Reset()
	}
	fmt.Printf("Spark %s: %d cases in %.0fs\n", r.version, len(r.cases), time.Since(began).Seconds())
	return r.shared.close()
}

func tail(s string) string { return s[max(0, len(s)-4000):] }

func (r *recorder) one(c fidelity.Case) error {
	dir := filepath.Join(r.dir, c.Role+"-"+c.Name)
	if err := c.WriteFiles(dir); err != nil {
		return err
	}
	s, err := listen()
	if err != nil {
		return err
	}
	rec := fidelity.Recording{Case: c.Name, Version: r.version, Input: c.Hash()}
	if c.Role == fidelity.Driver {
		rec.Error, err = r.submit(c, s, dir)
	} else {
		err = r.drive(c, s, dir, &rec)
	}
	if err != nil {
		return err
	}
	if c.Role == fidelity.Driver {
		rec.Requests, _ = s.written()
	}
	if err := s.close(); err != nil {
		return err
	}
	if len(rec.Requests) == 0 && rec.Error == "" {
		return fmt.Errorf("nothing was sent")
	}
	return r.save(c, rec, s.addr, dir)
}

// submit runs a submission.
func (r *recorder) submit(c fidelity.Case, s *server, dir string) (refusal string, err error) {
	line := c.CommandLine(s.addr, dir)
	if c.OwnEnvironment() {
		return submitAlone(r.home, line, environment(r.home, c.Environment(dir)), &r.log)
	}
	_, refusal, err = r.shared.ask(append([]string{"submit"}, line...)...)
	return refusal, err
}

// drive runs a driver until it has sent its executors.
func (r *recorder) drive(c fidelity.Case, s *server, dir string, rec *fidelity.Recording) error {
	jvm := r.shared
	if c.OwnEnvironment() {
		env := environment(r.home, c.Environment(dir))
		own, err := startStock(r.classPath, filepath.Join(dir, "conf"), env, &r.log)
		if err != nil {
			return err
		}
		defer func() { _ = own.close() }() // its work is done
		jvm = own
	}
	request := []string{"driver"}
	props := c.DriverConf(s.addr, dir)
	for _, k := range slices.Sorted(maps.Keys(props)) {
		request = append(request, k, props[k])
	}
	for _, k := range slices.Sorted(maps.Keys(c.Profile)) {
		request = append(request, "profile."+k, c.Profile[k])
	}
	conf, refusal, err := jvm.ask(request...)
	if err != nil {
		return err
	}
	if refusal != "" {
		return fmt.Errorf("the driver did not start: %s", refusal)
	}
	rec.Conf = map[string]string{}
	for i := 0; i+1 < len(conf); i += 2 {
		rec.Conf[conf[i]] = conf[i+1]
	}
	if err := wait(s, max(c.Pods, 1), c.Claims()); err != nil {
		return err
	}
	rec.Requests, _ = s.written()
	_, _, err = jvm.ask("stop")
	return err
}

// wait returns when so many pods or controllers, and claims, were sent and nothing came after them for a while.
func wait(s *server, pods, claims int) error {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		requests, quiet := s.written()
		n, made := 0, 0
		for _, q := range requests {
			switch filepath.Base(q.Path) {
			case "pods", "statefulsets", "deployments":
				n++
			case "persistentvolumeclaims":
				made++
			}
		}
		if n >= pods && made >= claims && quiet > 700*time.Millisecond {
			return nil
		}
	}
	return fmt.Errorf("the driver did not send %d executors and %d claims within a minute", pods, claims)
}

// save takes what belongs to this machine and run out of the recording, and writes it.
func (r *recorder) save(c fidelity.Case, rec fidelity.Recording, addr, dir string) error {
	text, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	_, port, _ := strings.Cut(addr, ":")
	_, fixed, _ := strings.Cut(fidelity.Server, ":")
	clean := strings.NewReplacer(
		addr, fidelity.Server,
		`127.0.0.1\\:`+port, `127.0.0.1\\:`+fixed,
		dir, fidelity.Dir,
		filepath.Join(r.dir, "shared"), fidelity.Dir,
		r.home, "${SPARK_HOME}",
	).Replace(string(text))
	rec = fidelity.Recording{}
	if err := json.Unmarshal([]byte(clean), &rec); err != nil {
		return err
	}
	return rec.Save(fidelity.Recordings, c)
}
