package fidelity

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/cli"
	"github.com/kubespark/kubespark/internal/executor/sets"
	"github.com/kubespark/kubespark/internal/feature"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/sparkpod"
	"github.com/kubespark/kubespark/submit"
)

// built is what one side made of a case: objects in the order in which they are written, or the error's text.
type built struct {
	objects []map[string]any
	refusal string
}

// ownDriver builds a driver case as the command does, up to the API.
func ownDriver(c Case, dir string) (built, error) {
	args, err := cli.ParseArgs(c.CommandLine(Server, dir))
	if err != nil {
		return built{refusal: err.Error()}, nil
	}
	env := c.Environment(dir)
	env["SPARK_HOME"] = path.Join(dir, "version", "home")
	plan, err := submit.NewPlan(args, submit.Env{Lookup: lookup(env), Files: submit.OSFiles{Dir: dir}, UserName: "analyst"})
	if err != nil {
		return built{refusal: err.Error()}, nil
	}
	body, err := plan.DriverBody()
	if err != nil {
		return built{}, err
	}
	pod, err := decode(body)
	if err != nil {
		return built{}, err
	}
	if plan.DriverPod().Namespace == "" { // the path alone places it
		delete(pod["metadata"].(map[string]any), "namespace")
	}
	out := built{}
	for _, o := range plan.PreObjects {
		if err := out.add(kube.Encode(o)); err != nil {
			return out, err
		}
	}
	out.objects = append(out.objects, pod)
	for _, o := range plan.Objects {
		if err := out.add(kube.Encode(o)); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (b *built) add(body []byte, err error) error {
	if err != nil {
		return err
	}
	tree, err := decode(body)
	b.objects = append(b.objects, tree)
	return err
}

func decode(body []byte) (map[string]any, error) {
	var tree map[string]any
	return tree, json.Unmarshal(body, &tree)
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(k string) (string, bool) { v, ok := env[k]; return v, ok }
}

// ownExecutors builds the executors that stock's driver asked for, from that driver's own configuration.
func ownExecutors(c Case, r Recording, dir string, stock []map[string]any) (built, error) {
	v, err := conf.ParseVersion(r.Version)
	if err != nil {
		return built{}, err
	}
	props := map[string]string{}
	for k, v := range r.Conf {
		props[k] = strings.ReplaceAll(v, Dir, dir)
	}
	env := c.Environment(dir)
	in := feature.ExecutorInput{
		Conf: conf.New(props, conf.WithVersion(v), conf.WithEnv(lookup(env))), AppID: props["spark.app.id"], Namespace: "default",
		PodNamePrefix: props["spark.kubernetes.executor.podNamePrefix"], UserName: "analyst", LocalDirs: env["SPARK_LOCAL_DIRS"],
	}
	if name, ok := props["spark.kubernetes.driver.pod.name"]; ok {
		in.Driver = &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: DriverUID, Controller: new(true)}
	}
	if err := executorTemplate(&in, dir); err != nil {
		return built{}, err
	}
	if in.Profile, err = profileOf(c, in.Conf); err != nil {
		return built{}, err
	}
	var out built
	in.ConfigMapName, in.ConfFiles = executorConfigMap(stock)
	for _, o := range stock {
		if err := out.answer(in, c, o, env["SPARK_CONF_DIR"]); err != nil {
			return out, err
		}
	}
	return out, nil
}

// answer adds what we make where stock made the object; claims come with their pod.
func (b *built) answer(in feature.ExecutorInput, c Case, stock map[string]any, confDir string) error {
	switch kind := stock["kind"]; kind {
	case "ConfigMap":
		files := map[string]string{}
		for _, name := range in.ConfFiles {
			text, err := os.ReadFile(path.Join(confDir, name))
			if err != nil {
				return err
			}
			files[name] = string(text)
		}
		return b.add(kube.Encode(feature.ExecutorConfigMap(in.ConfigMapName, in.Namespace, in.AppID, files, in.Driver)))
	case "StatefulSet", "Deployment":
		return b.set(in, kind == "StatefulSet")
	case "Pod":
		labels, _ := stock["metadata"].(map[string]any)["labels"].(map[string]any)
		in.AuthSecret = generatedSecret(stock)
		in.ExecutorID = fmt.Sprint(labels[sparkpod.LabelExecutorID])
		if len(c.Profile) > 0 { // numbered for the whole JVM
			id, err := strconv.Atoi(fmt.Sprint(labels[sparkpod.LabelResourceProfile]))
			if err != nil {
				return err
			}
			in.Profile.ID = id
		}
		return b.executor(in)
	}
	return nil
}

// generatedSecret is what the driver made up for spark.authenticate; empty if it is not on.
func generatedSecret(pod map[string]any) string {
	for path, value := range flatten(pod, func(string) bool { return false }) {
		if strings.HasSuffix(path, "[_SPARK_AUTH_SECRET].value") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// executorConfigMap is the name of the executors' ConfigMap and the files in it.
func executorConfigMap(stock []map[string]any) (name string, files []string) {
	for _, o := range stock {
		if o["kind"] != "ConfigMap" {
			continue
		}
		name = fmt.Sprint(o["metadata"].(map[string]any)["name"])
		data, _ := o["data"].(map[string]any)
		for k := range data {
			if k != "spark.properties" && k != "spark.kubernetes.namespace" {
				files = append(files, k)
			}
		}
	}
	slices.Sort(files)
	return name, files
}

// set adds a controller of executors.
func (b *built) set(in feature.ExecutorInput, ordinals bool) error {
	kind, prefix := sets.Deployment, "spark-d-"
	if ordinals {
		kind, prefix = sets.StatefulSet, "spark-s-"
	}
	replicas, err := strconv.Atoi(in.Conf.Raw("spark.executor.instances", ""))
	if err != nil {
		return err
	}
	in.ExecutorID = sets.ExecutorID
	spec, err := feature.BuildExecutor(in)
	if err != nil {
		return err
	}
	pod, err := spec.Body()
	if err != nil {
		return err
	}
	return b.add(kind.Body(sets.Template{Pod: pod, Claims: spec.Claims, Namespace: in.Namespace, Owner: in.Driver},
		sets.Change{Name: prefix + in.AppID + "-0", Replicas: replicas}, in.AppID))
}

// executor adds a pod and its claims.
func (b *built) executor(in feature.ExecutorInput) error {
	spec, err := feature.BuildExecutor(in)
	if err != nil {
		b.refusal = err.Error()
		return nil //nolint:nilerr // it is the result
	}
	if spec.Pod.Namespace != "" {
		spec.Pod.Namespace = in.Namespace
	}
	if err := b.add(spec.Body()); err != nil {
		return err
	}
	for _, claim := range spec.Claims {
		if err := b.add(kube.Encode(claim)); err != nil {
			return err
		}
	}
	return nil
}

func executorTemplate(in *feature.ExecutorInput, dir string) error {
	file, ok, err := conf.ExecutorTemplateFile.Lookup(in.Conf)
	if err != nil || !ok {
		return err
	}
	text, err := submit.OSFiles{Dir: dir}.ReadFile(file)
	if err != nil {
		return err
	}
	name, err := conf.ExecutorTemplateContainer.Get(in.Conf)
	if err != nil {
		return err
	}
	in.Template, _, err = sparkpod.LoadTemplate(text, name)
	return err
}

// profileOf is the resource profile of a case; sizes in it are JVM texts.
func profileOf(c Case, properties *conf.Conf) (sparkpod.Profile, error) {
	if len(c.Profile) == 0 {
		return feature.DefaultProfile(properties)
	}
	p := sparkpod.Profile{ID: 1, ExecutorResources: map[string]sparkpod.ExecResource{}}
	for name, text := range c.Profile {
		amount, vendor, _ := strings.Cut(text, ":")
		n, err := strconv.ParseInt(amount, 10, 64)
		if err != nil {
			if n, err = conf.ParseBytes(amount, conf.MiB); err != nil {
				return p, err
			}
		}
		p.ExecutorResources[name] = sparkpod.ExecResource{Amount: n, Vendor: vendor}
	}
	return p, nil
}
