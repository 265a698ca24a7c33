package fidelity

// volume returns the properties of a volume of a role, options in pairs.
func volume(role, kind, name, path string, options ...string) kv {
	p := "spark.kubernetes." + role + ".volumes." + kind + "." + name + "."
	out := kv{p + "mount.path": path}
	for i := 0; i < len(options); i += 2 {
		out[p+options[i]] = options[i+1]
	}
	return out
}

func join(all ...kv) kv {
	out := kv{}
	for _, m := range all {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// roleVolumes are the volumes that both roles are recorded with.
func roleVolumes(r string) []Case {
	pvc, local := "persistentVolumeClaim", "spark-local-dir-"
	return []Case{
		{Name: "hostpath", What: "hostPath volumes", Every: true, Conf: join(volume(r, "hostPath", "h1", "/h1", "options.path", "/host"), volume(r, "hostPath", "h2", "/h2", "options.path", "/dir", "options.type", "DirectoryOrCreate", "mount.readOnly", "true"))},
		{Name: "emptydir", What: "emptyDir volumes", Every: true, Conf: join(volume(r, "emptyDir", "e1", "/e1"), volume(r, "emptyDir", "e2", "/e2", "options.medium", "Memory", "options.sizeLimit", "1Gi"), volume(r, "emptyDir", "e3", "/e3", "options.sizeLimit", "0.5Gi"))},
		{Name: "nfs", What: "an NFS volume", Conf: volume(r, "nfs", "n", "/n", "options.server", "nfs.example", "options.path", "/exported", "mount.readOnly", "true")},
		{Name: "claim", What: "an existing claim", Conf: volume(r, pvc, "c", "/c", "options.claimName", "data", "mount.readOnly", "true")},
		{Name: "claim-on-demand", What: "claims made on demand", Every: true, Conf: join(volume(r, pvc, "a", "/a", "options.claimName", "OnDemand", "options.storageClass", "fast", "options.sizeLimit", "5Gi"),
			volume(r, pvc, "b", "/b", "options.claimName", "x-OnDemand-y", "options.storageClass", "slow", "options.sizeLimit", "1500Mi", "label.team", "a", "annotation.note", "n n"))},
		{Name: "claim-fixed", What: "a claim with a fixed name that is made", Conf: volume(r, pvc, "f", "/f", "options.claimName", "fixed", "options.storageClass", "fast", "options.sizeLimit", "1Gi", "label.spark-app-selector", "mine")},
		{Name: "claim-legacy-mode", What: "ReadWriteOnce", Conf: join(kv{"spark.kubernetes.legacy.useReadWriteOnceAccessMode": "true"}, volume(r, pvc, "l", "/l", "options.claimName", "OnDemand", "options.storageClass", "fast", "options.sizeLimit", "1Gi"))},
		{Name: "subpath", What: "subPath and subPathExpr", Conf: join(volume(r, "hostPath", "s1", "/s1", "options.path", "/host", "mount.subPath", "sub/dir"), volume(r, "hostPath", "s2", "/s2", "options.path", "/host", "mount.subPathExpr", "$(SPARK_APPLICATION_ID)"))},
		{Name: "local-dir-volume", What: "a volume as local directory", Every: true, Conf: volume(r, "hostPath", local+"x", "/fast", "options.path", "/ssd")},
		{Name: "local-dir-volumes", What: "several volumes as local directories", Conf: join(volume(r, "hostPath", local+"1", "/d1", "options.path", "/ssd1"), volume(r, "emptyDir", local+"2", "/d2"), volume(r, "emptyDir", local+"3", "/d3"))},
		{Name: "local-dirs", What: "spark.local.dir", Conf: kv{"spark.local.dir": "/l1,/l2, /l3"}},
		{Name: "local-dirs-tmpfs", What: "local directories in memory", Conf: kv{"spark.kubernetes.local.dirs.tmpfs": "true"}},
		{Name: "local-dirs-env", What: "SPARK_LOCAL_DIRS of the building process", Env: kv{"SPARK_LOCAL_DIRS": Dir + "/e1," + Dir + "/e2"}, Conf: kv{"spark.local.dir": "/l1"}},
	}
}

func volumeCases() []Case { return roleVolumes("driver") }

const (
	sidecarTemplate = `apiVersion: v1
kind: Pod
metadata:
  name: from-template
  namespace: elsewhere
  labels: {team: t, spark-role: mine, own: x}
  annotations: {note: template, keep: me}
  finalizers: [example.com/wait]
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: owner, uid: 12345678-1234-1234-1234-123456789012}
spec:
  serviceAccountName: from-template
  serviceAccount: from-template
  schedulerName: template-scheduler
  restartPolicy: OnFailure
  nodeSelector: {disk: template, zone: z}
  imagePullSecrets: [{name: t-secret}]
  tolerations:
  - {key: dedicated, operator: Equal, value: spark, effect: NoSchedule}
  priorityClassName: high
  terminationGracePeriodSeconds: 77
  hostname: template-host
  hostAliases: [{ip: 10.0.0.1, hostnames: [a.example]}]
  securityContext: {runAsUser: 185, fsGroup: 185, seccompProfile: {type: RuntimeDefault}}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: arch, operator: In, values: [amd64]}]
  topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {team: t}}}
  initContainers:
  - {name: init, image: "busybox:1", command: [sh, -c, "echo hi"]}
  - {name: sidecar, image: "log:1", restartPolicy: Always}
  containers:
  - name: first
    image: first:1
    ports: [{containerPort: 99, name: own}]
  - name: spark
    image: ignored:1
    imagePullPolicy: Never
    command: [/own/entry]
    workingDir: /work-dir
    env: [{name: T, value: 1}, {name: SPARK_USER, value: template}, {name: F, value: false}]
    envFrom: [{configMapRef: {name: more}}]
    ports: [{containerPort: 8080, name: http}]
    resources:
      requests: {cpu: 100m, memory: 1Mi, ephemeral-storage: 1Gi}
      limits: {cpu: "8", memory: 1Mi, ephemeral-storage: 2Gi, example.com/dev: "1"}
    volumeMounts: [{name: extra, mountPath: /extra, readOnly: false}]
    securityContext: {runAsNonRoot: true, allowPrivilegeEscalation: true, capabilities: {drop: [ALL]}}
    livenessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 5}
    lifecycle: {postStart: {exec: {command: ["true"]}}}
    terminationMessagePolicy: FallbackToLogsOnError
  - {name: last, image: "last:1", resources: {requests: {cpu: "1"}}}
  volumes:
  - {name: extra, emptyDir: {}}
  - {name: projected, projected: {sources: [{serviceAccountToken: {path: token, expirationSeconds: 3600}}]}}
`
	unknownFieldsTemplate = `{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"n":5,"b":true}},"spec":{"futureField":{"a":[1,{"b":false}]},
"hostNetwork":false,"enableServiceLinks":false,"containers":[{"name":"c","futureContainerField":"x","env":[{"name":"N","value":1.50}],"tty":false}]}}`
	minimalTemplate     = "spec: {}\n"
	noKindTemplate      = "metadata:\n  labels: {a: b}\nspec:\n  containers:\n  - name: only\n    image: x\n"
	localDirTemplate    = "spec:\n  containers:\n  - name: c\n    volumeMounts: [{name: spark-local-dir-9, mountPath: /nine}]\n  volumes: [{name: spark-local-dir-9, emptyDir: {sizeLimit: 1Gi}}]\n"
	accountNameTemplate = "spec:\n  serviceAccountName: only-name\n  containers: [{name: c}]\n"
	argsTemplate        = "spec:\n  containers: [{name: c, args: [template, args]}]\n"
	quantityTemplate    = "spec:\n  containers: [{name: c, resources: {requests: {cpu: 0.25, memory: 1e9}, limits: {cpu: 1500m, nvidia.com/gpu: 1}}}]\n"
	emptyListsTemplate  = "metadata: {labels: {}, annotations: {}}\nspec:\n  tolerations: []\n  nodeSelector: {}\n  containers: [{name: c, env: [], resources: {}, command: []}]\n  volumes: []\n"
)

// roleTemplates are the templates that both roles are recorded with.
func roleTemplates(r string) []Case {
	file, container := "spark.kubernetes."+r+".podTemplateFile", "spark.kubernetes."+r+".podTemplateContainerName"
	t := func(name, what, text string, more ...string) Case {
		c := Case{Name: "template-" + name, What: what, Files: kv{"t.yaml": text}, Conf: kv{file: Dir + "/t.yaml"}}
		for i := 0; i < len(more); i += 2 {
			c.Conf[more[i]] = more[i+1]
		}
		return c
	}
	all := []Case{
		t("sidecars", "several containers, init containers, conflicting fields; by name", sidecarTemplate, container, "spark"),
		t("first", "the first of several containers", sidecarTemplate),
		t("absent-name", "a container name that is not there", sidecarTemplate, container, "nobody"),
		t("settings-over", "settings over the template", sidecarTemplate, container, "spark", "spark.kubernetes.scheduler.name", "conf-scheduler", "spark.kubernetes."+r+".label.team", "conf",
			"spark.kubernetes."+r+".annotation.note", "conf", "spark.kubernetes."+r+".node.selector.disk", "conf", "spark.kubernetes.authenticate.driver.serviceAccountName", "conf",
			"spark.kubernetes."+r+".limit.cores", "9", "spark.kubernetes.container.image.pullSecrets", "conf-secret"),
		t("unknown-fields", "fields of newer APIs, numbers as text, JSON", unknownFieldsTemplate),
		t("minimal", "an empty spec", minimalTemplate), t("no-kind", "no kind", noKindTemplate),
		t("local-dir", "a local directory of the template", localDirTemplate), t("account-name", "only serviceAccountName", accountNameTemplate),
		t("args", "arguments of the template", argsTemplate), t("quantities", "quantities as numbers", quantityTemplate), t("empty-lists", "empty lists and maps", emptyListsTemplate),
	}
	all[0].Every, all[4].Every = true, true
	return all
}

func templateCases() []Case {
	return append(roleTemplates("driver"),
		Case{Name: "executor-template", What: "the executors' template travels as it is", Every: true, Files: kv{"e.yaml": noKindTemplate + "# a comment, ü\n"}, Conf: kv{"spark.kubernetes.executor.podTemplateFile": Dir + "/e.yaml"}},
		Case{Name: "template-uri", What: "a template by file URI", Files: kv{"t.yaml": noKindTemplate}, Conf: kv{"spark.kubernetes.driver.podTemplateFile": "file://" + Dir + "/t.yaml"}},
		Case{Name: "template-claims", What: "volumes, Secrets and a template together", Files: kv{"t.yaml": sidecarTemplate}, Conf: join(volume("driver", "emptyDir", "z", "/z"), kv{"spark.kubernetes.driver.podTemplateFile": Dir + "/t.yaml",
			"spark.kubernetes.driver.podTemplateContainerName": "last", "spark.kubernetes.driver.secrets.s": "/s"})},
	)
}

func serviceCases() []Case {
	s := "spark.kubernetes.driver.service."
	return []Case{
		{Name: "service-labels", What: "labels and annotations of the Service", Every: true, Conf: kv{s + "label.a": "b", s + "annotation.c": "d", s + "label.p": "{{APP_ID}}", "spark.kubernetes.driver.label.x": "y"}},
		{Name: "service-dual", What: "IP families", Conf: kv{s + "ipFamilyPolicy": "PreferDualStack", s + "ipFamilies": "IPv6,IPv4"}},
		{Name: "ports", What: "other ports", Every: true, Conf: kv{"spark.driver.port": "8001", "spark.driver.blockManager.port": "8002", "spark.ui.port": "8003", "spark.connect.grpc.binding.port": "8004"}},
		{Name: "block-manager-port", What: "the general block manager port", Conf: kv{"spark.blockManager.port": "8005"}},
		{Name: "publish-not-ready", What: "publishNotReadyAddresses (4.3)", Every: true, Conf: kv{s + "publishNotReadyAddresses": "true"}},
		{Name: "privilege-escalation", What: "allowPrivilegeEscalation (4.3)", Every: true, Conf: kv{"spark.kubernetes.securityContext.allowPrivilegeEscalation": "true", "spark.kubernetes.driver.securityContext.allowPrivilegeEscalation": "true"}},
	}
}

func hadoopCases() []Case {
	k := "spark.kubernetes.kerberos."
	return []Case{
		{Name: "hadoop-dir", What: "HADOOP_CONF_DIR", Every: true, Env: kv{"HADOOP_CONF_DIR": Dir + "/hadoop"}, Files: kv{"hadoop/core-site.xml": "<configuration/>\n", "hadoop/hdfs-site.xml": "<configuration></configuration>\n"}},
		{Name: "hadoop-map", What: "a named Hadoop ConfigMap", Conf: kv{"spark.kubernetes.hadoop.configMapName": "hadoop"}},
		{Name: "krb5-file", What: "a krb5.conf", Conf: kv{k + "krb5.path": Dir + "/krb5.conf"}, Files: kv{"krb5.conf": "[libdefaults]\n"}},
		{Name: "krb5-other-name", What: "a krb5 file of another name", Conf: kv{k + "krb5.path": Dir + "/my.conf"}, Files: kv{"my.conf": "[libdefaults]\n"}},
		{Name: "krb5-map", What: "a named krb5 ConfigMap", Conf: kv{k + "krb5.configMapName": "krb"}},
		{Name: "token-secret", What: "a named Secret of tokens", Conf: kv{k + "tokenSecret.name": "tokens", k + "tokenSecret.itemKey": "item"}},
		{Name: "keytab-in-image", What: "a keytab in the image", Conf: kv{"spark.kerberos.keytab": "local:///etc/a.keytab", "spark.kerberos.principal": "a@EXAMPLE"}},
		{Name: "hadoop-all", What: "Hadoop, krb5 and tokens together", Every: true, Env: kv{"HADOOP_CONF_DIR": Dir + "/hadoop"}, Files: kv{"hadoop/core-site.xml": "<configuration/>\n", "krb5.conf": "[libdefaults]\n"},
			Conf: kv{k + "krb5.path": Dir + "/krb5.conf", k + "tokenSecret.name": "tokens", k + "tokenSecret.itemKey": "item"}},
	}
}

func schedulerCases() []Case {
	volcano := kv{"spark.kubernetes.scheduler.name": "volcano", "spark.kubernetes.driver.pod.featureSteps": volcanoClass, "spark.kubernetes.executor.pod.featureSteps": volcanoClass}
	return []Case{
		{Name: "scheduler", What: "a scheduler for both", Conf: kv{"spark.kubernetes.scheduler.name": "both"}},
		{Name: "scheduler-driver", What: "a scheduler of the driver's own", Conf: kv{"spark.kubernetes.scheduler.name": "both", "spark.kubernetes.driver.scheduler.name": "own"}},
		{Name: "volcano", What: "Volcano without a template", Every: true, Conf: volcano},
		{Name: "volcano-file", What: "a PodGroup from a file", Every: true, Files: kv{"group.yaml": "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\nmetadata:\n  name: mine\n  labels: {a: b}\nspec:\n  minMember: 2\n" +
			"  minResources: {cpu: \"4\", memory: 8Gi}\n  priorityClassName: high\n  queue: research\n"}, Conf: join(volcano, kv{"spark.kubernetes.scheduler.volcano.podGroupTemplateFile": Dir + "/group.yaml"})},
		{Name: "volcano-json", What: "a PodGroup from JSON", Conf: join(volcano, kv{"spark.kubernetes.scheduler.volcano.podGroupTemplateJson": `{"spec":{"minMember":3,"queue":"q","minTaskMember":{"driver":1}}}`})},
	}
}

const volcanoClass = "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"

func lineCases() []Case {
	return []Case{
		{Name: "line-sizes", What: "sizes as options", Args: []string{"--driver-memory", "3g", "--driver-cores", "2", "--executor-memory", "5g", "--executor-cores", "4", "--num-executors", "6"}},
		{Name: "line-total-cores", What: "--total-executor-cores", Args: []string{"--total-executor-cores", "8"}},
		{Name: "line-class-path", What: "class path and Java options", Args: []string{"--driver-class-path", "/a:/b", "--driver-java-options", "-Dx=y -XX:+UseG1GC", "--driver-library-path", "/lib"}},
		{Name: "line-joined", What: "options joined with =, --conf forms", Args: []string{"--driver-memory=2g", "-c", "spark.x.y=z=w", "--conf=spark.x.q=r"}},
		{Name: "line-queue", What: "options of other cluster managers", Args: []string{"--queue", "q", "--supervise"}},
		{Name: "line-over-conf", What: "an option over --conf of its key", Args: []string{"--executor-memory", "2g"}, Conf: kv{"spark.executor.memory": "9g"}},
		{Name: "expansion", What: "variables in values", Conf: kv{"spark.x.base": "base", "spark.kubernetes.driver.pod.name": "${spark.x.base}-driver", "spark.kubernetes.driver.annotation.l": "${spark.x.base}"}},
		{Name: "dynamic", What: "dynamic allocation", Conf: kv{"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.maxExecutors": "9"}},
	}
}

func refusedCases() []Case {
	d := "spark.kubernetes.driver."
	refused := func(name, what string, conf kv) Case { return Case{Name: "refused-" + name, What: what, Conf: conf} }
	return []Case{
		refused("no-image", "no image", kv{"spark.kubernetes.container.image": Unset}),
		refused("label", "a reserved label", kv{d + "label.spark-role": "x"}),
		refused("secret-env", "a Secret reference without a key", kv{d + "secretKeyRef.A": "s"}),
		refused("mount-path", "two volumes at one path", join(volume("driver", "emptyDir", "a", "/p"), volume("driver", "emptyDir", "b", "/p"))),
		refused("volume-kind", "an unknown kind of volume", volume("driver", "ceph", "a", "/p")),
		refused("volume-option", "a missing option", volume("driver", "nfs", "a", "/p", "options.path", "/x")),
		refused("volume-size", "a size without a unit", volume("driver", "emptyDir", "a", "/p", "options.sizeLimit", "500")),
		refused("principal", "a principal without a keytab", kv{"spark.kerberos.principal": "a"}),
		{Name: "refused-upload", What: "a local jar without an upload path", Main: []string{Dir + "/a.jar"}, Files: kv{"a.jar": "jar"}},
		refused("ca-file", "a CA file that is not there", kv{"spark.kubernetes.authenticate.driver.caCertFile": "/nowhere/ca.pem"}),
		refused("vendor", "a device without a vendor", kv{"spark.driver.resource.gpu.amount": "1"}),
		refused("factor", "an overhead factor of 0", kv{"spark.driver.memoryOverheadFactor": "0"}),
		refused("ip-families", "unknown IP families", kv{d + "service.ipFamilies": "IPv5"}),
	}
}

func executorCases() []Case {
	e := "spark.kubernetes.executor."
	owner := kv{"spark.kubernetes.driver.pod.name": "driver"}
	return []Case{
		{Name: "plain", What: "one executor, outside the cluster", Every: true},
		{Name: "owner", What: "a driver pod as the owner", Every: true, Conf: owner},
		{Name: "two", What: "two executors", Pods: 2, Conf: kv{"spark.executor.instances": "2"}},
		{Name: "labels", What: "labels, annotations, node selectors", Every: true, Conf: kv{e + "label.team": "a", e + "label.id": "x{{EXECUTOR_ID}}", e + "annotation.n": "{{APP_ID}}/{{EXECUTOR_ID}}", "spark.kubernetes.node.selector.z": "a",
			e + "node.selector.z": "b"}},
		{Name: "env", What: "environment, names checked", Every: true, Conf: kv{"spark.executorEnv.A": "1", "spark.executorEnv.1BAD": "x", "spark.executorEnv.b.c-d": "{{APP_ID}}", "spark.executorEnv.EMPTY": "",
			"spark.executorEnv.SPARK_EXECUTOR_DIRS": "/d/SPARK_APPLICATION_ID/SPARK_EXECUTOR_ID"}},
		{Name: "secrets", What: "Secrets mounted and in the environment", Conf: kv{e + "secrets.first": "/f", e + "secrets.second": "/s", e + "secretKeyRef.P": "db:pw"}},
		{Name: "java-options", What: "Java options, quoted and with placeholders", Every: true, Conf: kv{"spark.executor.extraJavaOptions": `-Dname="two words" -Dq='it is' -Did={{EXECUTOR_ID}} -Dapp={{APP_ID}} -Dback\slash`,
			"spark.executor.defaultJavaOptions": "-Ddefault=1"}},
		{Name: "start-up-properties", What: "properties that an executor needs at start", Conf: kv{"spark.rpc.askTimeout": "77s", "spark.network.timeout": "120s", "spark.port.maxRetries": "5", "spark.ssl.enabled": "false", "spark.x.port": "1",
			"spark.ssl.keyPassword": "p"}},
		{Name: "class-path", What: "class path and library path", Every: true, Conf: kv{"spark.executor.extraClassPath": "/a/*:/b", "spark.executor.extraLibraryPath": "/lib", "spark.executor.defaultExtraClassPath": "/d"}},
		{Name: "log-url", What: "attributes for log links", Conf: kv{"spark.ui.custom.executor.log.url": "http://log.example/{{APP_ID}}"}},
		{Name: "auth", What: "the secret of spark.authenticate", Conf: kv{"spark.authenticate": "true", "spark.authenticate.secret": "abc"}},
		{Name: "decommission", What: "decommissioning", Every: true, Conf: kv{"spark.decommission.enabled": "true"}},
		{Name: "decommission-script", What: "another script and grace period", Conf: kv{"spark.decommission.enabled": "true", "spark.kubernetes.decommission.script": "/own.sh", e + "terminationGracePeriodSeconds": "2m"}},
		{Name: "no-configmap", What: "without a ConfigMap", Conf: kv{e + "disableConfigMap": "true"}},
		{Name: "no-conf-files", What: "an empty configuration folder", Env: kv{"SPARK_CONF_DIR": Dir + "/empty"}, Files: kv{"empty/a.template": ""}},
		{Name: "conf-files", What: "several configuration files", Files: kv{"conf/hive-site.xml": "<x/>", "conf/fairscheduler.xml": "<y/>"}},
		{Name: "account", What: "a service account", Conf: kv{"spark.kubernetes.authenticate.executor.serviceAccountName": "exec"}},
		{Name: "account-of-driver", What: "the driver's service account", Conf: kv{"spark.kubernetes.authenticate.driver.serviceAccountName": "drv"}},
		{Name: "images", What: "image, pull policy and secrets", Conf: kv{e + "container.image": "e:{{SPARK_VERSION}}", "spark.kubernetes.container.image.pullPolicy": "Never", "spark.kubernetes.container.image.pullSecrets": "a,b"}},
		{Name: "scheduler", What: "a scheduler of executors' own", Conf: kv{"spark.kubernetes.scheduler.name": "both", e + "scheduler.name": "own"}},
		{Name: "block-manager-port", What: "a block manager port", Conf: kv{"spark.blockManager.port": "27079"}},
		{Name: "pod-ip", What: "executors dial the driver's pod IP", Every: true, Conf: kv{e + "useDriverPodIP": "true"}},
		{Name: "hadoop", What: "a Hadoop ConfigMap", Conf: kv{e + "hadoopConfigMapName": "hadoop"}},
		{Name: "excluded", What: "steps left out", Conf: kv{e + "pod.excludedFeatureSteps": "org.apache.spark.deploy.k8s.features.LocalDirsFeatureStep"}},
		{Name: "volcano", What: "Volcano's annotation", Conf: kv{e + "pod.featureSteps": volcanoClass}},
		{Name: "privilege-escalation", What: "allowPrivilegeEscalation (4.3)", Every: true, Conf: kv{"spark.kubernetes.executor.securityContext.allowPrivilegeEscalation": "true"}},
		{Name: "long-prefix", What: "a prefix longer than a host name", Conf: kv{e + "podNamePrefix": "p23456789-123456789-123456789-123456789-123456789-123456789-123456789"}},
		{Name: "dotted-prefix", What: "a prefix with dots", Conf: kv{e + "podNamePrefix": "a.b.c"}},
		{Name: "app-name", What: "a name for the label", Conf: kv{"spark.app.name": "1-Ünï cödé--X_y"}},
	}
}

func executorSizeCases() []Case {
	profile := func(p kv, conf kv) (kv, kv) {
		return p, join(kv{"spark.dynamicAllocation.enabled": "true", "spark.dynamicAllocation.minExecutors": "0", "spark.dynamicAllocation.initialExecutors": "0", "spark.executor.instances": Unset}, conf)
	}
	size := func(name, what string, conf kv) Case { return Case{Name: name, What: what, Conf: conf} }
	all := []Case{
		size("memory-3g", "Python: factor, off-heap and Python memory", kv{"spark.executor.memory": "3g", "spark.kubernetes.memoryOverheadFactor": "0.4", "spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "150m",
			"spark.executor.pyspark.memory": "300m", "spark.kubernetes.resource.type": "python"}),
		size("memory-3g-jar", "Java: Python memory is left out", kv{"spark.executor.memory": "3g", "spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "157286401", "spark.executor.pyspark.memory": "300m"}),
		size("memory-overhead", "overhead in MiB", kv{"spark.executor.memory": "700m", "spark.executor.memoryOverhead": "100"}),
		size("memory-factor", "a factor of executors' own", kv{"spark.executor.memory": "10g", "spark.executor.memoryOverheadFactor": "0.33"}),
		size("memory-floor", "another least overhead", kv{"spark.executor.minMemoryOverhead": "500m"}),
		size("cores", "cores and limit", kv{"spark.executor.cores": "4", "spark.kubernetes.executor.limit.cores": "5"}),
		size("request-cores", "a fraction of a core", kv{"spark.executor.cores": "2", "spark.kubernetes.executor.request.cores": "0.10", "spark.kubernetes.executor.limit.cores": "2500m"}),
		size("gpu", "devices", kv{"spark.executor.resource.gpu.amount": "1", "spark.executor.resource.gpu.vendor": "amd.com", "spark.task.resource.gpu.amount": "1"}),
		size("profile", "a profile with all parts", kv{"spark.kubernetes.resource.type": "python", "spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "50m"}),
		size("profile-memory", "a profile with memory only", kv{"spark.executor.memory": "1g", "spark.executor.cores": "2", "spark.kubernetes.executor.request.cores": "500m"}),
	}
	all[8].Profile, all[8].Conf = profile(kv{"cores": "3", "memory": "2g", "memoryOverhead": "1g", "offHeap": "100m", "pyspark.memory": "300m", "gpu": "2:nvidia.com"}, all[8].Conf)
	all[9].Profile, all[9].Conf = profile(kv{"memory": "8g"}, all[9].Conf)
	all[8].Every = true
	return all
}

func executorVolumeCases() []Case {
	cases := roleVolumes("executor")
	pvc := "persistentVolumeClaim"
	return append(cases,
		Case{Name: "claim-of-executor", What: "claims owned by the executor", Conf: join(kv{"spark.kubernetes.driver.pod.name": "driver", "spark.kubernetes.driver.ownPersistentVolumeClaim": "false", "spark.kubernetes.driver.reusePersistentVolumeClaim": "false"},
			volume("executor", pvc, "a", "/a", "options.claimName", "OnDemand", "options.storageClass", "fast", "options.sizeLimit", "5Gi"))},
		Case{Name: "claim-by-id", What: "claims by executor id", Conf: volume("executor", pvc, "a", "/a", "options.claimName", "c-SPARK_EXECUTOR_ID")},
	)
}

func executorTemplateCases() []Case {
	return append(roleTemplates("executor"),
		Case{Name: "template-profile", What: "a profile drops the template's resources", Files: kv{"t.yaml": sidecarTemplate}, Profile: kv{"cores": "2", "memory": "1g"}, Conf: kv{"spark.dynamicAllocation.enabled": "true", "spark.executor.instances": Unset,
			"spark.kubernetes.executor.podTemplateFile": Dir + "/t.yaml", "spark.kubernetes.executor.podTemplateContainerName": "spark"}},
		Case{Name: "template-decommission", What: "the template's lifecycle gives way", Files: kv{"t.yaml": sidecarTemplate}, Conf: kv{"spark.decommission.enabled": "true",
			"spark.kubernetes.executor.podTemplateFile": Dir + "/t.yaml", "spark.kubernetes.executor.podTemplateContainerName": "spark"}},
	)
}

func controllerCases() []Case {
	set := func(kind string, conf kv) Case {
		return Case{Name: kind, What: "a " + kind + " of executors", Every: kind == "statefulset", Conf: join(kv{"spark.kubernetes.allocation.pods.allocator": kind, "spark.executor.instances": "3", "spark.kubernetes.driver.pod.name": "driver"}, conf)}
	}
	claims := set("statefulset", volume("executor", "persistentVolumeClaim", "a", "/a", "options.claimName", "OnDemand", "options.storageClass", "fast", "options.sizeLimit", "5Gi"))
	claims.Name, claims.What, claims.Every = "statefulset-claims", "claims of a StatefulSet", false
	return []Case{set("statefulset", nil), claims, set("deployment", nil)}
}
