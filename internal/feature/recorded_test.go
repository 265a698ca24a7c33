package feature

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// recording is what a stock spark-submit, or a stock driver in client mode, sent to an API server, and what went in.
type recording struct {
	Name, Role, Version              string
	Env, Conf, ConfFiles, Files      map[string]string
	DriverTemplate, ExecutorTemplate string
	AppID, Prefix, User, ProxyUser   string
	MainClass, Resource              string
	ResourceType, AuthSecret         string
	Args                             []string
	ConfigMap, Service               string
	Properties                       map[string]string
	Pod                              map[string]any
	Objects                          []map[string]any
	Pods                             []map[string]any
	Claims                           []map[string]any
}

// TestRecorded compares every field of what we build with what stock Spark built from the same settings. Generated parts
// and lists in hash order aside, nothing may differ.
func TestRecorded(t *testing.T) {
	paths, err := filepath.Glob("testdata/recorded/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var r recording
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		t.Run(r.Name, func(t *testing.T) {
			if r.Role == "driver" {
				compareDriver(t, r)
			} else {
				compareExecutors(t, r)
			}
		})
	}
}

func (r recording) conf(t *testing.T) *conf.Conf {
	t.Helper()
	v, err := conf.ParseVersion(r.Version)
	if err != nil {
		t.Fatal(err)
	}
	c := map[string]string{stockKey: "service-account,submit-checks"}
	maps.Copy(c, r.Conf)
	return conf.New(c, conf.WithVersion(v))
}

func (r recording) template(t *testing.T, text string, container *conf.Entry[string]) *sparkpod.Template {
	t.Helper()
	name, err := container.Get(r.conf(t))
	if err != nil {
		t.Fatal(err)
	}
	tpl, _, err := sparkpod.LoadTemplate([]byte(text), name)
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

func compareDriver(t *testing.T, r recording) {
	uniques := []string{between(r.Service, "spark-", "-driver-svc"), between(r.ConfigMap, "spark-drv-", "-conf-map")}
	if strings.HasPrefix(r.Service, r.Prefix) {
		uniques = uniques[1:]
	}
	spec, err := BuildDriver(DriverInput{
		Conf: r.conf(t), AppID: r.AppID, Namespace: "default", Prefix: r.Prefix,
		Unique:    func() string { u := uniques[0]; uniques = uniques[1:]; return u },
		MainClass: r.MainClass, Resource: r.Resource, ResourceType: r.ResourceType, Args: r.Args, ProxyUser: r.ProxyUser,
		Template:             r.template(t, r.DriverTemplate, conf.DriverTemplateContainer),
		ExecutorTemplateText: r.ExecutorTemplate, UserName: r.User,
		Env:   func(k string) (string, bool) { v, ok := r.Env[k]; return v, ok },
		Files: memFiles(r.Files), ConfFiles: r.ConfFiles,
	})
	if err != nil {
		t.Fatal(err)
	}
	body, err := spec.Body()
	if err != nil {
		t.Fatal(err)
	}
	got := decode(t, body)
	inNamespace(got)
	same(t, "pod", r.Pod, got)
	sameOrder(t, r.conf(t), &driverRole, r.Pod, got)
	delete(spec.Properties, stockKey)
	same(t, "properties", r.Properties, spec.Properties)
	var ours []map[string]any
	for _, o := range spec.Objects {
		text, err := sparkpod.RenderObject(o)
		if err != nil {
			t.Fatal(err)
		}
		ours = append(ours, decode(t, text))
	}
	if len(ours) != len(r.Objects) {
		t.Fatalf("%d objects, stock has %d", len(ours), len(r.Objects))
	}
	for i := range ours {
		same(t, "object", r.Objects[i], ours[i])
	}
}

func compareExecutors(t *testing.T, r recording) {
	c := r.conf(t)
	for _, pod := range r.Pods {
		labels := pod["metadata"].(map[string]any)["labels"].(map[string]any)
		profile := recordedProfile
		if labels[sparkpod.LabelResourceProfile] == "0" {
			var err error
			if profile, err = DefaultProfile(c); err != nil {
				t.Fatal(err)
			}
		}
		spec, err := BuildExecutor(ExecutorInput{
			Conf: c, AppID: r.AppID, Namespace: "default", ExecutorID: labels[sparkpod.LabelExecutorID].(string),
			PodNamePrefix: r.Prefix, Profile: profile, ConfigMapName: r.ConfigMap, ConfFiles: []string{"log4j2.properties"},
			Template: r.template(t, r.ExecutorTemplate, conf.ExecutorTemplateContainer), UserName: r.User,
			AuthSecret: r.AuthSecret, LocalDirs: r.Env["SPARK_LOCAL_DIRS"],
		})
		if err != nil {
			t.Fatal(err)
		}
		body, err := spec.Body()
		if err != nil {
			t.Fatal(err)
		}
		got := decode(t, body)
		inNamespace(got)
		if r.ExecutorTemplate != "" { // we count either of the template's two fields
			got["spec"].(map[string]any)["serviceAccount"] = pod["spec"].(map[string]any)["serviceAccount"]
			pod["spec"].(map[string]any)["serviceAccount"] = got["spec"].(map[string]any)["serviceAccount"]
		}
		same(t, "pod", pod, got)
		sameOrder(t, c, &executorRole, pod, got)
		for i, claim := range spec.Claims {
			text, err := sparkpod.RenderObject(claim)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "claim", r.Claims[i], decode(t, text))
		}
		if len(spec.Claims) != len(r.Claims) {
			t.Errorf("%d claims, stock has %d", len(spec.Claims), len(r.Claims))
		}
	}
}

