package trial

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"sync"
)

// Job is one of several applications of the row, in its namespace. What row sets and checks is the job's; suffix tells the
// jobs' names apart.
func (t *Trial) Job(suffix string, row Row) (*Trial, error) {
	j := &Trial{Cluster: t.Cluster, Ctx: t.Ctx, Row: row, Column: t.Column, Spark: t.Spark, Namespace: t.Namespace, of: t,
		DriverName: t.DriverName + "-" + suffix, Locator: t.Locator + suffix, Dir: filepath.Join(t.Dir, suffix),
		Program: row.Program, Conf: map[string]string{}, Args: row.Args, Options: row.Options, Env: maps.Clone(row.Env)}
	t.jobs = append(t.jobs, j)
	return j, os.MkdirAll(filepath.Join(j.Dir, "conf"), 0o755)
}

// Together calls f for each job at the same time and waits for all.
func Together(jobs []*Trial, f func(*Trial) error) error {
	all := make([]error, len(jobs))
	var group sync.WaitGroup
	for i, j := range jobs {
		group.Go(func() { all[i] = f(j) })
	}
	group.Wait()
	return errors.Join(all...)
}
