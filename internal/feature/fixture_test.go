package feature

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

type kv = map[string]string

// podCase is one scenario: settings in, fields of the result out.
type podCase struct {
	name      string // with the scenario's number
	role      sparkpod.Role
	version   string // empty: 4.1.1
	conf      kv
	env       kv
	template  string
	container string // podTemplateContainerName
	driver    func(*DriverInput)
	executor  func(*ExecutorInput)
	want      kv     // by path, see result.at
	err       string // exactly
	errHas    string // a part
}

func runCases(t *testing.T, cases []podCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := c.build(t)
			if c.err != "" || c.errHas != "" {
				if err == nil || c.err != "" && err.Error() != c.err || !strings.Contains(err.Error(), c.errHas) {
					t.Fatalf("error %v, want %s%s", err, c.err, c.errHas)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for path, want := range c.want {
				if got := r.at(path); got != want {
					t.Errorf("%s = %q, want %q", path, got, want)
				}
			}
		})
	}
}

func (c podCase) build(t *testing.T) (result, error) {
	t.Helper()
	version := c.version
	if version == "" {
		version = "4.1.1"
	}
	v, err := conf.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	props := kv{"spark.app.name": "test-app", "spark.kubernetes.container.image": "img:1"}
	if c.role == sparkpod.Executor {
		props["spark.driver.host"] = "svc"
		props["spark.driver.port"] = "7078"
	}
	maps.Copy(props, c.conf)
	for k, v := range c.conf {
		if v == unset {
			delete(props, k)
		}
	}
	lookup := func(k string) (string, bool) { v, ok := c.env[k]; return v, ok }
	cf := conf.New(props, conf.WithVersion(v), conf.WithEnv(lookup))
	tpl, warnings, err := sparkpod.LoadTemplate([]byte(c.template), c.container)
	if err != nil {
		return result{}, err
	}
	if c.role == sparkpod.Executor {
		return c.buildExecutor(t, cf, tpl)
	}
	in := DriverInput{
		Conf: cf, AppID: "spark-app-id", Namespace: "default", Prefix: "prefix-U",
		Unique: counter("u"), MainClass: "M", Resource: "local:///a.jar", ResourceType: Java, Template: tpl,
		UserName: "u", Env: lookup, Files: memFiles{},
	}
	if c.driver != nil {
		c.driver(&in)
	}
	spec, err := BuildDriver(in)
	if err != nil {
		return result{}, err
	}
	body, err := spec.Body()
	if err != nil {
		t.Fatal(err)
	}
	return result{pod: decode(t, body), objects: trees(t, spec.Objects), props: spec.Properties,
		infos: spec.Infos, warnings: append(warnings, spec.Warnings...)}, nil
}

func (c podCase) buildExecutor(t *testing.T, cf *conf.Conf, tpl *sparkpod.Template) (result, error) {
	t.Helper()
	profile, err := DefaultProfile(cf)
	if err != nil {
		return result{}, err
	}
	in := ExecutorInput{
		Conf: cf, AppID: "spark-app-id", Namespace: "default", ExecutorID: "1", PodNamePrefix: "p", Profile: profile,
		Driver:        &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "driver-pod", UID: "driver-uid", Controller: new(true)},
		ConfigMapName: "cm", Template: tpl, UserName: "u", LocalDirs: c.env["SPARK_LOCAL_DIRS"],
	}
	if c.executor != nil {
		c.executor(&in)
	}
	spec, err := BuildExecutor(in)
	if err != nil {
		return result{}, err
	}
	body, err := spec.Body()
	if err != nil {
		t.Fatal(err)
	}
	var claims []runtime.Object
	for _, claim := range spec.Claims {
		claims = append(claims, claim)
	}
	return result{pod: decode(t, body), objects: trees(t, claims), warnings: spec.Warnings}, nil
}

// unset takes a setting of the fixture away.
const unset = "\x00"

func counter(prefix string) func() string {
	n := 0
	return func() string { n++; return prefix + strconv.Itoa(n) }
}

func trees(t *testing.T, objects []runtime.Object) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, o := range objects {
		text, err := sparkpod.RenderObject(o)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, decode(t, text))
	}
	return out
}

// result is what a build made, as JSON trees.
type result struct {
	pod      map[string]any
	objects  []map[string]any
	props    kv
	warnings []string
	infos    []string
}

// at returns the value at a path of parts separated by |. The first part says where: s (spec), m (metadata), c (Spark's
// container), p (a property), o (the first object of a kind), kinds (of the objects), w (warnings), i (infos). Further parts are
// fields, list indices, =name (the last element of that name), or *field (that field of all elements, comma separated).
func (r result) at(path string) string {
	parts := strings.Split(path, "|")
	var v any
	switch parts[0] {
	case "s":
		v = r.pod["spec"]
	case "m":
		v = r.pod["metadata"]
	case "c":
		cs := r.pod["spec"].(map[string]any)["containers"].([]any)
		v = cs[len(cs)-1]
	case "p":
		if s, ok := r.props[parts[1]]; ok {
			return s
		}
		return "<none>"
	case "w":
		return strings.Join(r.warnings, "\n")
	case "i":
		return strings.Join(r.infos, "\n")
	case "kinds":
		return text(follow(any(anyList(r.objects)), []string{"*kind"}))
	case "o":
		for _, o := range r.objects {
			if o["kind"] == parts[1] {
				v = o
				break
			}
		}
		parts = parts[1:]
	}
	return text(follow(v, parts[1:]))
}

func anyList(l []map[string]any) []any {
	out := make([]any, len(l))
	for i, e := range l {
		out[i] = e
	}
	return out
}

func follow(v any, path []string) any {
	if len(path) == 0 || v == nil {
		return v
	}
	head, rest := path[0], path[1:]
	switch v := v.(type) {
	case map[string]any:
		return follow(v[head], rest)
	case []any:
		if field, ok := strings.CutPrefix(head, "*"); ok {
			var all []string
			for _, e := range v {
				all = append(all, text(follow(e, []string{field})))
			}
			return strings.Join(all, ",")
		}
		if name, ok := strings.CutPrefix(head, "="); ok {
			var found any
			for _, e := range v {
				if e.(map[string]any)["name"] == name {
					found = e
				}
			}
			return follow(found, rest)
		}
		i, err := strconv.Atoi(head)
		if err != nil || i >= len(v) {
			return nil
		}
		return follow(v[i], rest)
	}
	return nil
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "<none>"
	case string:
		return v
	case []any, map[string]any:
		j, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(j)
	}
	return fmt.Sprint(v)
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
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

var uuidPath = regexp.MustCompile(`spark-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
