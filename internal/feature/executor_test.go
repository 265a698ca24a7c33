package feature

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// Section C of the scenarios: executors.
func TestExecutorPod(t *testing.T) {
	prefix := func(p string) func(*ExecutorInput) { return func(in *ExecutorInput) { in.PodNamePrefix = p } }
	noDriver := func(in *ExecutorInput) { in.Driver = nil }
	auth := func(in *ExecutorInput) { in.AuthSecret = "s3" }
	files := func(names ...string) func(*ExecutorInput) { return func(in *ExecutorInput) { in.ConfFiles = names } }
	const lifecycle = "spec: {containers: [{name: x, lifecycle: {postStart: {exec: {command: [a]}}}}]}"
	runCases(t, []podCase{
		{name: "P075 plain", role: exe, want: kv{"m|name": "p-exec-1", "s|volumes|*name": "spark-conf-volume-exec,spark-local-dir-1", "c|resources": `{"limits":{"memory":"1408Mi"},"requests":{"cpu":"1","memory":"1408Mi"}}`,
			"m|ownerReferences": `[{"apiVersion":"v1","controller":true,"kind":"Pod","name":"driver-pod","uid":"driver-uid"}]`, "s|nodeSelector": "<none>", "c|args": `["executor"]`, "s|restartPolicy": "Never"}},
		{name: "P075 no driver pod", role: exe, executor: noDriver, want: kv{"m|ownerReferences": "<none>"}},
		{name: "P076 env", role: exe, want: kv{"c|env|*name": "SPARK_USER,SPARK_DRIVER_URL,SPARK_EXECUTOR_CORES,SPARK_EXECUTOR_MEMORY,SPARK_APPLICATION_ID,SPARK_CONF_DIR,SPARK_EXECUTOR_ID,SPARK_RESOURCE_PROFILE_ID,SPARK_JAVA_OPT_0,SPARK_EXECUTOR_POD_IP,SPARK_EXECUTOR_POD_NAME,SPARK_LOCAL_DIRS",
			"c|env|=SPARK_USER|value": "u", "c|env|=SPARK_DRIVER_URL|value": "spark://CoarseGrainedScheduler@svc:7078", "c|env|=SPARK_EXECUTOR_CORES|value": "1", "c|env|=SPARK_EXECUTOR_MEMORY|value": "1024m",
			"c|env|=SPARK_EXECUTOR_ID|value": "1", "c|env|=SPARK_RESOURCE_PROFILE_ID|value": "0", "c|env|=SPARK_JAVA_OPT_0|value": "-Dspark.driver.port=7078",
			"c|env|=SPARK_EXECUTOR_POD_IP|valueFrom|fieldRef|fieldPath": "status.podIP", "c|env|=SPARK_EXECUTOR_POD_NAME|valueFrom|fieldRef|fieldPath": "metadata.name"}},
		{name: "P077 long host name", role: exe, executor: prefix(strings.Repeat("a", 73)), want: kv{"s|hostname": strings.Repeat("a", 56) + "-exec-1"}},
		{name: "P077 dashes", role: exe, executor: prefix("abcdefghijk" + strings.Repeat("-", 60)), want: kv{"s|hostname": "exec-1"}},
		{name: "dots in a prefix", role: exe, executor: prefix("a.b"), want: kv{"m|name": "a.b-exec-1", "s|hostname": "a-b-exec-1"}},
		{name: "P080 options, class path, env", role: exe, conf: kv{"spark.executor.extraJavaOptions": "foo=bar", "spark.executor.extraClassPath": "bar=baz", "spark.executorEnv.qux": "quux"},
			want: kv{"c|env|=SPARK_JAVA_OPT_0|value": "foo=bar", "c|env|=SPARK_CLASSPATH|value": "bar=baz", "c|env|=qux|value": "quux"}},
		{name: "default class path in front", role: exe, conf: kv{"spark.executor.defaultExtraClassPath": "d/*", "spark.executor.extraClassPath": "e"}, want: kv{"c|env|=SPARK_CLASSPATH|value": "d/*:e"}},
		{name: "P081 words of options", role: exe, conf: kv{"spark.executor.extraJavaOptions": "-Da={{APP_ID}} -Db='x y' -Dc={{EXECUTOR_ID}}"},
			want: kv{"c|env|=SPARK_JAVA_OPT_0|value": "-Da=spark-app-id", "c|env|=SPARK_JAVA_OPT_1|value": "-Db=x y", "c|env|=SPARK_JAVA_OPT_2|value": "-Dc=1"}},
		{name: "default options in front", role: exe, conf: kv{"spark.executor.defaultJavaOptions": "-Dd", "spark.executor.extraJavaOptions": "-De"}, want: kv{"c|env|=SPARK_JAVA_OPT_0|value": "-Dd", "c|env|=SPARK_JAVA_OPT_1|value": "-De"}},
		{name: "P085 executor directories", role: exe, conf: kv{"spark.executorEnv.SPARK_EXECUTOR_DIRS": "/p1/SPARK_APPLICATION_ID/SPARK_EXECUTOR_ID,/p2/SPARK_APPLICATION_ID/SPARK_EXECUTOR_ID"},
			want: kv{"c|env|=SPARK_EXECUTOR_DIRS|value": "/p1/spark-app-id/1,/p2/spark-app-id/1"}},
		{name: "P086 auth secret", role: exe, executor: auth, conf: kv{"spark.authenticate": "true"}, want: kv{"c|env|=_SPARK_AUTH_SECRET|value": "s3"}},
		{name: "P086 secret file", role: exe, executor: auth, conf: kv{"spark.authenticate": "true", "spark.authenticate.secret.file": "/f"}, want: kv{"c|env|=_SPARK_AUTH_SECRET": "<none>"}},
		{name: "P086 secret file of executors", role: exe, executor: auth, conf: kv{"spark.authenticate": "true", "spark.authenticate.secret.executor.file": "/f"}, want: kv{"c|env|=_SPARK_AUTH_SECRET": "<none>"}},
		{name: "P086 no authentication", role: exe, executor: auth, want: kv{"c|env|=_SPARK_AUTH_SECRET": "<none>"}},
		{name: "P087 port", role: exe, want: kv{"c|ports": `[{"containerPort":7079,"name":"blockmanager"}]`}},
		{name: "P087 port set", role: exe, conf: kv{"spark.blockManager.port": "12345"}, want: kv{"c|ports|0|containerPort": "12345"}},
		{name: "P087 low port", role: exe, conf: kv{"spark.blockManager.port": "1000"}, err: "requirement failed: port number must be 0 or in [1024, 65535]"},
		{name: "P087 no port", role: exe, conf: kv{"spark.blockManager.port": "0"}, want: kv{"c|ports": "<none>"}},
		{name: "P087 no number", role: exe, conf: kv{"spark.blockManager.port": " 1"}, err: `Illegal value for config key spark.blockManager.port: For input string: " 1"`},
		{name: "P088 template port", role: exe, template: "spec: {containers: [{name: x, ports: [{name: mine, containerPort: 1}]}]}", want: kv{"c|ports|*name": "mine,blockmanager"}},
		{name: "P089 no ConfigMap", role: exe, conf: kv{"spark.kubernetes.executor.disableConfigMap": "true"}, want: kv{"s|volumes|*name": "spark-local-dir-1", "c|volumeMounts|*name": "spark-local-dir-1", "c|env|=SPARK_CONF_DIR|value": "/opt/spark/conf"}},
		{name: "P090 another profile", role: exe, executor: func(in *ExecutorInput) { in.Profile = sparkpod.Profile{ID: 3} }, want: kv{"s|volumes|*name": "spark-conf-volume-exec,spark-local-dir-1", "m|labels|spark-exec-resourceprofile-id": "3"}},
		{name: "P091 decommission", role: exe, template: lifecycle, conf: kv{"spark.decommission.enabled": "true"}, want: kv{"c|lifecycle": `{"preStop":{"exec":{"command":["/opt/decom.sh"]}}}`}},
		{name: "P091 script", role: exe, conf: kv{"spark.decommission.enabled": "true", "spark.kubernetes.decommission.script": "/x.sh"}, want: kv{"c|lifecycle|preStop|exec|command|0": "/x.sh"}},
		{name: "P091 off", role: exe, template: lifecycle, want: kv{"c|lifecycle": `{"postStart":{"exec":{"command":["a"]}}}`}},
		{name: "P092 grace", role: exe, template: "spec: {terminationGracePeriodSeconds: 77}", want: kv{"s|terminationGracePeriodSeconds": "30"}},
		{name: "P092 grace set", role: exe, conf: kv{"spark.kubernetes.executor.terminationGracePeriodSeconds": "2m"}, want: kv{"s|terminationGracePeriodSeconds": "120"}},
		{name: "P092 before 4.1", role: exe, version: "4.0.1", template: "spec: {terminationGracePeriodSeconds: 77}", want: kv{"s|terminationGracePeriodSeconds": "77"}},
		{name: "P093 driver's pod IP", role: exe, conf: kv{"spark.kubernetes.executor.useDriverPodIP": "true", "spark.driver.bindAddress": "10.0.0.9"}, want: kv{"c|env|=SPARK_DRIVER_URL|value": "spark://CoarseGrainedScheduler@10.0.0.9:7078"}},
		{name: "P093 default in 4.3", role: exe, version: "4.3.0", conf: kv{"spark.driver.bindAddress": "10.0.0.9"}, want: kv{"c|env|=SPARK_DRIVER_URL|value": "spark://CoarseGrainedScheduler@10.0.0.9:7078"}},
		{name: "P094 log attributes", role: exe, conf: kv{"spark.ui.custom.executor.log.url": "x"}, want: kv{"c|env|=SPARK_EXECUTOR_ATTRIBUTE_APP_ID|value": "spark-app-id", "c|env|=SPARK_EXECUTOR_ATTRIBUTE_EXECUTOR_ID|value": "1"}},
		{name: "P095 resize policy", role: exe, version: "4.2.0", want: kv{"c|resizePolicy": `[{"resourceName":"cpu","restartPolicy":"NotRequired"},{"resourceName":"memory","restartPolicy":"NotRequired"}]`}},
		{name: "P095 none before", role: exe, want: kv{"c|resizePolicy": "<none>"}},
		{name: "P095 recovery mode", role: exe, version: "4.2.0", conf: kv{"spark.kubernetes.allocation.recoveryMode.enabled": "true", "spark.task.cpus": "2", "spark.executor.cores": "8"},
			want: kv{"c|env|=SPARK_EXECUTOR_CORES|value": "2", "c|resources|requests|cpu": "8"}},
		{name: "P096 template's account", role: exe, template: "spec: {serviceAccount: t}", conf: kv{"spark.kubernetes.authenticate.executor.serviceAccountName": "e"}, want: kv{"s|serviceAccount": "t", "s|serviceAccountName": "t"}},
		{name: "P096 template's account by its new name", role: exe, template: "spec: {serviceAccountName: t}", conf: kv{"spark.kubernetes.authenticate.executor.serviceAccountName": "e"}, want: kv{"s|serviceAccount": "t", "s|serviceAccountName": "t"}},
		{name: "P096 executor's account", role: exe, conf: kv{"spark.kubernetes.authenticate.executor.serviceAccountName": "e", "spark.kubernetes.authenticate.driver.serviceAccountName": "d"}, want: kv{"s|serviceAccount": "e", "s|serviceAccountName": "e"}},
		{name: "P096 driver's account", role: exe, conf: kv{"spark.kubernetes.authenticate.driver.serviceAccountName": "d"}, want: kv{"s|serviceAccountName": "d"}},
		{name: "P096 none", role: exe, want: kv{"s|serviceAccount": "<none>", "s|serviceAccountName": "<none>"}},
		{name: "P097 Hadoop", role: exe, conf: kv{"spark.kubernetes.executor.hadoopConfigMapName": "hcm"}, want: kv{"s|volumes|=hadoop-properties|configMap": `{"name":"hcm"}`, "c|volumeMounts|=hadoop-properties|mountPath": "/opt/hadoop/conf", "c|env|=HADOOP_CONF_DIR|value": "/opt/hadoop/conf"}},
		{name: "P097 no Hadoop", role: exe, want: kv{"s|volumes|=hadoop-properties": "<none>", "c|env|=HADOOP_CONF_DIR": "<none>"}},
		{name: "P098 conf files", role: exe, executor: files("log4j2.properties"), want: kv{"s|volumes|=spark-conf-volume-exec|configMap": `{"items":[{"key":"log4j2.properties","mode":420,"path":"log4j2.properties"}],"name":"cm"}`}},
		{name: "P099 no conf files", role: exe, want: kv{"s|volumes|=spark-conf-volume-exec|configMap": `{"name":"cm"}`}},
		{name: "P101 name set by the application", role: exe, conf: kv{"spark.app.name": "Other"}, want: kv{"m|labels|spark-app-name": "other"}},
		{name: "P102 statefulset", role: exe, executor: func(in *ExecutorInput) { in.ExecutorID = "EXECID" }, conf: kv{"spark.kubernetes.allocation.pods.allocator": "statefulset"},
			want: kv{"s|restartPolicy": "Always", "m|labels|spark-exec-id": "EXECID", "c|env|=SPARK_EXECUTOR_ID|value": "EXECID"}},
		{name: "P102 deployment", role: exe, version: "4.2.0", executor: func(in *ExecutorInput) { in.ExecutorID = "EXECID" }, conf: kv{"spark.kubernetes.allocation.pods.allocator": "deployment"},
			want: kv{"s|restartPolicy": "Always", "s|hostname": "p-exec-execid"}},
		{name: "4.3 library path and privilege escalation", role: exe, version: "4.3.0", conf: kv{"spark.executor.extraLibraryPath": "/l", "spark.kubernetes.executor.securityContext.allowPrivilegeEscalation": "true"},
			want: kv{"c|env|=SPARK_EXECUTOR_LIBRARY_PATH|value": "/l", "c|securityContext": `{"allowPrivilegeEscalation":true}`}},
	})
}

