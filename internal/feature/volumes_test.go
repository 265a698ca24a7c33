package feature

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubespark/kubespark/internal/sparkpod"
)

// Section E of the scenarios: volumes and local directories.
func TestVolumes(t *testing.T) {
	const d, e = "spark.kubernetes.driver.volumes.", "spark.kubernetes.executor.volumes."
	vol := func(prefix, id string, options ...string) kv {
		out := kv{prefix + id + ".mount.path": "/v"}
		for _, o := range options {
			k, v, _ := strings.Cut(o, "=")
			out[prefix+id+"."+k] = v
		}
		return out
	}
	join := func(all ...kv) kv {
		out := kv{}
		for _, m := range all {
			maps.Copy(out, m)
		}
		return out
	}
	const pvc = "persistentVolumeClaim.v"
	runCases(t, []podCase{
		{name: "P118 hostPath", role: drv, conf: vol(d, "hostPath.v", "options.path=/h", "options.type=Directory"), want: kv{"s|volumes|=v|hostPath": `{"path":"/h","type":"Directory"}`}},
		{name: "P118 no type", role: exe, conf: vol(e, "hostPath.v", "options.path=/h"), want: kv{"s|volumes|=v|hostPath": `{"path":"/h","type":""}`}},
		{name: "P118 no path", role: drv, conf: vol(d, "hostPath.v"), err: "hostPath.v.options.path is required for hostPath"},
		{name: "P119 claim", role: drv, conf: vol(d, pvc, "options.claimName=c", "mount.readOnly=true"), want: kv{"s|volumes|=v|persistentVolumeClaim": `{"claimName":"c","readOnly":true}`, "kinds": "Service,ConfigMap"}},
		{name: "P119 no name", role: drv, conf: vol(d, pvc), err: "persistentVolumeClaim.v.options.claimName is required for persistentVolumeClaim"},
		{name: "P120 emptyDir", role: drv, conf: vol(d, "emptyDir.v", "options.medium=Memory", "options.sizeLimit=5G"), want: kv{"s|volumes|=v|emptyDir": `{"medium":"Memory","sizeLimit":"5G"}`}},
		{name: "P120 plain", role: drv, conf: vol(d, "emptyDir.v"), want: kv{"s|volumes|=v|emptyDir": `{"medium":""}`}},
		{name: "P120 no unit", role: drv, conf: vol(d, "emptyDir.v", "options.sizeLimit=5"), err: "Volume size `5` is smaller than 1KiB. Missing units?"},
		{name: "P120 claim without a unit", role: drv, conf: vol(d, pvc, "options.claimName=c", "options.sizeLimit=1000"), err: "Volume size `1000` is smaller than 1KiB. Missing units?"},
		{name: "P121 nfs", role: drv, conf: vol(d, "nfs.v", "options.path=/p", "options.server=s", "mount.readOnly=true"), want: kv{"s|volumes|=v|nfs": `{"path":"/p","server":"s"}`, "c|volumeMounts|=v|readOnly": "true"}},
		{name: "P121 no path", role: drv, conf: vol(d, "nfs.v", "options.server=s"), err: "nfs.v.options.path is required for nfs"},
		{name: "P121 no server", role: drv, conf: vol(d, "nfs.v", "options.path=/p"), err: "nfs.v.options.server is required for nfs"},
		{name: "P122 no mount path", role: drv, conf: kv{d + "emptyDir.v.options.medium": "Memory"}, err: "key not found: emptyDir.v.mount.path"},
		{name: "P122 unknown type", role: drv, conf: vol(d, "foo.v"), err: "Kubernetes Volume type `foo` is not supported"},
		{name: "not a boolean", role: drv, conf: vol(d, "emptyDir.v", "mount.readOnly=maybe"), err: `For input string: "maybe"`},
		{name: "P123 two sub-paths", role: drv, conf: vol(d, "emptyDir.v", "mount.subPath=a", "mount.subPathExpr=b"), err: "These config options are mutually exclusive: emptyDir.v.mount.subPath, emptyDir.v.mount.subPathExpr"},
		{name: "P123 subPath", role: exe, conf: vol(e, "emptyDir.v", "mount.subPath=a"), want: kv{"c|volumeMounts|=v": `{"mountPath":"/v","name":"v","readOnly":false,"subPath":"a","subPathExpr":""}`}},
		{name: "P123 subPathExpr", role: exe, conf: vol(e, pvc, "options.claimName=c", "mount.subPathExpr=$(A)"), want: kv{"c|volumeMounts|=v|subPathExpr": "$(A)"}},
		{name: "P124 one path twice", role: drv, conf: join(vol(d, "emptyDir.v"), vol(d, "emptyDir.w")), err: "requirement failed: Found duplicated mountPath: '/v'"},
		{name: "P124 two volumes", role: drv, conf: join(vol(d, "emptyDir.v", "mount.subPath=a"), vol(d, "emptyDir.w", "mount.subPath=b", "mount.path=/w")),
			want: kv{"s|volumes|*name": "v,w,spark-local-dir-1,spark-conf-volume-driver", "c|volumeMounts|*name": "v,w,spark-local-dir-1,spark-conf-volume-driver"}},
		{name: "P125 executor id, driver", role: drv, conf: vol(d, pvc, "options.claimName=pvc-spark-SPARK_EXECUTOR_ID"), want: kv{"s|volumes|=v|persistentVolumeClaim|claimName": "pvc-spark-SPARK_EXECUTOR_ID"}},
		{name: "P125 executor id, executor", role: exe, conf: vol(e, pvc, "options.claimName=pvc-spark-SPARK_EXECUTOR_ID"), want: kv{"s|volumes|=v|persistentVolumeClaim|claimName": "pvc-spark-1", "kinds": ""}},
		{name: "P126 on demand, driver", role: drv, conf: join(claim("driver", "q"), kv{d + "persistentVolumeClaim.q.label.l": "v", d + "persistentVolumeClaim.q.annotation.a": "w", d + "persistentVolumeClaim.q.label.spark-app-selector": "x"}),
			want: kv{"o|PersistentVolumeClaim|metadata": `{"annotations":{"a":"w"},"labels":{"l":"v","spark-app-selector":"spark-app-id"},"name":"prefix-U-driver-pvc-0"}`,
				"o|PersistentVolumeClaim|spec": `{"accessModes":["ReadWriteOncePod"],"resources":{"requests":{"storage":"1Mi"}},"storageClassName":"gp"}`,
				"kinds":                        "Service,PersistentVolumeClaim,ConfigMap", "s|volumes|=q|persistentVolumeClaim|claimName": "prefix-U-driver-pvc-0"}},
		{name: "P126 on demand, executor", role: exe, conf: claim("executor", "q"), want: kv{"o|PersistentVolumeClaim|metadata|name": "p-exec-1-pvc-0", "s|volumes|=q|persistentVolumeClaim|claimName": "p-exec-1-pvc-0"}},
		{name: "P126 legacy mode", role: exe, conf: join(claim("executor", "q"), kv{"spark.kubernetes.legacy.useReadWriteOnceAccessMode": "true"}), want: kv{"o|PersistentVolumeClaim|spec|accessModes": `["ReadWriteOnce"]`}},
		{name: "P127 fixed names", role: drv, conf: join(claim("driver", "q"), claim("driver", "r"), kv{d + "persistentVolumeClaim.q.options.claimName": "one", d + "persistentVolumeClaim.r.options.claimName": "two", d + "persistentVolumeClaim.q.label.l": "1"}),
			want: kv{"kinds": "Service,PersistentVolumeClaim,PersistentVolumeClaim,ConfigMap", "o|PersistentVolumeClaim|metadata|name": "one", "o|PersistentVolumeClaim|metadata|labels|l": "1"}},
		{name: "P128 on demand without size", role: drv, conf: vol(d, pvc, "options.claimName=OnDemand", "options.storageClass=gp"), errHas: pvc + ".options.storageClass and " + d + pvc + ".options.sizeLimit"},
		{name: "P129 index", role: drv, conf: join(claim("driver", "a"), kv{d + "emptyDir.b.mount.path": "/b", d + "nfs.c.mount.path": "/c", d + "nfs.c.options.path": "/x", d + "nfs.c.options.server": "s"}),
			want: kv{"o|PersistentVolumeClaim|metadata|name": "prefix-U-driver-pvc-2"}},
		{name: "P130 local directory", role: drv, want: kv{"s|volumes|=spark-local-dir-1|emptyDir": "{}"}},
		{name: "P130 in memory", role: exe, conf: kv{"spark.kubernetes.local.dirs.tmpfs": "true"}, want: kv{"s|volumes|=spark-local-dir-1|emptyDir": `{"medium":"Memory"}`}},
		{name: "P131 environment", role: drv, env: kv{"SPARK_LOCAL_DIRS": "/a,/b"}, conf: kv{"spark.local.dir": "/c"}, want: kv{"c|env|=SPARK_LOCAL_DIRS|value": "/a,/b", "c|volumeMounts|*mountPath": "/a,/b,/opt/spark/conf", "c|volumeMounts|*name": "spark-local-dir-1,spark-local-dir-2,spark-conf-volume-driver"}},
		{name: "P131 setting", role: drv, conf: kv{"spark.local.dir": "/c"}, want: kv{"c|env|=SPARK_LOCAL_DIRS|value": "/c"}},
		{name: "P131 empty entry", role: drv, conf: kv{"spark.local.dir": "/c,"}, errHas: "SPARK_LOCAL_DIRS or spark.local.dir is empty"},
		{name: "P132 own volume", role: drv, conf: join(vol(d, "hostPath.spark-local-dir-x", "mount.path=/tmp", "options.path=/h")), want: kv{"c|env|=SPARK_LOCAL_DIRS|value": "/tmp", "s|volumes|*name": "spark-local-dir-x,spark-conf-volume-driver"}},
		{name: "P132 template's mount", role: exe, template: "spec: {volumes: [{name: spark-local-dir-9, emptyDir: {}}], containers: [{name: x, volumeMounts: [{name: spark-local-dir-9, mountPath: /l}]}]}", want: kv{"c|env|=SPARK_LOCAL_DIRS|value": "/l"}},
		{name: "P133 driver's path", role: exe, env: kv{"SPARK_LOCAL_DIRS": "/var/data/spark-q"}, want: kv{"c|volumeMounts|=spark-local-dir-1|mountPath": "/var/data/spark-q", "s|volumes|=spark-local-dir-1|emptyDir": "{}"}},
		{name: "P134 name taken by the template", role: drv, template: "spec: {volumes: [{name: v, emptyDir: {}}]}", conf: vol(d, "emptyDir.v"), errHas: d + "emptyDir.v: the volume's name v is taken: the pod template"},
		{name: "P134 name taken by another kind", role: drv, conf: join(vol(d, "emptyDir.v"), vol(d, "hostPath.v", "options.path=/h", "mount.path=/w")), errHas: d + "emptyDir.v has it"},
		{name: "P135 bad executor volume at submission", role: drv, conf: kv{e + "emptyDir.v.options.medium": "x"}, err: "key not found: emptyDir.v.mount.path"},
		{name: "volume name that is no DNS label", role: drv, conf: vol(d, "emptyDir.V_1"), errHas: d + "emptyDir.V_1: the volume's name V_1 is not a DNS label"},
		{name: "Secret name that makes no volume name", role: drv, conf: kv{"spark.kubernetes.driver.secrets.a.b": "/x"}, errHas: "spark.kubernetes.driver.secrets.a.b: the volume's name a.b-volume"},
		{name: "P141 no local directories", role: drv, conf: kv{"spark.kubernetes.driver.pod.excludedFeatureSteps": "org.apache.spark.deploy.k8s.features.LocalDirsFeatureStep,com.x.Y"},
			want: kv{"c|env|=SPARK_LOCAL_DIRS": "<none>", "s|volumes|*name": "spark-conf-volume-driver", "w": "spark.kubernetes.driver.pod.excludedFeatureSteps: there is no step com.x.Y; the entry is ignored"}},
	})
}

