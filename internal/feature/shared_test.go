package feature

import (
	"strings"
	"testing"

	"github.com/kubespark/kubespark/internal/sparkpod"
)

const (
	drv = sparkpod.Driver
	exe = sparkpod.Executor
)

// Section A of the scenarios: what both roles share.
func TestSharedRules(t *testing.T) {
	const twoContainers = "spec: {initContainers: [{name: i}], containers: [{name: main}, {name: sidecar}]}"
	const unknown = "spec: {fooBar: 12, initContainers: [{name: i, newThing: 5}], containers: [{name: main}, {name: b, brandNew: {x: 1}, env: [{name: N, value: 5}, {name: B, value: true}]}]}"
	noChecks := kv{"spark.kubespark.stock": "submit-checks"}
	with := func(a, b kv) kv {
		out := kv{}
		for _, m := range []kv{a, b} {
			for k, v := range m {
				out[k] = v
			}
		}
		return out
	}
	runCases(t, []podCase{
		{name: "P001 no template", role: drv, want: kv{"m|annotations": "<none>", "s|containers|*name": "spark-kubernetes-driver", "s|hostname": "<none>"}},
		{name: "P002 containers of a template", role: drv, template: twoContainers, container: "main",
			want: kv{"s|containers|*name": "sidecar,main", "s|initContainers|*name": "i"}},
		{name: "P003 lists are added to", role: drv,
			template: "spec: {containers: [{name: m, args: [targ], env: [{name: SPARK_USER, value: x}], ports: [{name: driver-rpc-port, containerPort: 7078}]}]}",
			want: kv{"c|env|0|value": "x", "c|env|1|name": "SPARK_USER", "c|env|1|value": "u", "c|args|0": "targ", "c|args|1": "driver",
				"c|ports|0|name": "driver-rpc-port", "c|ports|1|name": "driver-rpc-port"}},
		{name: "P004 only what was set", role: drv, want: kv{"m|namespace": "<none>", "m|creationTimestamp": "<none>", "s|nodeSelector": "<none>",
			"s|imagePullSecrets": "<none>", "c|securityContext": "<none>", "m|ownerReferences": "<none>"}},
		{name: "P005 quantities keep their text", role: drv, conf: kv{"spark.kubernetes.driver.request.cores": "0.5", "spark.kubernetes.driver.limit.cores": "1e3",
			"spark.kubernetes.driver.volumes.emptyDir.v.mount.path": "/v", "spark.kubernetes.driver.volumes.emptyDir.v.options.sizeLimit": "1.5Gi"},
			want: kv{"c|resources|requests|cpu": "0.5", "c|resources|limits|cpu": "1e3", "s|volumes|=v|emptyDir|sizeLimit": "1.5Gi"}},
		{name: "P005 empty quantity", role: drv, conf: kv{"spark.kubernetes.driver.request.cores": ""}, errHas: "Invalid quantity string format passed."},
		{name: "P006 unknown fields, driver", role: drv, template: unknown, container: "main",
			want: kv{"s|fooBar": "12", "s|initContainers|0|newThing": "5", "s|containers|0|brandNew|x": "1"}},
		{name: "P006 unknown fields, executor", role: exe, template: unknown, container: "b",
			want: kv{"s|fooBar": "12", "s|initContainers|0|newThing": "5", "c|brandNew|x": "1"}},
		{name: "P007 numbers become text", role: drv, template: unknown, container: "b", want: kv{"c|env|0|value": "5", "c|env|1|value": "true"}},
		{name: "P008 families", role: drv, conf: kv{"spark.kubernetes.driver.label.a": "1", "spark.kubernetes.driver.label.b": "2",
			"spark.kubernetes.driver.annotation.x": "1", "spark.kubernetes.driver.annotation.y/z.w": "2", "spark.kubernetes.driverEnv.E": "e", "spark.kubernetes.driverEnv.F": "f",
			"spark.kubernetes.driver.secrets.s1": "/1", "spark.kubernetes.driver.secrets.s2": "/2", "spark.kubernetes.driver.secretKeyRef.R": "n:k", "spark.kubernetes.driver.secretKeyRef.S": "n:l"},
			want: kv{"m|labels|a": "1", "m|labels|b": "2", "m|annotations": `{"x":"1","y/z.w":"2"}`, "c|env|=E|value": "e", "c|env|=F|value": "f",
				"c|volumeMounts|=s1-volume|mountPath": "/1", "c|volumeMounts|=s2-volume|mountPath": "/2",
				"c|env|=R|valueFrom|secretKeyRef|key": "k", "c|env|=S|valueFrom|secretKeyRef|key": "l"}},
		{name: "P009 keys with dots and slashes", role: exe, conf: kv{"spark.kubernetes.executor.label.a.b/c-d_e": "v"}, want: kv{"m|labels|a.b/c-d_e": "v"}},
		{name: "P010 placeholders, driver", role: drv, conf: with(noChecks, kv{"spark.kubernetes.driver.label.l": "{{APP_ID}}-{{EXECUTOR_ID}}-{{X}}",
			"spark.kubernetes.driver.annotation.l": "{{APP_ID}}-{{EXECUTOR_ID}}-{{X}}"}),
			want: kv{"m|labels|l": "spark-app-id--{{X}}", "m|annotations|l": "spark-app-id--{{X}}"}},
		{name: "P010 placeholders, executor", role: exe, conf: with(noChecks, kv{"spark.kubernetes.executor.label.l": "{{APP_ID}}-{{EXECUTOR_ID}}-{{X}}"}),
			want: kv{"m|labels|l": "spark-app-id-1-{{X}}"}},
		{name: "P011 version in the image, driver", role: drv, conf: kv{"spark.kubernetes.container.image": "r/spark:{{SPARK_VERSION}}"}, want: kv{"c|image": "r/spark:4.1.1"}},
		{name: "P011 version in the image, executor", role: exe, conf: kv{"spark.kubernetes.container.image": "r/spark:{{SPARK_VERSION}}"}, want: kv{"c|image": "r/spark:4.1.1"}},
		{name: "P011 before 4.1", role: exe, version: "4.0.1", conf: kv{"spark.kubernetes.container.image": "r/spark:{{SPARK_VERSION}}"}, want: kv{"c|image": "r/spark:{{SPARK_VERSION}}"}},
		{name: "P012 no placeholders in env and claims", role: exe, conf: with(claim("executor", "q"), kv{"spark.executorEnv.A": "{{APP_ID}}",
			"spark.kubernetes.executor.volumes.persistentVolumeClaim.q.label.l": "{{APP_ID}}"}),
			want: kv{"c|env|=A|value": "{{APP_ID}}", "o|PersistentVolumeClaim|metadata|labels|l": "{{APP_ID}}"}},
		{name: "P013 preset labels, driver", role: drv, conf: kv{"spark.kubernetes.driver.label.x": "y"},
			want: kv{"m|labels": `{"spark-app-name":"test-app","spark-app-selector":"spark-app-id","spark-role":"driver","spark-version":"4.1.1","x":"y"}`}},
		{name: "P013 preset labels, executor", role: exe,
			want: kv{"m|labels": `{"spark-app-name":"test-app","spark-app-selector":"spark-app-id","spark-exec-id":"1","spark-exec-resourceprofile-id":"0","spark-role":"executor","spark-version":"4.1.1"}`}},
		{name: "P014 reserved label, driver", role: drv, conf: kv{"spark.kubernetes.driver.label.spark-role": "x"},
			err: "requirement failed: Label with key spark-role is not allowed as it is reserved for Spark bookkeeping operations."},
		{name: "P015 reserved label, executor, at submission", role: drv, conf: kv{"spark.kubernetes.executor.label.spark-exec-id": "x"},
			err: "requirement failed: Custom executor labels cannot contain spark-exec-id as it is reserved for Spark."},
		{name: "P016 reserved label in a template", role: drv, template: "metadata: {labels: {spark-role: zzz, mine: x}}\nspec: {}",
			want: kv{"m|labels|spark-role": "driver", "m|labels|mine": "x"}},
		{name: "P018 images of the roles", role: drv, conf: kv{"spark.kubernetes.driver.container.image": "d", "spark.kubernetes.executor.container.image": "e"},
			want: kv{"c|image": "d", "c|imagePullPolicy": "IfNotPresent"}},
		{name: "P018 image of executors", role: exe, conf: kv{"spark.kubernetes.driver.container.image": "d", "spark.kubernetes.executor.container.image": "e"}, want: kv{"c|image": "e"}},
		{name: "P019 no image", role: drv, conf: kv{"spark.kubernetes.container.image": unset}, err: "Must specify the driver container image"},
		{name: "P019 empty image", role: drv, conf: kv{"spark.kubernetes.container.image": ""}, err: "Must specify the driver container image"},
		{name: "P019 no executor image, at submission", role: drv, conf: kv{"spark.kubernetes.container.image": unset, "spark.kubernetes.driver.container.image": "d"},
			err: "Must specify the executor container image"},
		{name: "P020 pull policy", role: drv, conf: kv{"spark.kubernetes.container.image.pullPolicy": "always"},
			err: `[INVALID_CONF_VALUE.OUT_OF_RANGE_OF_OPTIONS] The value 'always' in the config "spark.kubernetes.container.image.pullPolicy" is invalid. ` +
				"It should be one of 'Always, Never, IfNotPresent'. SQLSTATE: 22022"},
		{name: "P021 pull secrets", role: drv, conf: kv{"spark.kubernetes.container.image.pullSecrets": "s1, s2 "}, template: "spec: {imagePullSecrets: [{name: t}]}",
			want: kv{"s|imagePullSecrets|*name": "t,s1,s2"}},
		{name: "P022 node selectors, driver", role: drv, template: "spec: {nodeSelector: {disk: hdd, t: u}}", conf: kv{"spark.kubernetes.node.selector.a": "1", "spark.kubernetes.driver.node.selector.b": "2",
			"spark.kubernetes.executor.node.selector.c": "3", "spark.kubernetes.node.selector.disk": "ssd", "spark.kubernetes.driver.node.selector.disk": "nvme"},
			want: kv{"s|nodeSelector": `{"a":"1","b":"2","disk":"nvme","t":"u"}`}},
		{name: "P022 node selectors, executor", role: exe, conf: kv{"spark.kubernetes.node.selector.a": "1", "spark.kubernetes.driver.node.selector.b": "2",
			"spark.kubernetes.executor.node.selector.c": "3"}, want: kv{"s|nodeSelector": `{"a":"1","c":"3"}`}},
		{name: "P023 no scheduler", role: drv, template: "spec: {schedulerName: t}", want: kv{"s|schedulerName": "t"}},
		{name: "P023 general scheduler", role: exe, conf: kv{"spark.kubernetes.scheduler.name": "s"}, want: kv{"s|schedulerName": "s"}},
		{name: "P023 role's scheduler", role: drv, conf: kv{"spark.kubernetes.scheduler.name": "s", "spark.kubernetes.driver.scheduler.name": "d"}, want: kv{"s|schedulerName": "d"}},
		{name: "P023 empty scheduler", role: drv, conf: kv{"spark.kubernetes.driver.scheduler.name": ""}, want: kv{"s|schedulerName": ""}},
		{name: "P025 empty env value", role: drv, conf: kv{"spark.kubernetes.driverEnv.E": ""}, want: kv{"c|env|=E|value": ""}},
		{name: "P026 secret mounts, driver", role: drv, conf: kv{"spark.kubernetes.driver.secrets.s1": "/etc/s1"},
			want: kv{"s|volumes|=s1-volume|secret|secretName": "s1", "c|volumeMounts|=s1-volume|mountPath": "/etc/s1"}},
		{name: "P026 secret mounts, executor", role: exe, conf: kv{"spark.kubernetes.executor.secrets.s1": "/etc/s1"},
			want: kv{"s|volumes|=s1-volume|secret|secretName": "s1", "c|volumeMounts|=s1-volume|mountPath": "/etc/s1"}},
		{name: "P027 secret env", role: exe, conf: kv{"spark.kubernetes.executor.secretKeyRef.E": "name:key", "spark.kubernetes.executor.secretKeyRef.F": "name:other"},
			want: kv{"c|env|=E|valueFrom|secretKeyRef": `{"key":"key","name":"name"}`, "c|env|=F|valueFrom|secretKeyRef|key": "other"}},
	})
}