// inNamespace does what posting does: the pod's own namespace is replaced.
func inNamespace(pod map[string]any) {
	m := pod["metadata"].(map[string]any)
	if _, ok := m["namespace"]; ok {
		m["namespace"] = "default"
	}
}

// recordedProfile is the profile that the recorded application made.
var recordedProfile = sparkpod.Profile{ID: 1, ExecutorResources: map[string]sparkpod.ExecResource{
	"cores": {Amount: 3}, "memory": {Amount: 2048}, "memoryOverhead": {Amount: 1024}, "offHeap": {Amount: 100},
	"pyspark.memory": {Amount: 300}, "gpu": {Amount: 2, Vendor: "nvidia.com"},
}}

// stockKey is in our input only.
const stockKey = "spark.kubespark.stock"

var (
	uuidPath   = regexp.MustCompile(`spark-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	claimIndex = regexp.MustCompile(`-pvc-[0-9]+$`) // a volume's place in stock's hash order
)

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := gocmp.Diff(normal(want, ""), normal(got, "")); d != "" {
		t.Errorf("%s (-stock +ours):\n%s", what, d)
	}
}

// sameOrder compares the order of env, mounts and volumes, without those entries whose order is a hash order in stock.
func sameOrder(t *testing.T, c *conf.Conf, role *roleData, want, got map[string]any) {
	t.Helper()
	hashed := func(name string) bool {
		if strings.HasPrefix(name, "SPARK_JAVA_OPT_") || strings.HasSuffix(name, "-volume") && !strings.HasPrefix(name, "pod-template") {
			return true
		}
		for k := range c.Family(role.volumes) {
			if strings.Split(k, ".")[1] == name {
				return true
			}
		}
		_, env := c.Lookup(role.env + name)
		_, ref := c.Lookup(role.secretKeyRefs + name)
		return env || ref
	}
	order := func(pod map[string]any, path string) []string {
		names := strings.Split(result{pod: pod}.at(path), ",")
		return slices.DeleteFunc(names, hashed)
	}
	for _, path := range []string{"c|env|*name", "c|volumeMounts|*name", "s|volumes|*name"} {
		if d := gocmp.Diff(order(want, path), order(got, path)); d != "" {
			t.Errorf("order of %s (-stock +ours):\n%s", path, d)
		}
	}
}

// normal sorts the lists whose order is a hash order in stock, and takes out generated parts and what is not Spark's.
func normal(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			switch {
			case k == "publishNotReadyAddresses" && e == false: // as if absent; the typed Service cannot say it
			case k == "ownerReferences" && v["name"] != nil:
			case k == "spark.properties":
				lines := strings.Split(e.(string), "\n")
				if len(lines) > 2 {
					lines[1] = "#"
				}
				lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, stockKey) })
				slices.Sort(lines)
				out[k] = lines
			default:
				out[k] = normal(e, k)
			}
		}
		return out
	case map[string]string:
		out := map[string]any{}
		for k, e := range v {
			out[k] = e
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = normal(e, "")
		}
		if key == "env" || key == "volumes" || key == "volumeMounts" {
			slices.SortStableFunc(out, func(a, b any) int {
				return cmp.Compare(a.(map[string]any)["name"].(string), b.(map[string]any)["name"].(string))
			})
		}
		if key == "env" {
			numberJavaOptions(out)
		}
		return out
	case string:
		return claimIndex.ReplaceAllString(uuidPath.ReplaceAllString(v, "spark-UUID"), "-pvc-N")
	}
	return v
}

// numberJavaOptions sorts the -D options that come after the user's, which stock numbers in hash order.
func numberJavaOptions(env []any) {
	var at []int
	var values []string
	for i, e := range env {
		m := e.(map[string]any)
		value, _ := m["value"].(string)
		if strings.HasPrefix(m["name"].(string), "SPARK_JAVA_OPT_") && strings.HasPrefix(value, "-Dspark.") {
			at, values = append(at, i), append(values, value)
		}
	}
	slices.Sort(values)
	for n, i := range at {
		env[i].(map[string]any)["value"] = values[n]
	}
}

func between(s, prefix, suffix string) string {
	return strings.TrimSuffix(strings.TrimPrefix(s, prefix), suffix)
}

// memFiles is a submitter's files in memory.
type memFiles map[string]string

func (m memFiles) ReadFile(path string) ([]byte, error) {
	if text, ok := m[path]; ok {
		return []byte(text), nil
	}
	return nil, os.ErrNotExist
}

func (m memFiles) Abs(path string) string { return path }

func (m memFiles) Regular(dir string) ([]string, error) {
	var out []string
	for p := range m {
		if filepath.Dir(p) == dir {
			out = append(out, filepath.Base(p))
		}
	}
	slices.Sort(out)
	return out, nil
}
