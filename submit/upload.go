package submit

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/kubespark/kubespark/conf"
)

// Upload is one local file that has to be copied to where the driver finds it, before anything is created.
type Upload struct {
	Key    string // the property, or "" for the main program
	Item   string // as the property has it
	Source string // path on this machine
	Target string // as the driver's properties name it
	dir    string // the fresh folder, on this machine's file system
}

// uploads plans the copies of a submission.
type uploads struct {
	to     string // spark.kubernetes.file.upload.path
	set    bool
	scheme string
	env    Env
	uuid   func() (string, error)
	list   []Upload
	log    *notices
}

func newUploads(c *conf.Conf, env Env, uuid func() (string, error), log *notices) (*uploads, error) {
	to, set, err := conf.FileUploadPath.Lookup(c)
	if err != nil {
		return nil, err
	}
	return &uploads{to: to, set: set, scheme: schemeOf(to), env: env, uuid: uuid, log: log}, nil
}

// rewrite returns the new value of a list property: uploaded items first, in their order, then the others. A list without
// local items is not touched.
func (u *uploads) rewrite(key, list string) (value string, changed bool, err error) {
	var uploaded, rest []string
	for _, item := range conf.SplitList(list) {
		if !isLocal(item) {
			rest = append(rest, item)
			continue
		}
		base, fragment, named := strings.Cut(item, "#")
		target, err := u.add(key, base)
		if err != nil {
			return "", false, err
		}
		if key == "spark.archives" {
			if p, ok := strings.CutPrefix(target, "file://"); ok {
				target = "file:" + p
			}
			if named {
				target += "#" + fragment
			}
		} else if named {
			u.log.warn("KubernetesUtils", fmt.Sprintf("%s: the name #%s of %s is lost by the upload", key, fragment, base))
		}
		uploaded = append(uploaded, target)
	}
	if len(uploaded) == 0 {
		return list, false, nil
	}
	return strings.Join(append(uploaded, rest...), ","), true, nil
}

// add plans one copy and returns the target's name.
func (u *uploads) add(key, uri string) (string, error) {
	what := key
	if what == "" {
		what = "the main application file"
	}
	source := localPath(uri)
	info, err := u.env.Files.Stat(source)
	switch {
	case err != nil:
		return "", sparkError(fmt.Sprintf("Uploading file %s failed... It %s on this machine (%s); use local:// for a file inside the image", source, missing(err), what))
	case !info.Mode().IsRegular():
		return "", sparkError(fmt.Sprintf("Uploading file %s failed... It is no regular file (%s)", source, what))
	case !u.set:
		return "", sparkError(fmt.Sprintf("Please specify spark.kubernetes.file.upload.path property. It is needed for %s of %s; use local:// for a file inside the image", uri, what))
	case u.scheme != "" && u.scheme != "file":
		return "", sparkError(fmt.Sprintf("spark.kubernetes.file.upload.path: scheme '%s' is not supported by native submission; "+
			"set spark.kubespark.submit.fallback=spark-submit to use the JVM", u.scheme))
	}
	id, err := u.uuid()
	if err != nil {
		return "", err
	}
	dir := u.to + "/spark-upload-" + id
	target := dir + "/" + path.Base(source)
	u.list = append(u.list, Upload{Key: key, Item: uri, Source: source, Target: target, dir: localPath(dir)})
	return target, nil
}

// copyFile makes an upload to a folder that this machine has mounted.
func (u Upload) copyFile() (err error) {
	if err := os.MkdirAll(u.dir, 0o755); err != nil {
		return u.failed(err)
	}
	in, err := os.Open(u.Source)
	if err != nil {
		return u.failed(err)
	}
	defer func() {
		if cerr := in.Close(); err == nil && cerr != nil {
			err = u.failed(cerr)
		}
	}()
	out, err := os.OpenFile(filepath.Join(u.dir, filepath.Base(u.Source)), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return u.failed(err)
	}
	if _, err = out.ReadFrom(in); err != nil {
		_ = out.Close() // the copy's error is the one to report
		return u.failed(err)
	}
	if err := out.Close(); err != nil {
		return u.failed(err)
	}
	return nil
}

func (u Upload) failed(err error) error {
	return &Error{Class: classSpark, Err: err,
		Text: fmt.Sprintf("Uploading file %s failed... Error uploading file %s to %s: %v", u.Source, path.Base(u.Source), u.Target, err)}
}

// remove takes an upload back; its folder is ours alone.
func (u Upload) remove() error { return os.RemoveAll(u.dir) }

const parallelUploads = 8

// upload makes all copies of the plan before anything is created. What it has begun is in j.uploaded when it returns.
func (j *creation) upload(ctx context.Context) error {
	j.uploaded = j.p.Uploads
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelUploads)
	for _, u := range j.p.Uploads {
		j.c.logLine(slog.LevelInfo, "KubernetesUtils", fmt.Sprintf("Uploading file: %s to dest: %s...", u.Source, u.Target))
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return u.copyFile()
		})
	}
	return g.Wait()
}

// removeUploads takes the copies back after a failure; each failure of its own is a warning.
func (j *creation) removeUploads(context.Context) {
	for _, u := range j.uploaded {
		j.warn("the upload "+u.Target, u.remove())
	}
}
