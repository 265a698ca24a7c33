package submit

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/kubetest"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// S103: the objects of each version.
func TestObjectsByVersion(t *testing.T) {
	for _, tt := range []struct {
		version        string
		ports          int
		policy, grpc   bool
		noEscalation   bool
		executorResize bool
	}{{"4.0.1", 3, false, false, false, false}, {"4.1.1", 4, false, false, false, false}, {"4.2.0", 4, true, true, false, true}, {"4.3.0", 4, true, true, true, true}} {
		p := mustPlan(t, piArgs(map[string]string{"spark.kubespark.sparkVersion": tt.version}), testEnv(t, nil))
		pod := p.DriverPod()
		c := pod.Spec.Containers[0]
		policy, grpc := false, false
		for _, o := range p.Objects {
			switch o := o.(type) {
			case *networkingv1.NetworkPolicy:
				policy = true
			case *corev1.Service:
				for _, port := range o.Spec.Ports {
					grpc = grpc || port.AppProtocol != nil && *port.AppProtocol == "grpc"
				}
			}
		}
		executor, err := p.SampleExecutor()
		if err != nil {
			t.Fatal(err)
		}
		noEscalation := c.SecurityContext != nil && c.SecurityContext.AllowPrivilegeEscalation != nil && !*c.SecurityContext.AllowPrivilegeEscalation
		if len(c.Ports) != tt.ports || policy != tt.policy || grpc != tt.grpc || noEscalation != tt.noEscalation || pod.Labels["spark-version"] != tt.version ||
			strings.Contains(string(executor), "resizePolicy") != tt.executorResize {
			t.Errorf("%s: %d ports, policy %v, grpc %v, %v, label %s\n%s", tt.version, len(c.Ports), policy, grpc, noEscalation, pod.Labels["spark-version"], executor)
		}
	}
}

// S099, S100: the rules of keytab, principal and tokens, and a Hadoop that wants Kerberos.
func TestKerberosRules(t *testing.T) {
	env := testEnv(t, nil)
	dir := env.Files.(OSFiles).Dir
	const secure = "<configuration><property><name>hadoop.security.authentication</name><value> Kerberos </value></property></configuration>"
	write(t, dir, map[string]string{"k.kt": "K", "hadoop/core-site.xml": secure, "open/core-site.xml": "<configuration/>", "tokens": "\x00T"})
	const native = "Kerberos tokens cannot be obtained by native submission; give --keytab/--principal, spark.kubernetes.kerberos.tokenSecret.* or HADOOP_TOKEN_FILE_LOCATION, or set spark.kubespark.submit.fallback=spark-submit"
	const k = "spark.kubernetes.kerberos.tokenSecret."
	for _, tt := range []struct {
		props, env map[string]string
		err        string
		secret     string // a Secret that is made
	}{
		{props: map[string]string{"spark.kerberos.keytab": "/nope", "spark.kerberos.principal": "p@R"}, err: "requirement failed: Keytab file: /nope does not exist"},
		{props: map[string]string{"spark.kerberos.principal": "p@R"}, err: "requirement failed: If a Kerberos principal is specified you must also specify a Kerberos keytab"},
		{props: map[string]string{"spark.kerberos.keytab": "k.kt"}, err: "requirement failed: If a Kerberos keytab is specified you must also specify a Kerberos principal"},
		{props: map[string]string{k + "name": "s"}, err: "requirement failed: If a secret storing a Kerberos Delegation Token is specified you must also specify the item-key where the data is stored"},
		{props: map[string]string{k + "itemKey": "i"}, err: "requirement failed: If a secret data item-key where the data of the Kerberos Delegation Token is specified you must also specify the name of the secret"},
		{props: map[string]string{"spark.kerberos.keytab": "k.kt", "spark.kerberos.principal": "p@R"}, secret: "-kerberos-keytab"},
		{env: map[string]string{"HADOOP_CONF_DIR": dir + "/hadoop"}, err: native},
		{env: map[string]string{"HADOOP_CONF_DIR": dir + "/open"}},
		{env: map[string]string{"HADOOP_CONF_DIR": dir + "/hadoop", "HADOOP_TOKEN_FILE_LOCATION": dir + "/tokens"}, secret: "-delegation-tokens"},
		{env: map[string]string{"HADOOP_CONF_DIR": dir + "/hadoop"}, props: map[string]string{k + "name": "s", k + "itemKey": "i"}},
		{env: map[string]string{"HADOOP_CONF_DIR": dir + "/hadoop"}, props: map[string]string{"spark.kerberos.keytab": "k.kt", "spark.kerberos.principal": "p@R"}, secret: "-kerberos-keytab"},
	} {
		env.Lookup = func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok }
		p, err := NewPlan(piArgs(tt.props), env)
		if errorText(err) != tt.err {
			t.Errorf("%v %v: %v, want %q", tt.props, tt.env, err, tt.err)
		}
		if err == nil && tt.secret != "" && !slices.ContainsFunc(names(t, p), func(n string) bool { return strings.HasSuffix(n, tt.secret) }) {
			t.Errorf("%v %v: no Secret %s in %q", tt.props, tt.env, tt.secret, names(t, p))
		}
	}
}

