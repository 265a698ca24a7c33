package submit

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/yaml"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/kube"
)

var update = flag.Bool("update", false, "write the golden files")

// text is all of a plan as YAML.
func text(t *testing.T, p *Plan) string {
	t.Helper()
	var out bytes.Buffer
	doc := func(body []byte, err error) {
		if err == nil {
			body, err = yaml.JSONToYAML(body)
		}
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n")
		out.Write(body)
	}
	doc(p.DriverBody())
	for _, o := range p.Objects {
		doc(kube.Encode(o))
	}
	return out.String()
}

// The plain jobs of each version, as stock makes them: their fields were compared with stock's requests.
func TestPlainPlans(t *testing.T) {
	for name, a := range map[string]Args{
		"python-4.2.0": piArgs(map[string]string{"spark.kubernetes.authenticate.driver.serviceAccountName": "spark"}),
		"java-4.1.1": {Master: "k8s://10.0.0.1:6443", DeployMode: "cluster", Name: "Spark Pi", MainClass: "org.apache.spark.examples.SparkPi", AppArgs: []string{"1000"},
			PrimaryResource: "local:///opt/spark/examples/jars/spark-examples.jar",
			Conf: map[string]string{"spark.kubernetes.namespace": "spark", "spark.kubernetes.container.image": "apache/spark:4.1.1",
				"spark.kubespark.sparkVersion": "4.1.1"}},
		"kubespark-4.3.0": piArgs(map[string]string{"spark.kubespark.sparkVersion": "4.3.0", "spark.kubespark.jar": "/opt/kubespark/kubespark.jar",
			"spark.driver.defaultExtraClassPath": "/mine.jar"}),
		"kubespark-image": piArgs(map[string]string{"spark.kubespark.image": "kubespark:0.1.0", "spark.kubernetes.driver.request.cores": "500m"}),
	} {
		got := text(t, mustPlan(t, a, testEnv(t, nil)))
		file := filepath.Join("testdata", name+".yaml")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func properties(t *testing.T, p *Plan) map[string]string {
	t.Helper()
	cm := p.Objects[len(p.Objects)-1].(*corev1.ConfigMap)
	props, err := conf.ParseProperties([]byte(cm.Data["spark.properties"]))
	if err != nil {
		t.Fatal(err)
	}
	return props
}

// S010, C022: the application's arguments arrive as they are.
func TestArgumentsAreKept(t *testing.T) {
	a := piArgs(nil)
	a.AppArgs = []string{"--", "a b", "", "--conf", "日本", `select * from "t"`, "$(X)\r"}
	args := mustPlan(t, a, testEnv(t, nil)).DriverPod().Spec.Containers[0].Args
	if diff := cmp.Diff(a.AppArgs, args[len(args)-len(a.AppArgs):]); diff != "" {
		t.Error(diff)
	}
}

// S012, S023, S048: what the properties hold.
func TestProperties(t *testing.T) {
	a := piArgs(map[string]string{"spark.app.id": "mine", "spark.driver.host": "h", "spark.executor.memory": "9g"})
	a.ExecutorMemory, a.ExecutorCores, a.NumExecutors, a.TotalExecutorCores, a.Files = "5g", "2", "3", "9", "https://h/f"
	got := properties(t, mustPlan(t, a, testEnv(t, nil)))
	want := map[string]string{"spark.executor.memory": "5g", "spark.executor.cores": "2", "spark.executor.instances": "3", "spark.files": "https://h/f",
		"spark.submit.deployMode": "cluster", "spark.submit.pyFiles": "", "spark.app.submitTime": "1700000000000", "spark.app.id": app, "spark.master": "k8s://https://10.0.0.1:6443",
		"spark.driver.host": "spark-pi-ababab8bcfe56800-driver-svc.spark.svc", "spark.app.name": "Spark Pi"}
	for k, v := range want {
		if g, ok := got[k]; g != v || !ok {
			t.Errorf("%s = %q, want %q", k, g, v)
		}
	}
	for _, k := range []string{"spark.cores.max", "spark.jars"} {
		if v, ok := got[k]; ok {
			t.Errorf("%s is there: %q", k, v)
		}
	}
	a = piArgs(map[string]string{"spark.app.submitTime": "5"})
	a.PrimaryResource, a.MainClass = "spark-internal", "a.B"
	got = properties(t, mustPlan(t, a, testEnv(t, nil)))
	if v, ok := got["spark.jars"]; !ok || v != "" || got["spark.app.submitTime"] != "5" {
		t.Errorf("S023: %q %v, %s", v, ok, got["spark.app.submitTime"])
	}
}

// S019: blanks of --conf are kept in the ConfigMap.
func TestBlanksAreKept(t *testing.T) {
	p := mustPlan(t, piArgs(map[string]string{"spark.sp": "  v  "}), testEnv(t, nil))
	cm := p.Objects[len(p.Objects)-1].(*corev1.ConfigMap)
	if !strings.Contains(cm.Data["spark.properties"], "\nspark.sp=\\  v  \n") {
		t.Error(cm.Data["spark.properties"])
	}
}

// S021: typed keys are expanded here, the properties are not.
func TestExpansion(t *testing.T) {
	p := mustPlan(t, piArgs(map[string]string{"spark.kubernetes.namespace": "${env:NS}"}), testEnv(t, map[string]string{"NS": "n1"}))
	cm := p.Objects[len(p.Objects)-1].(*corev1.ConfigMap)
	if p.Namespace != "n1" || cm.Data["spark.kubernetes.namespace"] != "n1" || properties(t, p)["spark.kubernetes.namespace"] != "${env:NS}" {
		t.Error(p.Namespace, cm.Data)
	}
	if !slices.ContainsFunc(p.Notices, func(n Notice) bool { return strings.HasPrefix(n.Text, "spark.kubernetes.namespace is ${env:NS}") }) {
		t.Error(p.Notices)
	}
}

// S024 and others: refusals, all before anything is written.
func TestPlanRefusals(t *testing.T) {
	for _, tt := range []struct {
		props map[string]string
		err   string
	}{
		{map[string]string{"spark.kubernetes.driver.service.ipFamilyPolicy": "foo"},
			`[INVALID_CONF_VALUE.OUT_OF_RANGE_OF_OPTIONS] The value 'foo' in the config "spark.kubernetes.driver.service.ipFamilyPolicy" is invalid. It should be one of 'SingleStack, PreferDualStack, RequireDualStack'. SQLSTATE: 22022`},
		{map[string]string{"spark.kubernetes.report.interval": "0"},
			`[INVALID_CONF_VALUE.REQUIREMENT] The value '0ms' in the config "spark.kubernetes.report.interval" is invalid. Logging interval must be a positive time value. SQLSTATE: 22022`},
		{map[string]string{"spark.kubernetes.configMap.maxSize": "1048577"},
			`[INVALID_CONF_VALUE.REQUIREMENT] The value '1048577' in the config "spark.kubernetes.configMap.maxSize" is invalid. Must have at most 1048576 bytes SQLSTATE: 22022`},
		{map[string]string{"spark.driver.bindAddress": "h"},
			"requirement failed: spark.driver.bindAddress is not supported in Kubernetes mode, as the driver's bind address is managed and set to the driver pod's IP address."},
		{map[string]string{"spark.kerberos.keytab": "/nope", "spark.kerberos.principal": "p"}, "requirement failed: Keytab file: /nope does not exist"},
		{map[string]string{"spark.jars.packages": "a:b"},
			"requirement failed: Provided Maven Coordinates must be in the form 'groupId:artifactId:version'. The coordinate provided is: a:b"},
		{map[string]string{"spark.kubernetes.driver.podTemplateFile": "nope.yaml"}, "Could not load pod from template file. spark.kubernetes.driver.podTemplateFile: nope.yaml does not exist"},
		{map[string]string{"spark.kubernetes.driver.podTemplateFile": "s3a://b/t"}, "spark.kubernetes.driver.podTemplateFile: template scheme s3a not supported by native submission"},
		{map[string]string{"spark.kubespark.submissionId": "a/b"}, `spark.kubespark.submissionId: "a/b" cannot be a label value: `},
		{map[string]string{"spark.kubernetes.container.image": "x", "spark.kubernetes.namespace": "${spark.kubernetes.namespace}"},
			"requirement failed: Circular reference in ${spark.kubernetes.namespace}: spark.kubernetes.namespace"},
	} {
		_, err := NewPlan(piArgs(tt.props), testEnv(t, nil))
		if !strings.HasPrefix(errorText(err), tt.err) || err == nil {
			t.Errorf("%v: %v, want %q", tt.props, err, tt.err)
		}
	}
}

// The shim comes first on the default class path; the user's own value stays behind it.
func TestShimOnTheClassPath(t *testing.T) {
	const jar, key = "/opt/kubespark/kubespark.jar", "spark.driver.defaultExtraClassPath"
	for _, tt := range []struct {
		props           map[string]string
		want, says, drv string
	}{
		{map[string]string{}, "", "Executors will be managed by the cluster manager of the driver's image", ""},
		{map[string]string{"spark.kubespark.jar": jar}, jar, "Executors will be managed by kubespark (" + jar + ").", ""},
		{map[string]string{"spark.kubespark.jar": jar, key: "/u.jar:/v.jar"}, jar + ":/u.jar:/v.jar", "Executors will be managed by kubespark", ""},
		{map[string]string{"spark.kubespark.jar": jar, key: jar + ":/u.jar"}, jar + ":/u.jar", "Executors will be managed by kubespark", ""},
		{map[string]string{"spark.kubespark.jar": jar, "spark.driver.extraClassPath": "/u.jar"}, jar, "Executors will be managed by kubespark", "/u.jar"},
		{map[string]string{"spark.kubespark.jar": jar, "spark.kubespark.enabled": "false"}, jar, "Executors will be managed by Spark's own cluster manager", ""},
		{map[string]string{"spark.kubespark.image": "k:1", "spark.kubespark.jar": "/here.jar", "spark.kubespark.manager.path": "/here", key: "/u.jar"}, jar + ":/u.jar",
			"Executors will be managed by kubespark (" + jar + " of k:1).", ""},
	} {
		p := mustPlan(t, piArgs(tt.props), testEnv(t, nil))
		got := properties(t, p)
		if got[key] != tt.want || !strings.HasPrefix(p.Manager, tt.says) || got["spark.driver.extraClassPath"] != tt.drv {
			t.Errorf("%v: %q, %q", tt.props, got[key], p.Manager)
		}
		if _, image := tt.props["spark.kubespark.image"]; image && got["spark.kubespark.manager.path"] != "/opt/kubespark/kubespark-manager" {
			t.Errorf("%v: the manager is %q", tt.props, got["spark.kubespark.manager.path"])
		}
	}
}

// S050, S051, S049: names.
func TestNames(t *testing.T) {
	env := testEnv(t, nil)
	env.Random = nil
	a := piArgs(nil)
	a.Name = strings.Repeat("a", 300)
	names := map[string]int{}
	for range 5 {
		p := mustPlan(t, a, env)
		names[p.PodName]++
		for _, o := range p.Objects {
			m, err := meta.Accessor(o)
			if err != nil {
				t.Fatal(err)
			}
			names[m.GetName()]++
			if _, service := o.(*corev1.Service); len(m.GetName()) > 253 || service && len(m.GetName()) > 63 {
				t.Errorf("%q is too long", m.GetName())
			}
		}
	}
	if len(names) != 4*5 {
		t.Errorf("S051: %d different names", len(names))
	}
	p := mustPlan(t, piArgs(map[string]string{"spark.kubernetes.driver.pod.name": "my-drv"}), env)
	if p.ID() != "spark:my-drv" || !strings.HasPrefix(properties(t, p)["spark.driver.host"], "spark-pi-") {
		t.Errorf("S049: %s", p.ID())
	}
}

// S101: who the driver runs for.
func TestUserName(t *testing.T) {
	for _, tt := range []struct {
		proxy string
		env   map[string]string
		want  string
	}{
		{"", nil, "analyst"}, {"bob", nil, "bob"}, {"bob", map[string]string{"SPARK_USER": "x"}, "x"}, {"", map[string]string{"HADOOP_USER_NAME": "h"}, "h"},
	} {
		a := piArgs(nil)
		a.ProxyUser = tt.proxy
		c := mustPlan(t, a, testEnv(t, tt.env)).DriverPod().Spec.Containers[0]
		if c.Env[0].Name != "SPARK_USER" || c.Env[0].Value != tt.want {
			t.Errorf("%+v: %v", tt, c.Env[0])
		}
		if tt.proxy != "" && !slices.Equal(c.Args[:3], []string{"driver", "--proxy-user", "bob"}) {
			t.Errorf("args: %q", c.Args)
		}
	}
}

// S102: a plan is a function of its inputs, and many at a time share nothing.
func TestPlansAreReproducible(t *testing.T) {
	env := testEnv(t, nil)
	want := text(t, mustPlan(t, piArgs(nil), env))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if p, err := NewPlan(piArgs(nil), env); err != nil || text(t, p) != want {
				t.Error("another plan from the same inputs", err)
			}
		})
	}
	wg.Wait()
}

// The sample executor has the driver's service and the application's id.
func TestSampleExecutor(t *testing.T) {
	b, err := mustPlan(t, piArgs(nil), testEnv(t, nil)).SampleExecutor()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"spark-exec-id":"1"`, app, "spark://CoarseGrainedScheduler@spark-pi-ababab8bcfe56800-driver-svc.spark.svc:7078"} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("lacks %s: %s", want, b)
		}
	}
}

// Inputs are left as they were.
func TestPlanLeavesItsInputsAlone(t *testing.T) {
	a := piArgs(map[string]string{"spark.kubespark.jar": "/j"})
	before := maps.Clone(a.Conf)
	p := mustPlan(t, a, testEnv(t, nil))
	_ = text(t, p)
	if diff := cmp.Diff(before, a.Conf); diff != "" {
		t.Error(diff)
	}
	if p.DriverPod().Namespace != "" {
		t.Error("the plan's pod was changed")
	}
}
