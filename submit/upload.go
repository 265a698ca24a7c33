package submit

import (
	"fmt"
	"path"
	"strings"

	"github.com/kubespark/kubespark/conf"
)

// Upload is one local file that has to be copied to where the driver finds it, before anything is created.
type Upload struct {
	Key    string // the property, or "" for the main program
	Item   string // as the property has it
	Source string // path on this machine
	Target string // as the driver's properties name it
	url    string // the same place for Storage
}

// uploads plans the copies of a submission.
type uploads struct {
	to     string // spark.kubernetes.file.upload.path
	set    bool
	scheme string
	env    Env
	store  Storage
	uuid   func() (string, error)
	list   []Upload
	log    *notices
}

func newUploads(c *conf.Conf, env Env, store Storage, uuid func() (string, error), log *notices) (*uploads, error) {
	to, set, err := conf.FileUploadPath.Lookup(c)
	if err != nil {
		return nil, err
	}
	return &uploads{to: to, set: set, scheme: schemeOf(to), env: env, store: store, uuid: uuid, log: log}, nil
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
	what := uploadedAs(key)
	source := localPath(uri)
	info, err := u.env.Files.Stat(source)
	switch {
	case err != nil:
		return "", sparkError(fmt.Sprintf("Uploading file %s failed... It %s on this machine (%s); use local:// for a file inside the image", source, missing(err), what))
	case !info.Mode().IsRegular():
		return "", sparkError(fmt.Sprintf("Uploading file %s failed... It is no regular file (%s)", source, what))
	case !u.set:
		return "", sparkError(fmt.Sprintf("Please specify spark.kubernetes.file.upload.path property. It is needed for %s of %s; use local:// for a file inside the image", uri, what))
	case !u.store.Supported(u.scheme):
		return "", sparkError(fmt.Sprintf("spark.kubernetes.file.upload.path: scheme '%s' is not supported by native submission; "+
			"set spark.kubespark.submit.fallback=spark-submit to use the JVM", u.scheme))
	}
	id, err := u.uuid()
	if err != nil {
		return "", err
	}
	dir := u.to + "/spark-upload-" + id
	target := dir + "/" + path.Base(source)
	url := target
	if u.scheme == "" || u.scheme == "file" {
		url = "file:" + u.env.Files.Abs(localPath(dir)) + "/" + path.Base(source)
	}
	u.list = append(u.list, Upload{Key: key, Item: uri, Source: source, Target: target, url: url})
	return target, nil
}

// uploadedAs names the property an upload belongs to.
func uploadedAs(key string) string {
	if key == "" {
		return "the main application file"
	}
	return key
}
