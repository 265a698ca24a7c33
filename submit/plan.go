package submit

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/feature"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// LabelSubmissionID holds a caller's own id of a submission on its driver pod.
const LabelSubmissionID = "kubespark.io/submission-id"

// Submission names a submitted application and how to wait for it.
type Submission struct {
	AppID, AppName     string
	Namespace, PodName string
	ContainerName      string        // of the Spark container in the driver pod
	Wait               bool          // spark.kubernetes.submission.waitAppCompletion
	ReportInterval     time.Duration // spark.kubernetes.report.interval
	Stock              map[string]bool
}

// ID is what --kill and --status take: <namespace>:<driver pod>.
func (s Submission) ID() string { return s.Namespace + ":" + s.PodName }

// Plan is the complete set of objects of one submission, computed before anything is written. It is immutable.
type Plan struct {
	Submission
	Conf       *conf.Conf // as the submission reads it: the options joined with all properties
	APIServer  string     // URL of the cluster
	Uploads    []Upload
	PreObjects []runtime.Object
	Objects    []runtime.Object // in the order of stock, the driver's ConfigMap last; without owners
	Notices    []Notice         // what to log before the first write
	// Manager says in one line which cluster manager will run in the driver.
	Manager string

	driver   feature.DriverSpec
	storage  Storage            // where the uploads go
	template *sparkpod.Template // of executors
	userName string
	prefix   string
}

// NewPlan computes the objects of a submission. Nothing is written; the same inputs give the same objects. Refusals are
// *Error or *conf.ValueError values, worded as Spark words them.
func NewPlan(args Args, env Env) (*Plan, error) {
	s, err := Resolve(args, env)
	if err != nil {
		return nil, err
	}
	if err := s.Check(args); err != nil {
		return nil, err
	}
	return s.Plan(env)
}

// Plan computes the objects of settings that have passed Check.
func (s *Settings) Plan(env Env) (*Plan, error) {
	p := &planner{s: s, env: env.withDefaults(), log: s.Notices}
	plan, err := p.plan()
	if err != nil {
		var e *Error
		var v *conf.ValueError
		if errors.As(err, &e) || errors.As(err, &v) {
			return nil, err
		}
		return nil, &Error{Class: classArgument, Text: err.Error(), Err: err}
	}
	return plan, nil
}

// planner carries one plan through its steps.
type planner struct {
	s   *Settings
	env Env
	log notices

	version   conf.Version
	master    string
	resource  string // resolved URI of the main program
	kind      string
	mainClass string
	conf      *conf.Conf
	ids       *ids
	manager   string
	store     Storage
}