func TestFaultyLabels(t *testing.T) { // P017
	c := podCase{role: drv, conf: kv{"spark.kubernetes.driver.label.long": strings.Repeat("x", 64), "spark.kubernetes.driver.label.a b": "v"}}
	_, err := c.build(t)
	for _, key := range []string{"spark.kubernetes.driver.label.long", "spark.kubernetes.driver.label.a b"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%v does not name %s", err, key)
		}
	}
	c.conf = kv{"spark.kubernetes.executor.label.long": strings.Repeat("x", 64)}
	if _, err := c.build(t); err == nil {
		t.Error("an executor's label is not checked at submission")
	}
}

func TestSecretKeyRefForm(t *testing.T) { // P028, P029
	for _, value := range []string{"abc", "s:", ":k", "s:k:", "s:k:x", ""} {
		for role, key := range map[sparkpod.Role]string{drv: "spark.kubernetes.driver.secretKeyRef.E", exe: "spark.kubernetes.executor.secretKeyRef.E"} {
			c := podCase{role: role, conf: kv{key: value}}
			_, err := c.build(t)
			if err == nil || !strings.Contains(err.Error(), "requirement failed: SecretKeyRef must be in the form name:key.") || !strings.Contains(err.Error(), key) {
				t.Errorf("%s=%s: %v", key, value, err)
			}
		}
	}
}

func TestInvalidEnvNames(t *testing.T) { // P024
	c := podCase{role: exe, conf: kv{}}
	for _, name := range []string{"1a/b", "a*b", "a_b", "a-b", "a.b"} {
		c.conf["spark.executorEnv."+name] = "v"
	}
	r, err := c.build(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range (kv{"1a/b": "<none>", "a*b": "<none>", "a_b": "v", "a-b": "v", "a.b": "v"}) {
		if got := r.at("c|env|=" + name + "|value"); got != want {
			t.Errorf("%s = %s", name, got)
		}
	}
	const warning = "Invalid key: a*b, a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', " +
		"and must not start with a digit. Regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*'"
	if len(r.warnings) != 2 || r.warnings[1] != warning {
		t.Errorf("warnings %q", r.warnings)
	}
}

// claim is a claim on demand.
func claim(role, name string) kv {
	p := "spark.kubernetes." + role + ".volumes.persistentVolumeClaim." + name
	return kv{p + ".mount.path": "/" + name, p + ".options.claimName": "OnDemand", p + ".options.storageClass": "gp", p + ".options.sizeLimit": "1Mi"}
}