func TestPodNamePrefixAtSubmission(t *testing.T) { // P078
	for _, p := range []string{"_123", "spark_exec", "spark@", strings.Repeat("a", 238)} {
		c := podCase{role: drv, conf: kv{"spark.kubernetes.executor.podNamePrefix": p}}
		_, err := c.build(t)
		want := "[INVALID_CONF_VALUE.REQUIREMENT] The value '" + p + `' in the config "spark.kubernetes.executor.podNamePrefix" is invalid. must conform ` +
			"https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names and the value length <= 237 SQLSTATE: 22022"
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func TestSplitCommand(t *testing.T) { // P082
	for text, want := range map[string][]string{
		`a "b\"c" d\e 'f"g'`: {"a", `b"c`, `d\e`, `f"g`},
		"":                   nil,
		"  ":                 nil,
		`'' ""`:              {"", ""},
		`a'b c'd`:            {"ab cd"},
		`"\\n" 'x\y'`:        {`\n`, `x\y`},
		"a\t b\nc":           {"a", "b", "c"},
		"-Dü=日本":             {"-Dü=日本"},
	} {
		if got := SplitCommand(text); !slices.Equal(got, want) {
			t.Errorf("SplitCommand(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestStartupProperties(t *testing.T) { // P083
	for key, want := range map[string]bool{"spark.rpc.x": true, "spark.network.y": true, "spark.ssl.keyPassword": false, "spark.ssl.enabled": true,
		"spark.authenticate.secret": false, "spark.authenticate": true, "spark.driver.port": true, "spark.port.maxRetries": true, "spark.foo": false,
		"spark.portal": false, "other.port": false} {
		if isStartupKey(key) != want {
			t.Errorf("isStartupKey(%s) = %v", key, !want)
		}
	}
}

func TestUserStepsNeedTheJVM(t *testing.T) { // P142, P143
	c := podCase{role: exe, conf: kv{"spark.kubernetes.executor.pod.featureSteps": "com.foo.A, com.foo.B",
		"spark.kubernetes.executor.pod.excludedFeatureSteps": "com.foo.B"}}
	_, err := c.build(t)
	var e *UserStepsError
	if !errors.As(err, &e) || !slices.Equal(e.Classes, []string{"com.foo.A"}) {
		t.Errorf("executor: %v", err)
	}
	c.role = drv
	if _, err := c.build(t); err != nil {
		t.Errorf("executors' user steps at submission: %v", err)
	}
	c.conf = kv{"spark.kubernetes.driver.pod.featureSteps": "com.foo.Bar"}
	const want = "spark.kubernetes.driver.pod.featureSteps: class com.foo.Bar needs a JVM at submission; use spark.kubespark.submit.fallback=spark-submit or remove it"
	if _, err := c.build(t); err == nil || err.Error() != want {
		t.Errorf("driver: %v", err)
	}
}

const busyTemplate = `
metadata: {labels: {t: t}, annotations: {a: b}}
spec:
  fooBar: 12
  containers:
  - {name: x, env: [{name: A, value: b, new: 1}], resources: {limits: {cpu: 4000m}, requests: {ephemeral-storage: 2048Mi}}, brandNew: {y: 1}}
  - {name: side}
  volumes: [{name: tv, emptyDir: {}}]
`

func busyInput(t testing.TB) ExecutorInput {
	t.Helper()
	tpl, _, err := sparkpod.LoadTemplate([]byte(busyTemplate), "x")
	if err != nil {
		t.Fatal(err)
	}
	props := claim("executor", "q")
	for k, v := range (kv{"spark.kubernetes.container.image": "img", "spark.driver.host": "h", "spark.driver.port": "7078",
		"spark.kubernetes.executor.label.l": "{{APP_ID}}", "spark.executor.extraJavaOptions": "-Da=b -Dc=d", "spark.kubernetes.executor.secrets.s": "/s",
		"spark.executorEnv.E": "f", "spark.kubernetes.node.selector.n": "m"}) {
		props[k] = v
	}
	c := conf.New(props)
	return ExecutorInput{Conf: c, AppID: "spark-1", Namespace: "ns", ExecutorID: "1", PodNamePrefix: "p", ConfigMapName: "cm", ConfFiles: []string{"a"},
		Template: tpl, UserName: "u", Profile: sparkpod.Profile{ID: 1, ExecutorResources: map[string]sparkpod.ExecResource{"cores": {Amount: 2}, "gpu": {Amount: 1, Vendor: "v"}}}}
}

// Building changes nothing of its input, whoever else builds at the same time, and gives the same bytes each time.
func TestBuildExecutorIsPure(t *testing.T) {
	in := busyInput(t)
	first, err := BuildExecutor(in)
	if err != nil {
		t.Fatal(err)
	}
	want, err := first.Body()
	if err != nil {
		t.Fatal(err)
	}
	profile, err := json.Marshal(in.Profile)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				spec, err := BuildExecutor(in)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := spec.Body()
				if err != nil || string(got) != string(want) {
					t.Errorf("another pod: %v\n%s", err, got)
					return
				}
				spec.Pod.Labels["l"] = "changed by the caller"
				spec.Pod.Spec.Containers[1].Env[0].Value = "changed by the caller"
			}
		})
	}
	wg.Wait()
	after, err := json.Marshal(in.Profile)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(profile), string(after)); d != "" {
		t.Errorf("the profile changed:\n%s", d)
	}
}

func BenchmarkBuildExecutor(b *testing.B) {
	in := busyInput(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := BuildExecutor(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuildExecutorBody(b *testing.B) {
	in := busyInput(b)
	b.ReportAllocs()
	for b.Loop() {
		spec, err := BuildExecutor(in)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := spec.Body(); err != nil {
			b.Fatal(err)
		}
	}
}