func (p *planner) plan() (*Plan, error) {
	for _, step := range []func() error{
		p.chooseVersion, p.resolveMaster, p.resolveMain, p.buildConf, p.checkKeys, p.addJar, p.makeIDs,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p.objects()
}

func (p *planner) chooseVersion() (err error) {
	if p.version, err = SparkVersion(p.s.Props, p.env); err != nil {
		return err
	}
	if tag := tagVersion(p.s.Props); tag != "" && tag != p.version.String() {
		p.log.warn("SparkSubmit", fmt.Sprintf("The image's tag says Spark %s, and the objects are made as Spark %s makes them: %s=%s changes that.", tag, p.version, conf.SparkVersion.Key(), tag))
	}
	if err := p.s.CheckCluster(p.version); err != nil {
		return err
	}
	return p.checkPython()
}

// checkPython refuses Python 2, as Spark 4.0 does; later versions do not look at the key.
func (p *planner) checkPython() error {
	v, set := p.s.Props[conf.PythonVersion.Key()]
	if !set || v == "3" || p.version.AtLeast(4, 1) || resourceKind(p.s.PrimaryResource) != feature.Python {
		return nil
	}
	return &Error{Class: classArgument, Text: fmt.Sprintf("'%s' in %s is invalid. Python 2 was dropped from Spark 3.1, and only 3 is allowed in this configuration. "+
		"Note that this configuration was deprecated in Spark 3.1. Please set 'spark.pyspark.python' and 'spark.pyspark.driver.python' configurations or "+
		"PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON environment variables instead.", v, conf.PythonVersion.Key())}
}

func (p *planner) resolveMaster() (err error) {
	var log []Notice
	p.master, log, err = NormalizeMaster(p.s.Master)
	p.log = append(p.log, log...)
	return err
}

// maxArgument is what Linux takes in one argument of a program, its final zero included.
const maxArgument = 128 << 10

func (p *planner) resolveMain() (err error) {
	for i, a := range p.s.AppArgs {
		if len(a) >= maxArgument {
			return &Error{Class: classArgument, Text: fmt.Sprintf("argument %d of the application has %d bytes, and Linux takes at most %d in one: put it into a file", i+1, len(a), maxArgument-1)}
		}
	}
	r := p.s.PrimaryResource
	if r != noResource {
		r = resolveURI(r, p.env.Files)
	}
	p.resource, p.kind = r, resourceKind(r)
	p.mainClass, err = mainClass(p.kind, p.s.MainClass, r, p.env)
	return err
}

func (p *planner) checkKeys() error {
	if !conf.IsStock(p.conf, "submit-checks") {
		for _, k := range conf.Keys() {
			if _, set := p.conf.Lookup(k.Key()); !set {
				continue
			}
			if err := k.Validate(p.conf); err != nil {
				return err
			}
		}
	}
	for _, e := range []*conf.Entry[string]{conf.Namespace, conf.ContainerImage, conf.DriverContainerImage, conf.DriverPodName,
		conf.DriverServiceAccount, conf.FileUploadPath} {
		text := p.conf.Raw(e.Key(), "")
		if strings.Contains(text, "${env:") || strings.Contains(text, "${system:") {
			p.log.warn("SparkSubmit", fmt.Sprintf("%s is %s: the driver expands it again in its own environment, and may get another value than this submission",
				e.Key(), text))
		}
	}
	if a := p.conf.Raw(conf.PodsAllocator.Key(), ""); strings.Contains(a, ".") && !strings.HasPrefix(a, "org.apache.spark.") {
		p.log.warn("SparkSubmit", fmt.Sprintf("%s=%s is a class of your own: Spark's own cluster manager will run in the driver", conf.PodsAllocator.Key(), a))
	}
	image, ok, err := conf.DriverContainerImage.Lookup(p.conf)
	if err != nil {
		return err
	}
	if !ok || image == "" {
		return sparkError("Must specify the driver container image")
	}
	return nil
}

func (p *planner) makeIDs() (err error) {
	id := p.conf.Raw(conf.SubmissionID.Key(), "")
	if errs := validation.IsValidLabelValue(id); len(errs) > 0 {
		return &Error{Class: classConf, Text: fmt.Sprintf("%s: %q cannot be a label value: %s", conf.SubmissionID.Key(), id, errs[0])}
	}
	p.ids = newIDs(p.env, id)
	return nil
}

// objects builds the pods, after the uploads are planned.
func (p *planner) objects() (*Plan, error) {
	namespace, err := conf.Namespace.Get(p.conf)
	if err != nil {
		return nil, err
	}
	sub := Submission{AppID: p.ids.appID(), AppName: p.conf.Raw("spark.app.name", "spark"), Namespace: namespace, Stock: stockNames(p.conf)}
	if sub.Wait, err = conf.WaitAppCompletion.Get(p.conf); err != nil {
		return nil, err
	}
	if sub.ReportInterval, err = conf.ReportInterval.Get(p.conf); err != nil {
		return nil, err
	}
	in := feature.DriverInput{
		Conf: p.conf, AppID: sub.AppID, Namespace: namespace, Prefix: sparkpod.NamePrefix(sub.AppName, p.ids.unique()),
		Unique: p.ids.unique, MainClass: p.mainClass, Resource: p.resource, ResourceType: p.kind, Args: p.s.AppArgs,
		ProxyUser: p.s.ProxyUser, UserName: p.userName(), Env: p.env.Lookup, Files: p.env.Files,
	}
	template, err := p.templates(&in)
	if err != nil {
		return nil, err
	}
	uploads, err := p.uploads(&in)
	if err != nil {
		return nil, err
	}
	if in.ConfFiles, err = confFiles(p.conf, p.s.ConfDir, p.env.Files, &p.log); err != nil {
		return nil, err
	}
	spec, err := feature.BuildDriver(in)
	if err != nil {
		return nil, err
	}
	p.finish(&spec)
	sub.PodName, sub.ContainerName = spec.Pod.Name, spec.ContainerName
	if p.ids.err != nil {
		return nil, p.ids.err
	}
	return &Plan{Submission: sub, Conf: p.conf, APIServer: APIServer(p.master), Uploads: uploads, PreObjects: spec.PreObjects,
		Objects: spec.Objects, Notices: p.log, Manager: p.manager, driver: spec, storage: p.storage(), template: template, userName: in.UserName, prefix: in.Prefix}, nil
}

func (p *planner) finish(spec *feature.DriverSpec) {
	for _, text := range spec.Warnings {
		p.log.warn("KubernetesDriverBuilder", text)
	}
	for _, text := range spec.Infos {
		p.log.info("KubernetesDriverBuilder", text)
	}
	if id := p.conf.Raw(conf.SubmissionID.Key(), ""); id != "" {
		spec.Pod.Labels = maps.Clone(spec.Pod.Labels)
		spec.Pod.Labels[LabelSubmissionID] = id
	}
}

// templates reads both pod templates; the executors' one is returned parsed.
func (p *planner) templates(in *feature.DriverInput) (*sparkpod.Template, error) {
	driver, _, err := p.template(conf.DriverTemplateFile, conf.DriverTemplateContainer)
	if err != nil {
		return nil, err
	}
	in.Template = driver
	executor, text, err := p.template(conf.ExecutorTemplateFile, conf.ExecutorTemplateContainer)
	in.ExecutorTemplateText = text
	if err == nil && executor == nil && text == "" {
		return nil, nil
	}
	return executor, err
}

func (p *planner) template(file, container *conf.Entry[string]) (*sparkpod.Template, string, error) {
	uri, ok, err := file.Lookup(p.conf)
	if err != nil || !ok {
		return nil, "", err
	}
	text, err := p.templateText(file.Key(), uri)
	if err != nil {
		return nil, "", err
	}
	name, err := container.Get(p.conf)
	if err != nil {
		return nil, "", err
	}
	t, warnings, err := sparkpod.LoadTemplate(text, name)
	for _, w := range warnings {
		p.log.warn("KubernetesUtils", w)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w (%s=%s)", err, file.Key(), uri)
	}
	return t, string(text), nil
}

func (p *planner) templateText(key, uri string) ([]byte, error) {
	const refused = "Could not load pod from template file. "
	path := localPath(strings.TrimPrefix(uri, "local:"))
	switch scheme := schemeOf(uri); scheme {
	case "", "file", "local":
	case "http", "https":
		text, err := p.env.fetch(uri, maxTemplate)
		if err != nil {
			return nil, &Error{Class: classSpark, Text: refused + key + ": " + err.Error(), Err: err}
		}
		return text, nil
	default:
		return nil, sparkError(fmt.Sprintf("%s: template scheme %s not supported by native submission", key, scheme))
	}
	text, err := p.env.Files.ReadFile(path)
	if err != nil {
		return nil, sparkError(fmt.Sprintf("%s%s: %s %s", refused, key, path, missing(err)))
	}
	return text, nil
}

// uploads plans the copies of local dependencies and puts the rewritten values into in.
func (p *planner) uploads(in *feature.DriverInput) ([]Upload, error) {
	u, err := newUploads(p.conf, p.env, p.storage(), p.ids.uuid, &p.log)
	if err != nil {
		return nil, err
	}
	in.Uploaded = map[string]string{}
	for _, key := range []string{"spark.jars", "spark.files", "spark.archives", "spark.submit.pyFiles"} {
		value, changed, err := u.rewrite(key, p.conf.Raw(key, ""))
		if err != nil {
			return nil, err
		}
		if changed {
			in.Uploaded[key] = value
		}
	}
	local := p.resource != noResource && isLocal(p.resource)
	switch {
	case local && p.kind == feature.R:
		return nil, sparkError(fmt.Sprintf("The R program %s lies on this machine, and Spark does not ship it; use local:// for a file inside the image, or a remote URI", p.resource))
	case local && p.kind == feature.Python:
		if in.Resource, err = u.add("", p.resource); err != nil {
			return nil, err
		}
	case local:
		in.Resource = noResource // it is in spark.jars
	}
	if len(u.list) > 0 {
		p.warnProxyUser(u.to)
	}
	return u.list, nil
}

// userName is SPARK_USER of the driver.
func (p *planner) userName() string {
	for _, name := range []string{p.env.get("SPARK_USER"), p.s.ProxyUser, p.env.get("HADOOP_USER_NAME"), p.env.UserName} {
		if name != "" {
			return name
		}
	}
	return "spark"
}

func stockNames(c *conf.Conf) map[string]bool {
	out := map[string]bool{}
	for _, n := range []string{"exit-code", "create-order", "completion", "state-report"} {
		out[n] = conf.IsStock(c, n)
	}
	return out
}