func TestLocalDirsPermutation(t *testing.T) { // P132
	orders := map[string]bool{}
	for _, id := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		c := podCase{role: exe, conf: kv{}, executor: func(in *ExecutorInput) { in.ExecutorID = id }}
		for _, d := range []string{"a", "b", "c"} {
			p := "spark.kubernetes.executor.volumes.hostPath.spark-local-dir-" + d
			c.conf[p+".mount.path"], c.conf[p+".options.path"] = "/"+d, "/"+d
		}
		r, err := c.build(t)
		if err != nil {
			t.Fatal(err)
		}
		order := r.at("c|env|=SPARK_LOCAL_DIRS|value")
		dirs := strings.Split(order, ",")
		slices.Sort(dirs)
		if !slices.Equal(dirs, []string{"/a", "/b", "/c"}) {
			t.Fatalf("SPARK_LOCAL_DIRS = %s", order)
		}
		orders[order] = true
		again, err := c.build(t)
		if err != nil || again.at("c|env|=SPARK_LOCAL_DIRS|value") != order {
			t.Errorf("another order in a second build (%v)", err)
		}
	}
	if len(orders) < 2 {
		t.Error("all executors have the same order")
	}
}

func TestDefaultLocalDirectory(t *testing.T) { // P130
	paths := map[string]bool{}
	for _, role := range []sparkpod.Role{drv, exe} {
		c := podCase{role: role}
		r, err := c.build(t)
		if err != nil {
			t.Fatal(err)
		}
		path := r.at("c|env|=SPARK_LOCAL_DIRS|value")
		if path != r.at("c|volumeMounts|=spark-local-dir-1|mountPath") || !uuidPath.MatchString(path) || !strings.HasPrefix(path, "/var/data/spark-") {
			t.Errorf("%s: %s", role, path)
		}
		paths[path] = true
	}
	if len(paths) != 2 {
		t.Error("driver and executor have the same path by chance")
	}
}

// Section F: P139.
func TestTemplateFieldsSurvive(t *testing.T) {
	const tmpl = `
spec:
  dnsPolicy: None
  hostAliases: [{ip: 1.2.3.4, hostnames: [h]}]
  nodeName: n
  securityContext: {runAsUser: 1}
  tolerations: [{key: k}]
  volumes: [{name: t, emptyDir: {}}]
  containers: [{name: x, stdin: true, terminationMessagePath: /t, securityContext: {runAsUser: 2}, resources: {limits: {nvidia.com/gpu: 1}}}]
`
	want := kv{"s|dnsPolicy": "None", "s|hostAliases": `[{"hostnames":["h"],"ip":"1.2.3.4"}]`, "s|nodeName": "n", "s|securityContext": `{"runAsUser":1}`,
		"s|tolerations": `[{"key":"k"}]`, "s|volumes|0|name": "t", "c|stdin": "true", "c|terminationMessagePath": "/t", "c|securityContext": `{"runAsUser":2}`,
		"c|resources|limits|nvidia.com/gpu": "1"}
	runCases(t, []podCase{
		{name: "P139 driver", role: drv, template: tmpl, want: want},
		{name: "P139 executor", role: exe, template: tmpl, want: want},
	})
}