// Step 8 of the configuration: with Hadoop's security on, the short name of the user becomes the renewer of tokens.
func TestHadoopRenewer(t *testing.T) {
	env := testEnv(t, nil)
	env.UserName = "me"
	site := func(more string) string {
		return "<configuration><property><name>hadoop.security.authentication</name><value>kerberos</value></property>" + more + "</configuration>"
	}
	const rules = "<property><name>hadoop.security.auth_to_local</name><value>RULE:[1:$1@$0](.*)s/@.*//</value></property>"
	write(t, env.Files.(OSFiles).Dir, map[string]string{"k.kt": "K", "on/core-site.xml": site(""), "rules/core-site.xml": site(rules), "off/core-site.xml": "<configuration/>"})
	keytab := map[string]string{"spark.kerberos.keytab": "k.kt", "spark.kerberos.principal": "spark/h@R"}
	tokens := map[string]string{"spark.kubernetes.kerberos.tokenSecret.name": "s", "spark.kubernetes.kerberos.tokenSecret.itemKey": "i"}
	for _, tt := range []struct {
		dir, proxy string
		props      map[string]string
		want       string
	}{
		{dir: "on", props: keytab, want: "spark"}, {dir: "on", props: tokens, want: "me"}, {dir: "on", proxy: "bob", props: tokens, want: "bob"},
		{dir: "rules", props: keytab}, {dir: "off", props: keytab}, {props: keytab},
	} {
		env.Lookup = func(name string) (string, bool) {
			on := name == "HADOOP_CONF_DIR" && tt.dir != ""
			return map[bool]string{true: env.Files.Abs(tt.dir)}[on], on
		}
		a := piArgs(tt.props)
		a.ProxyUser = tt.proxy
		if got := properties(t, mustPlan(t, a, env))["spark.hadoop.yarn.resourcemanager.principal"]; got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

func names(t *testing.T, p *Plan) []string {
	t.Helper()
	var out []string
	for _, o := range p.Objects {
		m, err := meta.Accessor(o)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m.GetName())
	}
	return out
}

// S043: coordinates are checked, nothing is fetched, and the driver gets them as they were given.
func TestPackages(t *testing.T) {
	a := piArgs(nil)
	a.Packages, a.ExcludePackages, a.Repositories = "a:b:1,c:d:2", "x:y", "https://r"
	got := properties(t, mustPlan(t, a, testEnv(t, nil)))
	if got["spark.jars.packages"] != "a:b:1,c:d:2" || got["spark.jars.excludes"] != "x:y" || got["spark.jars.repositories"] != "https://r" {
		t.Errorf("%v", got)
	}
	a.Packages = "a:b"
	if _, err := NewPlan(a, testEnv(t, nil)); !strings.HasPrefix(errorText(err), "requirement failed: Provided Maven Coordinates") {
		t.Error(err)
	}
}

// S045 to S047, S052, C014, C016, C018: names from applications' names.
func TestGeneratedNames(t *testing.T) {
	const unique = "ababab8bcfe56800"
	for name, want := range map[string][2]string{
		"Spark Pi": {"spark-pi-" + unique, "spark-pi"}, " Job+Spark-Pi 2021": {"job-spark-pi-2021-" + unique, "job-spark-pi-2021"},
		"1abc": {"xabc-" + unique, "1abc"}, "12": {"x2-" + unique, "12"}, "-hello-": {"hello-" + unique, "hello"}, "1-Ünï cödé--X_y": {"x-n-c-d-x-y-" + unique, "1-n-c-d-x-y"},
		"---": {unique, ""}, "日本": {unique, ""}, "1min": {"xmin-" + unique, "1min"}, "...": {unique, ""},
		strings.Repeat("a", 64):          {strings.Repeat("a", 64) + "-" + unique, strings.Repeat("a", 63)},
		strings.Repeat("a", 62) + "-aaa": {strings.Repeat("a", 62) + "-aaa-" + unique, strings.Repeat("a", 62)},
	} {
		a := piArgs(nil)
		a.Name = name
		p := mustPlan(t, a, testEnv(t, nil))
		if prefix := strings.TrimSuffix(p.PodName, "-driver"); prefix != want[0] || p.DriverPod().Labels["spark-app-name"] != want[1] {
			t.Errorf("%q: %s, label %q", name, prefix, p.DriverPod().Labels["spark-app-name"])
		}
		if got := properties(t, p)["spark.app.name"]; got != strings.TrimSpace(name) {
			t.Errorf("the full name is lost: %q", got)
		}
	}
	a := piArgs(nil)
	a.Name = strings.Repeat("x", 300)
	p := mustPlan(t, a, testEnv(t, nil))
	for _, v := range p.DriverPod().Spec.Volumes {
		if len(v.Name) > 63 {
			t.Errorf("volume %q", v.Name)
		}
	}
	for k, v := range p.DriverPod().Labels {
		if len(v) > 63 {
			t.Errorf("label %s=%q", k, v)
		}
	}
	if n := sparkpod.DriverConfigMapName(strings.Repeat("a", 300)); len(n) != 253 || !strings.HasSuffix(n, "-conf-map") {
		t.Errorf("S052: %d %q", len(n), n)
	}
}

// C017: the short name of the Service is the one everywhere.
func TestShortServiceName(t *testing.T) {
	a := piArgs(nil)
	a.Name = strings.Repeat("a", 60)
	p := mustPlan(t, a, testEnv(t, nil))
	service := ""
	for _, o := range p.Objects {
		if s, ok := o.(*corev1.Service); ok {
			service = s.Name
		}
	}
	executor, err := p.SampleExecutor()
	if err != nil {
		t.Fatal(err)
	}
	host := properties(t, p)["spark.driver.host"]
	if len(service) > 63 || !strings.HasPrefix(service, "spark-") || host != service+".spark.svc" || !strings.Contains(string(executor), "@"+host+":7078") {
		t.Errorf("service %q, host %q", service, host)
	}
}

// S096 to S098, C025: the driver's ConfigMap.
func TestDriverConfigMap(t *testing.T) {
	odd := map[string]string{"spark.a.colon": "a:b=c#d!e", "spark.blank": " lead", "spark.tab": "x\ty\nz\r\f", "spark.back": `c:\d`, "spark.text": "é 日本 😀", "spark.empty": "", "spark.key with blank": "v"}
	a := piArgs(odd)
	a.Conf["spark.kubernetes.authenticate.submission.oauthToken"] = "topsecret"
	a.Conf["spark.kubernetes.authenticate.submission.caCertFile"] = "/ca"
	a.Conf["spark.kubernetes.authenticate.oauthToken"] = "topsecret"
	p := mustPlan(t, a, testEnv(t, nil))
	cm := p.Objects[len(p.Objects)-1].(*corev1.ConfigMap)
	if cm.Data["spark.kubernetes.namespace"] != "spark" || strings.Contains(cm.Data["spark.properties"], "topsecret") || !strings.Contains(cm.Data["spark.properties"], "é 日本 😀") {
		t.Errorf("%v", cm.Data)
	}
	for _, v := range p.DriverPod().Spec.Volumes {
		if v.ConfigMap != nil && slices.ContainsFunc(v.ConfigMap.Items, func(i corev1.KeyToPath) bool { return i.Key == "spark.kubernetes.namespace" }) {
			t.Error("S096: the namespace key is mounted")
		}
	}
	got := properties(t, p)
	for k, v := range odd {
		if want := strings.Trim(v, " \t\f"); got[k] != want { // blanks at the ends go when a properties file is read
			t.Errorf("%s = %q, want %q", k, got[k], want)
		}
	}
	_, token := got["spark.kubernetes.authenticate.submission.oauthToken"]
	if _, ca := got["spark.kubernetes.authenticate.submission.caCertFile"]; token || ca || got["spark.kubernetes.authenticate.oauthToken"] != "<present_but_redacted>" {
		t.Error("S097: ", got)
	}
	_, err := NewPlan(piArgs(map[string]string{"spark.big": strings.Repeat("x", 1<<20)}), testEnv(t, nil))
	if err == nil || !strings.Contains(err.Error(), "more than the 1048576 of spark.kubernetes.configMap.maxSize: spark.properties 1") {
		t.Errorf("S098: %v", err)
	}
}

// S072, C038: a Role made for Spark 4.1 has no right to network policies; the error says so, and the step can be left out.
func TestRoleOfAnOlderSpark(t *testing.T) {
	deny := kubetest.Fault{Resource: "networkpolicies", Status: 403, Reason: "Forbidden",
		Message: `networkpolicies.networking.k8s.io is forbidden: User "u" cannot create resource "networkpolicies" in API group "networking.k8s.io" in the namespace "spark"`}
	s := kubetest.New()
	s.Fail(deny)
	c, _ := newTestClient(t, s)
	err := c.Create(t.Context(), mustPlan(t, piArgs(nil), testEnv(t, nil)))
	if !strings.Contains(errorText(err), `User "u" cannot create resource "networkpolicies" in API group "networking.k8s.io" in the namespace "spark"`) {
		t.Error(err)
	}
	s = kubetest.New()
	s.Fail(deny)
	c, _ = newTestClient(t, s)
	err = c.Create(t.Context(), mustPlan(t, piArgs(map[string]string{
		"spark.kubernetes.driver.pod.excludedFeatureSteps": "org.apache.spark.deploy.k8s.features.NetworkPolicyFeatureStep"}), testEnv(t, nil)))
	if err != nil {
		t.Error(err)
	}
}

// Quota: one line that says what to do.
func TestQuotaIsSaid(t *testing.T) {
	s := kubetest.New()
	s.Fail(kubetest.Fault{Verb: "create", Resource: "pods", Status: 403, Reason: "Forbidden",
		Message: `pods "x" is forbidden: exceeded quota: q, requested: cpu=1, used: cpu=2, limited: cpu=2`})
	c, log := newTestClient(t, s)
	err := c.Create(t.Context(), mustPlan(t, piArgs(nil), testEnv(t, nil)))
	if want := "exceeded quota: q, requested: cpu=1, used: cpu=2, limited: cpu=2; free some of it or ask for less"; !strings.HasSuffix(errorText(err), want) || strings.Contains(log.String(), "can-i") {
		t.Errorf("%v\n%s", err, log)
	}
}

// S029, C045: manifests and templates from web servers.
func TestFromWebServers(t *testing.T) {
	files := map[string]string{"/a.jar": jarOf(t, "Manifest-Version: 1.0\nMain-Class: org.example.Main\n"), "/none.jar": jarOf(t, "Manifest-Version: 1.0\n"),
		"/t.yaml": "metadata: {labels: {team: a}}\nspec: {containers: [{name: mine}]}\n"}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(text))
	}))
	defer h.Close()
	for file, want := range map[string][2]string{
		"/a.jar": {"org.example.Main", ""}, "/none.jar": {"", "No main class set in JAR; please specify one with --class."},
		"/gone.jar": {"", "Failed to get main class in JAR with error 'the server of " + h.URL + "/gone.jar answers 404 Not Found'.  Please specify one with --class."},
	} {
		if got, err := mainClass("java", "", h.URL+file, Env{}); got != want[0] || errorText(err) != want[1] {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	for key, pod := range map[string]string{"driver": "/t.yaml", "executor": "/t.yaml"} {
		p := mustPlan(t, piArgs(map[string]string{"spark.kubernetes." + key + ".podTemplateFile": h.URL + pod}), testEnv(t, nil))
		if key == "driver" && (p.DriverPod().Labels["team"] != "a" || p.ContainerName != "mine") {
			t.Errorf("%v", p.DriverPod().Labels)
		}
	}
	_, err := NewPlan(piArgs(map[string]string{"spark.kubernetes.driver.podTemplateFile": h.URL + "/gone"}), testEnv(t, nil))
	if !strings.HasPrefix(errorText(err), "Could not load pod from template file. spark.kubernetes.driver.podTemplateFile: the server of ") {
		t.Error(err)
	}
}

func jsonOf(t *testing.T, body []byte) map[string]any {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal(body, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

// C044, C048 to C050, C052, C053, C056, C057: what a template says, in both pods.
func TestTemplatesOfBothRoles(t *testing.T) {
	env := testEnv(t, nil)
	const text = `
spec:
  priorityClassName: high
  hostNetwork: true
  restartPolicy: Always
  automountServiceAccountToken: false
  serviceAccountName: theirs
  securityContext: {runAsNonRoot: true, fsGroup: 185}
  newField: {deep: 1}
  containers:
  - name: foo
    securityContext: {readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
    newThing: 7
`
	write(t, env.Files.(OSFiles).Dir, map[string]string{"t.yaml": text})
	p := mustPlan(t, piArgs(map[string]string{"spark.kubernetes.driver.podTemplateFile": "t.yaml", "spark.kubernetes.executor.podTemplateFile": "t.yaml"}), env)
	driver, err := p.DriverBody()
	if err != nil {
		t.Fatal(err)
	}
	executor, err := p.SampleExecutor()
	if err != nil {
		t.Fatal(err)
	}
	if p.ContainerName != "foo" {
		t.Errorf("C044: %s", p.ContainerName)
	}
	for role, body := range map[string][]byte{"driver": driver, "executor": executor} {
		pod := jsonOf(t, body)
		spec := pod["spec"].(map[string]any)
		c := spec["containers"].([]any)[0].(map[string]any)
		want := map[string]any{"priorityClassName": "high", "hostNetwork": true, "restartPolicy": "Never", "automountServiceAccountToken": false, "serviceAccountName": "theirs",
			"securityContext": map[string]any{"runAsNonRoot": true, "fsGroup": 185.0}, "newField": map[string]any{"deep": 1.0}}
		for k, v := range want {
			if diff := cmp.Diff(v, spec[k]); diff != "" {
				t.Errorf("%s: %s: %s", role, k, diff)
			}
		}
		sc, _ := c["securityContext"].(map[string]any)
		if c["name"] != "foo" || c["newThing"] != 7.0 || sc["readOnlyRootFilesystem"] != true {
			t.Errorf("%s: container %v", role, c)
		}
		for _, k := range []string{"priority", "preemptionPolicy", "dnsPolicy", "status"} {
			if _, there := spec[k]; there {
				t.Errorf("C052: %s: %s was not asked for", role, k)
			}
		}
		if _, there := pod["metadata"].(map[string]any)["creationTimestamp"]; there {
			t.Errorf("C052: %s has a creationTimestamp", role)
		}
	}
}

// C056: a template that uses the node's network is taken as it is, and what executors then need is said; with it, no port
// of the node is asked for, so that two of them fit on one.
func TestHostNetwork(t *testing.T) {
	env := testEnv(t, nil)
	write(t, env.Files.(OSFiles).Dir, map[string]string{"bare.yaml": "spec: {hostNetwork: true}", "full.yaml": "spec: {hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet}"})
	const dns = "dnsPolicy: ClusterFirstWithHostNet in the template, or the driver's Service has no name there"
	const ports = "spark.blockManager.port=0 and spark.driver.blockManager.port=7079, or a node takes one executor only: each asks for port 7079 of its node"
	const disk = "spark.shuffle.readHostLocalDisk=false, or executors of one node look for each other's shuffle files in their own folders"
	plan := func(template string, more map[string]string) (*Plan, []string) {
		props := map[string]string{"spark.kubernetes.driver.podTemplateFile": template, "spark.kubernetes.executor.podTemplateFile": template}
		maps.Copy(props, more)
		p := mustPlan(t, piArgs(props), env)
		var said []string
		for _, n := range p.Notices {
			if n.Level == slog.LevelWarn && strings.Contains(n.Text, "hostNetwork") {
				said = append(said, n.Text)
			}
		}
		return p, said
	}
	const text = " pod is in its node's network (hostNetwork in its template). Set "
	_, said := plan("bare.yaml", nil)
	if diff := cmp.Diff([]string{"The driver" + text + dns + ".", "The executor" + text + dns + "; " + ports + "; " + disk + "."}, said); diff != "" {
		t.Error(diff)
	}
	p, said := plan("full.yaml", map[string]string{"spark.blockManager.port": "0", "spark.driver.blockManager.port": "7079", "spark.shuffle.readHostLocalDisk": "false"})
	if said != nil {
		t.Errorf("%q", said)
	}
	body, err := p.SampleExecutor()
	if err != nil {
		t.Fatal(err)
	}
	spec := jsonOf(t, body)["spec"].(map[string]any)
	if c := spec["containers"].([]any)[0].(map[string]any); spec["hostNetwork"] != true || spec["dnsPolicy"] != "ClusterFirstWithHostNet" || c["ports"] != nil {
		t.Errorf("%s", body)
	}
}

// C020: every text of the user that Kubernetes would refuse, of both roles, in one error before anything is made.
func TestBadLabelsSelectorsAndAnnotations(t *testing.T) {
	long := strings.Repeat("v", 64)
	bad := map[string]string{
		"spark.kubernetes.driver.label.a b": "x", "spark.kubernetes.driver.label.c": long, "spark.kubernetes.executor.label.d": "-x",
		"spark.kubernetes.node.selector.e": "two words", "spark.kubernetes.driver.node.selector.f/g/h": "x", "spark.kubernetes.executor.node.selector.i": long,
		"spark.kubernetes.driver.annotation.j k": "any text", "spark.kubernetes.executor.annotation./l": "any text",
		"spark.kubernetes.driver.service.label.m": "n/o", "spark.kubernetes.driver.service.annotation.p?": "any text",
	}
	good := map[string]string{"spark.kubernetes.executor.label.q": "{{APP_ID}}-{{EXECUTOR_ID}}", "spark.kubernetes.driver.annotation.Example.COM/r": "any text", "spark.kubernetes.node.selector.s.t/u": ""}
	props := maps.Clone(bad)
	maps.Copy(props, good)
	_, err := NewPlan(piArgs(props), testEnv(t, nil))
	text := errorText(err)
	for k := range bad {
		if strings.Count(text, k+": not a") != 1 {
			t.Errorf("%s is not in %q", k, text)
		}
	}
	for k := range good {
		if strings.Contains(text, k) {
			t.Errorf("%s is in %q", k, text)
		}
	}
	mustPlan(t, piArgs(good), testEnv(t, nil))
	props["spark.kubespark.stock"] = "submit-checks"
	mustPlan(t, piArgs(props), testEnv(t, nil))
}

// C032: a reference to a secret's key has both parts.
func TestBadSecretReferences(t *testing.T) {
	for _, v := range []string{"s", "s:", ":k", "s:k:x"} {
		if _, err := NewPlan(piArgs(map[string]string{"spark.kubernetes.driver.secretKeyRef.E": v}), testEnv(t, nil)); err == nil || !strings.Contains(err.Error(), "secretKeyRef") && !strings.Contains(err.Error(), "SecretKeyRef") {
			t.Errorf("%q: %v", v, err)
		}
	}
}

// C021, C033, C034, C037, C041: labels, environment and the application's id, from settings to both pods.
func TestSettingsReachThePods(t *testing.T) {
	p := mustPlan(t, piArgs(map[string]string{
		"spark.kubernetes.executor.label.sparkoperator.k8s.io/app-id": "v_1.x", "spark.kubernetes.driver.label.who": "{{APP_ID}}", "spark.kubernetes.driver.annotation.list": "a=b,c={{X}}",
		"spark.executorEnv.1A": "x", "spark.executorEnv.a.b-c": "y", "spark.kubernetes.driverEnv.PATH": "/x:$PATH", "spark.kubernetes.driverEnv.SECOND": "2",
	}), testEnv(t, nil))
	pod := p.DriverPod()
	executor, err := p.SampleExecutor()
	if err != nil {
		t.Fatal(err)
	}
	if pod.Labels["who"] != app || pod.Annotations["list"] != "a=b,c={{X}}" || pod.Labels["spark-app-selector"] != app {
		t.Errorf("%v %v", pod.Labels, pod.Annotations)
	}
	for _, want := range []string{`"sparkoperator.k8s.io/app-id":"v_1.x"`, `"spark-app-selector":"` + app + `"`, `"name":"a.b-c"`} {
		if !strings.Contains(string(executor), want) {
			t.Errorf("lacks %s: %s", want, executor)
		}
	}
	if strings.Contains(string(executor), `"1A"`) {
		t.Error("C033: an environment name that Kubernetes refuses")
	}
	if got := properties(t, p); got["spark.app.id"] != app || got["spark.kubernetes.executor.label.sparkoperator.k8s.io/app-id"] != "v_1.x" {
		t.Errorf("%v", got)
	}
	path := ""
	for _, e := range pod.Spec.Containers[0].Env {
		if e.Name == "PATH" {
			path = e.Value
		}
	}
	if path != "/x:$PATH" {
		t.Errorf("C034: %q", path)
	}
	for _, o := range p.Objects {
		if s, ok := o.(*corev1.Service); ok && (s.Spec.Selector["spark-app-selector"] != app || s.Spec.Selector["who"] != app) {
			t.Errorf("C042: the Service's selector stays as Spark makes it: %v", s.Spec.Selector)
		}
	}
}

// C026: settings come from files of any size; an argument that the kernel of the node would refuse is refused here.
func TestLongArguments(t *testing.T) {
	env := testEnv(t, nil)
	write(t, env.Files.(OSFiles).Dir, map[string]string{"p": "spark.long " + strings.Repeat("x", 200<<10) + "\n"})
	a := piArgs(nil)
	a.PropertiesFile = "p"
	p := mustPlan(t, a, env)
	for _, arg := range p.DriverPod().Spec.Containers[0].Args {
		if len(arg) > 1024 {
			t.Errorf("an argument of %d bytes", len(arg))
		}
	}
	a.AppArgs = []string{"fine", strings.Repeat("x", 128<<10)}
	if _, err := NewPlan(a, env); errorText(err) != "argument 2 of the application has 131072 bytes, and Linux takes at most 131071 in one: put it into a file" {
		t.Error(err)
	}
}

// C024: blanks in files and on the command line.
func TestBlanksByOrigin(t *testing.T) {
	env := testEnv(t, nil)
	write(t, env.Files.(OSFiles).Dir, map[string]string{"p": "spark.file = v  \nspark.escaped = \\n x\\t\nspark.colon: a=b\n"})
	a := piArgs(map[string]string{"spark.line": "v  ", "spark.eq": "a=b", "spark.none": ""})
	a.PropertiesFile = "p"
	got := properties(t, mustPlan(t, a, env))
	// The driver's own parser strips what the command line kept.
	for k, v := range map[string]string{"spark.file": "v", "spark.colon": "a=b", "spark.eq": "a=b", "spark.none": ""} {
		if got[k] != v {
			t.Errorf("%s = %q, want %q", k, got[k], v)
		}
	}
	p := mustPlan(t, a, env)
	if cm := p.Objects[len(p.Objects)-1].(*corev1.ConfigMap); !strings.Contains(cm.Data["spark.properties"], "spark.line=v  \n") {
		t.Error(cm.Data["spark.properties"])
	}
}

// C040: five submissions at once have five names for each object.
func TestNamesAreDrawnPerSubmission(t *testing.T) {
	env := testEnv(t, nil)
	env.Random = nil
	seen := map[string]int{}
	for range 5 {
		for _, n := range names(t, mustPlan(t, piArgs(nil), env)) {
			seen[n]++
		}
	}
	for n, times := range seen {
		if times > 1 {
			t.Errorf("%s is drawn %d times", n, times)
		}
	}
	if v := conf.DefaultVersion.String(); v != "4.2.0" {
		t.Error(v)
	}
}

// jarOf is a jar with a manifest.
func jarOf(t *testing.T, manifest string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("META-INF/MANIFEST.MF")
	if err == nil {
		_, err = w.Write([]byte(manifest))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
