package feature

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/conf"
)

// Section B of the scenarios: the driver.
func TestDriverPod(t *testing.T) {
	py := func(in *DriverInput) {
		in.ResourceType, in.MainClass, in.Resource = Python, "org.apache.spark.deploy.PythonRunner", "local:/main.py"
	}
	const ports = "driver-rpc-port,blockmanager,spark-ui"
	creds := kv{"spark.kubernetes.authenticate.driver.oauthToken": "token", "spark.kubernetes.authenticate.driver.caCertFile": "/ca",
		"spark.kubernetes.authenticate.driver.clientKeyFile": "/key", "spark.kubernetes.authenticate.driver.clientCertFile": "/cert"}
	files := func(in *DriverInput) { in.Files = memFiles{"/ca": "CA", "/key": "KEY", "/cert": "CERT"} }
	sa := kv{"spark.kubernetes.authenticate.driver.oauthToken": "token", "spark.kubernetes.authenticate.driver.serviceAccountName": "sa1"}
	saStock := kv{"spark.kubespark.stock": "service-account"}
	for k, v := range sa {
		saStock[k] = v
	}
	runCases(t, []podCase{
		{name: "P030 pod and sizes", role: drv, conf: kv{"spark.kubernetes.driver.pod.name": "spark-driver-pod", "spark.driver.cores": "2", "spark.kubernetes.driver.limit.cores": "4",
			"spark.driver.memory": "256M", "spark.driver.memoryOverhead": "200"},
			want: kv{"m|name": "spark-driver-pod", "c|resources": `{"limits":{"cpu":"4","memory":"456Mi"},"requests":{"cpu":"2","memory":"456Mi"}}`, "s|restartPolicy": "Never", "c|ports|*protocol": "TCP,TCP,TCP,TCP"}},
		{name: "P031 ports", role: drv, want: kv{"c|ports|*name": ports + ",spark-connect", "c|ports|*containerPort": "7078,7079,4040,15002"}},
		{name: "P031 ports before 4.1", role: drv, version: "4.0.1", want: kv{"c|ports|*name": ports}},
		{name: "P032 common block manager port", role: drv, conf: kv{"spark.blockManager.port": "7200"},
			want: kv{"c|ports|=blockmanager|containerPort": "7200", "o|Service|spec|ports|=blockmanager|port": "7079", "p|spark.driver.blockManager.port": "7079"}},
		{name: "P032 driver's block manager port", role: drv, conf: kv{"spark.blockManager.port": "7200", "spark.driver.blockManager.port": "7100"},
			want: kv{"c|ports|=blockmanager|containerPort": "7100", "o|Service|spec|ports|=blockmanager|port": "7100", "p|spark.driver.blockManager.port": "7100"}},
		{name: "P033 request cores 0.1", role: drv, conf: kv{"spark.kubernetes.driver.request.cores": "0.1"}, want: kv{"c|resources|requests|cpu": "0.1"}},
		{name: "P033 request cores 100m", role: drv, conf: kv{"spark.kubernetes.driver.request.cores": "100m"}, want: kv{"c|resources|requests|cpu": "100m"}},
		{name: "P033 driver cores", role: drv, conf: kv{"spark.driver.cores": "2"}, want: kv{"c|resources|requests|cpu": "2"}},
		{name: "P034 basic env", role: drv, want: kv{"c|env|=SPARK_DRIVER_BIND_ADDRESS|valueFrom|fieldRef": `{"apiVersion":"v1","fieldPath":"status.podIP"}`,
			"c|env|=SPARK_APPLICATION_ID|value": "spark-app-id", "c|env|=SPARK_USER|value": "u"}},
		{name: "P035 place of driverEnv", role: drv, conf: kv{"spark.kubernetes.driverEnv.B": "b", "spark.kubernetes.driverEnv.A": "a"},
			want: kv{"c|env|*name": "SPARK_USER,SPARK_APPLICATION_ID,A,B,SPARK_DRIVER_BIND_ADDRESS,SPARK_LOCAL_DIRS,SPARK_CONF_DIR"}},
		{name: "P036 properties", role: drv, want: kv{"p|spark.kubernetes.driver.pod.name": "prefix-U-driver", "p|spark.app.id": "spark-app-id",
			"p|spark.kubernetes.submitInDriver": "true", "p|spark.kubernetes.memoryOverheadFactor": "0.1"}},
		{name: "P037 no credentials", role: drv, want: kv{"kinds": "Service,ConfigMap", "s|serviceAccountName": "<none>", "s|volumes|=kubernetes-credentials": "<none>"}},
		{name: "P038 mounted credentials", role: drv, conf: kv{"spark.kubernetes.authenticate.driver.mounted.caCertFile": "/mine"},
			want: kv{"p|spark.kubernetes.authenticate.driver.mounted.caCertFile": "/mine", "kinds": "Service,ConfigMap"}},
		{name: "P039 credentials", role: drv, conf: creds, driver: files, want: kv{"o|Secret|metadata|name": "prefix-U-kubernetes-credentials", "o|Secret|immutable": "true",
			"o|Secret|data": `{"ca-cert":"Q0E=","client-cert":"Q0VSVA==","client-key":"S0VZ","oauth-token":"dG9rZW4="}`,
			"c|volumeMounts|=kubernetes-credentials|mountPath":              "/mnt/secrets/spark-kubernetes-credentials",
			"s|volumes|=kubernetes-credentials|secret|secretName":           "prefix-U-kubernetes-credentials",
			"p|spark.kubernetes.authenticate.driver.mounted.oauthTokenFile": "/mnt/secrets/spark-kubernetes-credentials/oauth-token",
			"p|spark.kubernetes.authenticate.driver.mounted.caCertFile":     "/mnt/secrets/spark-kubernetes-credentials/ca-cert",
			"p|spark.kubernetes.authenticate.driver.mounted.clientKeyFile":  "/mnt/secrets/spark-kubernetes-credentials/client-key",
			"p|spark.kubernetes.authenticate.driver.mounted.clientCertFile": "/mnt/secrets/spark-kubernetes-credentials/client-cert",
			"p|spark.kubernetes.authenticate.driver.oauthToken":             "<present_but_redacted>"}},
		{name: "P040 account beside credentials", role: drv, conf: sa, want: kv{"s|serviceAccount": "sa1", "s|serviceAccountName": "sa1"}},
		{name: "P040 account beside credentials, stock", role: drv, conf: saStock, want: kv{"s|serviceAccount": "<none>", "s|serviceAccountName": "<none>"}},
		{name: "P041 missing file", role: drv, conf: kv{"spark.kubernetes.authenticate.driver.caCertFile": "/nope"},
			err: "requirement failed: Driver CA cert file provided at /nope does not exist or is not a file."},
		{name: "P042 account over the template's", role: drv, template: "spec: {serviceAccount: t}", conf: kv{"spark.kubernetes.authenticate.driver.serviceAccountName": "sa1"},
			want: kv{"s|serviceAccount": "sa1", "s|serviceAccountName": "sa1"}},
		{name: "P042 template's account", role: drv, template: "spec: {serviceAccount: t}", want: kv{"s|serviceAccount": "t", "s|serviceAccountName": "<none>"}},
		{name: "P043 service", role: drv, conf: kv{"spark.driver.port": "9000", "spark.driver.blockManager.port": "8080", "spark.ui.port": "4080"},
			want: kv{"o|Service|spec|ports|*port": "9000,8080,4080,15002", "o|Service|spec|ports|*targetPort": "9000,8080,4080,15002", "o|Service|spec|ports|*protocol": "<none>,<none>,<none>,<none>",
				"o|Service|spec|clusterIP": "None", "o|Service|metadata|name": "prefix-U-driver-svc", "o|Service|metadata|namespace": "<none>"}},
		{name: "P044 driver's host", role: drv, driver: func(in *DriverInput) { in.Namespace = "my-namespace" },
			want: kv{"p|spark.driver.host": "prefix-U-driver-svc.my-namespace.svc", "p|spark.driver.port": "7078", "p|spark.driver.blockManager.port": "7079"}},
		{name: "P045 long name", role: drv, driver: func(in *DriverInput) { in.Prefix = strings.Repeat("a", 53) },
			want: kv{"o|Service|metadata|name": "spark-u1-driver-svc", "p|spark.driver.host": "spark-u1-driver-svc.default.svc",
				"w": "Driver's hostname would preferably be " + strings.Repeat("a", 53) + "-driver-svc, but this is too long (must be <= 63 characters). Falling back to use spark-u1-driver-svc as the driver service's name."}},
		{name: "P046 bind address", role: drv, conf: kv{"spark.driver.bindAddress": "1.2.3.4"},
			err: "requirement failed: spark.driver.bindAddress is not supported in Kubernetes mode, as the driver's bind address is managed and set to the driver pod's IP address."},
		{name: "P047 host reaches the step only without spark-submit", role: drv, conf: kv{"spark.driver.host": "foo"},
			err: "requirement failed: spark.driver.host is not supported in Kubernetes mode, as the driver's hostname will be managed via a Kubernetes service."},
		{name: "P048 service labels", role: drv, conf: kv{"spark.kubernetes.driver.service.label.l": "v", "spark.kubernetes.driver.service.annotation.a": "w"},
			want: kv{"o|Service|metadata|labels": `{"l":"v","spark-app-selector":"spark-app-id"}`, "o|Service|metadata|annotations": `{"a":"w"}`}},
		{name: "P048 reserved service label", role: drv, conf: kv{"spark.kubernetes.driver.service.label.spark-app-selector": "v"}, errHas: "spark.kubernetes.driver.service.label.spark-app-selector"},
		{name: "P049 IP families", role: drv, conf: kv{"spark.kubernetes.driver.service.ipFamilyPolicy": "RequireDualStack", "spark.kubernetes.driver.service.ipFamilies": "IPv6,IPv4"},
			want: kv{"o|Service|spec|ipFamilyPolicy": "RequireDualStack", "o|Service|spec|ipFamilies": `["IPv6","IPv4"]`}},
		{name: "P049 IP families with a blank", role: drv, conf: kv{"spark.kubernetes.driver.service.ipFamilies": "IPv6, IPv4"}, errHas: "OUT_OF_RANGE_OF_OPTIONS"},
		{name: "P050 service selector", role: drv, conf: kv{"spark.kubernetes.driver.label.l1": "v"}, template: "metadata: {labels: {t: t}}\nspec: {}",
			want: kv{"o|Service|spec|selector": `{"l1":"v","spark-app-name":"test-app","spark-app-selector":"spark-app-id","spark-role":"driver","spark-version":"4.1.1"}`}},
		{name: "P051 grpc", role: drv, version: "4.2.0", want: kv{"o|Service|spec|ports|=spark-connect|appProtocol": "grpc", "c|ports|=spark-connect|appProtocol": "<none>"}},
		{name: "P051 no grpc before", role: drv, want: kv{"o|Service|spec|ports|=spark-connect|appProtocol": "<none>"}},
		{name: "P052 equal ports", role: drv, conf: kv{"spark.ui.port": "7078"}, errHas: "spark.ui.port"},
		{name: "P052 port 0", role: drv, conf: kv{"spark.ui.port": "0"}, errHas: "spark.ui.port"},
		{name: "P053 network policy", role: drv, version: "4.2.0", want: kv{"kinds": "Service,NetworkPolicy,ConfigMap", "o|NetworkPolicy|metadata": `{"labels":{"spark-app-selector":"spark-app-id"},"name":"prefix-U-policy","namespace":"default"}`,
			"o|NetworkPolicy|spec": `{"ingress":[{"from":[{"podSelector":{"matchLabels":{"spark-app-selector":"spark-app-id"}}}]}],"podSelector":{"matchLabels":{"spark-app-selector":"spark-app-id","spark-role":"executor"}}}`}},
		{name: "P053 excluded", role: drv, version: "4.2.0", conf: kv{"spark.kubernetes.driver.pod.excludedFeatureSteps": "org.apache.spark.deploy.k8s.features.NetworkPolicyFeatureStep"}, want: kv{"kinds": "Service,ConfigMap"}},
		{name: "P054 jar", role: drv, driver: func(in *DriverInput) { in.Resource, in.Args = "local:/main.jar", []string{"5", "7"} },
			want: kv{"c|args": `["driver","--properties-file","/opt/spark/conf/spark.properties","--class","M","local:/main.jar","5","7"]`, "p|spark.kubernetes.resource.type": "java"}},
		{name: "P055 python", role: drv, driver: py, want: kv{"p|spark.kubernetes.resource.type": "python", "c|args|4": "org.apache.spark.deploy.PythonRunner", "c|args|5": "local:/main.py"}},
		{name: "P055 R", role: drv, driver: func(in *DriverInput) { in.ResourceType = R }, want: kv{"p|spark.kubernetes.resource.type": "r"}},
		{name: "P056 proxy user", role: drv, driver: func(in *DriverInput) { in.ProxyUser = "test.user" }, want: kv{"c|args|1": "--proxy-user", "c|args|2": "test.user", "c|args|3": "--properties-file"}},
		{name: "P057 python from settings", role: drv, driver: py, conf: kv{"spark.pyspark.python": "p", "spark.pyspark.driver.python": "d"}, env: kv{"PYSPARK_PYTHON": "ep", "PYSPARK_DRIVER_PYTHON": "ed"},
			want: kv{"c|env|=PYSPARK_PYTHON|value": "p", "c|env|=PYSPARK_DRIVER_PYTHON|value": "d"}},
		{name: "P057 one setting", role: drv, driver: py, conf: kv{"spark.pyspark.python": "p"}, env: kv{"PYSPARK_DRIVER_PYTHON": "ed"}, want: kv{"c|env|=PYSPARK_PYTHON|value": "p", "c|env|=PYSPARK_DRIVER_PYTHON|value": "p"}},
		{name: "P057 environment", role: drv, driver: py, env: kv{"PYSPARK_PYTHON": "ep", "PYSPARK_DRIVER_PYTHON": "ed"}, want: kv{"c|env|=PYSPARK_PYTHON|value": "ep", "c|env|=PYSPARK_DRIVER_PYTHON|value": "ed"}},
		{name: "P057 one variable", role: drv, driver: py, env: kv{"PYSPARK_PYTHON": "ep"}, want: kv{"c|env|=PYSPARK_PYTHON|value": "ep", "c|env|=PYSPARK_DRIVER_PYTHON|value": "ep"}},
		{name: "P057 none", role: drv, driver: py, want: kv{"c|env|=PYSPARK_PYTHON": "<none>", "c|env|=PYSPARK_DRIVER_PYTHON": "<none>"}},
		{name: "P057 jars never", role: drv, env: kv{"PYSPARK_PYTHON": "ep"}, want: kv{"c|env|=PYSPARK_PYTHON": "<none>"}},
		{name: "P058 no resource", role: drv, driver: func(in *DriverInput) { in.Resource = "" }, want: kv{"c|args|5": "spark-internal"}},
		{name: "P059 uploaded jar", role: drv, driver: func(in *DriverInput) { in.Resource = ""; in.Uploaded = kv{"spark.jars": "s3a://b/x.jar"} }, want: kv{"c|args|5": "spark-internal", "p|spark.jars": "s3a://b/x.jar"}},
		{name: "P071 conf volume", role: drv, driver: func(in *DriverInput) { in.ConfFiles = kv{"z.xml": "Z", "a.xml": "A"} },
			want: kv{"c|env|=SPARK_CONF_DIR|value": "/opt/spark/conf", "c|volumeMounts|=spark-conf-volume-driver|mountPath": "/opt/spark/conf",
				"s|volumes|=spark-conf-volume-driver|configMap": `{"items":[{"key":"a.xml","mode":420,"path":"a.xml"},{"key":"spark.properties","mode":420,"path":"spark.properties"},{"key":"z.xml","mode":420,"path":"z.xml"}],"name":"spark-drv-u1-conf-map"}`,
				"o|ConfigMap|data|a.xml":                        "A", "o|ConfigMap|data|spark.kubernetes.namespace": "default", "o|ConfigMap|immutable": "true", "o|ConfigMap|metadata|namespace": "default"}},
		{name: "P073 template metadata", role: drv, template: "metadata: {namespace: tplns, ownerReferences: [{apiVersion: v1, kind: X, name: o, uid: u}]}\nspec: {}",
			want: kv{"m|namespace": "tplns", "m|ownerReferences|*name": "o"}},
		{name: "P074 template fields", role: drv, template: "spec: {restartPolicy: Always, schedulerName: t, terminationGracePeriodSeconds: 77, hostname: h, subdomain: s, containers: [{name: x, image: i, imagePullPolicy: Always}]}",
			want: kv{"s|restartPolicy": "Never", "c|image": "img:1", "c|imagePullPolicy": "IfNotPresent", "s|schedulerName": "t", "s|terminationGracePeriodSeconds": "77", "s|hostname": "h", "s|subdomain": "s", "c|name": "x"}},
		{name: "F4 secrets in clear text", role: drv, conf: kv{"spark.my.password": "hunter2", "spark.kubernetes.authenticate.submission.oauthToken": "t"},
			want: kv{"w": "The ConfigMap spark-drv-u1-conf-map holds the values of spark.my.password in clear text; put secrets into a Secret instead."}},
		{name: "PT5 replaced template values", role: drv, template: "metadata: {name: mine, labels: {spark-role: x, own: y}}\nspec: {restartPolicy: Never, containers: [{name: x, image: i, resources: {requests: {memory: 1Gi, cpu: 1}}}]}",
			want: kv{"i": "You have not specified a krb5.conf file locally or via a ConfigMap. Make sure that you have the krb5.conf locally on the driver image.\n" +
				"The pod template's name mine is replaced by prefix-U-driver.\nThe pod template's image i is replaced by img:1.\n" +
				"The pod template's label spark-role x is replaced by driver.\nThe pod template's resources.requests.memory 1Gi is replaced by 1408Mi."}},
		{name: "4.3 privilege escalation", role: drv, version: "4.3.0", template: "spec: {containers: [{name: x, securityContext: {allowPrivilegeEscalation: true, runAsUser: 1}}]}",
			want: kv{"c|securityContext": `{"allowPrivilegeEscalation":false,"runAsUser":1}`}},
	})
}

func TestHadoopAndKerberos(t *testing.T) {
	dir := func(in *DriverInput) {
		in.Files = memFiles{"/hc/core-site.xml": "<c/>", "/hc/hdfs-site.xml": "H", "/hc/sub/x": "X", "/x/krb5.conf": "K", "/x/my.cnf": "K", "/x/k.kt": "T", "/tokens": "D"}
	}
	const krb = "spark.kubernetes.kerberos."
	runCases(t, []podCase{
		{name: "P060 named ConfigMap", role: drv, conf: kv{"spark.kubernetes.hadoop.configMapName": "hcm"}, want: kv{"s|volumes|=hadoop-properties|configMap": `{"name":"hcm"}`,
			"c|volumeMounts|=hadoop-properties|mountPath": "/opt/hadoop/conf", "c|env|=HADOOP_CONF_DIR|value": "/opt/hadoop/conf", "p|spark.kubernetes.executor.hadoopConfigMapName": "hcm", "kinds": "Service,ConfigMap"}},
		{name: "P061 directory", role: drv, driver: dir, env: kv{"HADOOP_CONF_DIR": "/hc"}, want: kv{"o|ConfigMap|metadata|name": "prefix-U-hadoop-config", "o|ConfigMap|data": `{"core-site.xml":"\u003cc/\u003e","hdfs-site.xml":"H"}`, "o|ConfigMap|immutable": "true",
			"s|volumes|=hadoop-properties|configMap|items": `[{"key":"core-site.xml","path":"core-site.xml"},{"key":"hdfs-site.xml","path":"hdfs-site.xml"}]`, "p|spark.kubernetes.executor.hadoopConfigMapName": "prefix-U-hadoop-config"}},
		{name: "P062 both", role: drv, driver: dir, env: kv{"HADOOP_CONF_DIR": "/hc"}, conf: kv{"spark.kubernetes.hadoop.configMapName": "hcm"},
			err: "requirement failed: Do not specify both the `HADOOP_CONF_DIR` in your ENV and the ConfigMap as the creation of an additional ConfigMap, when one is already specified is extraneous"},
		{name: "P063 named krb5", role: drv, conf: kv{krb + "krb5.configMapName": "k"}, want: kv{"s|volumes|=krb5-file|configMap": `{"name":"k"}`,
			"c|volumeMounts|=krb5-file": `{"mountPath":"/etc/krb5.conf","name":"krb5-file","subPath":"krb5.conf"}`, "kinds": "Service,ConfigMap"}},
		{name: "P064 krb5 file", role: drv, driver: dir, conf: kv{krb + "krb5.path": "/x/krb5.conf"}, want: kv{"o|ConfigMap|metadata|name": "prefix-U-krb5-file", "o|ConfigMap|data": `{"krb5.conf":"K"}`, "o|ConfigMap|immutable": "true"}},
		{name: "P065 krb5 file of another name", role: drv, driver: dir, conf: kv{krb + "krb5.path": "/x/my.cnf"}, want: kv{"s|volumes|=krb5-file|configMap|items": `[{"key":"my.cnf","path":"krb5.conf"}]`}},
		{name: "krb5 both", role: drv, conf: kv{krb + "krb5.path": "/x/my.cnf", krb + "krb5.configMapName": "k"}, errHas: "Do not specify both a Krb5 local file and the ConfigMap"},
		{name: "P066 keytab", role: drv, driver: dir, env: kv{"HADOOP_TOKEN_FILE_LOCATION": "/tokens"}, conf: kv{"spark.kerberos.keytab": "/x/k.kt", "spark.kerberos.principal": "p"}, want: kv{"o|Secret|metadata|name": "prefix-U-kerberos-keytab", "o|Secret|data": `{"k.kt":"VA=="}`,
			"c|volumeMounts|=kerberos-keytab|mountPath": "/mnt/secrets/kerberos-keytab", "p|spark.kerberos.keytab": "/mnt/secrets/kerberos-keytab/k.kt", "s|volumes|=hadoop-secret": "<none>"}},
		{name: "P067 keytab in the image", role: drv, conf: kv{"spark.kerberos.keytab": "local:/my.keytab", "spark.kerberos.principal": "p"}, want: kv{"kinds": "Service,ConfigMap", "p|spark.kerberos.keytab": "local:/my.keytab"}},
		{name: "P068 token Secret", role: drv, conf: kv{krb + "tokenSecret.name": "ts", krb + "tokenSecret.itemKey": "ik"}, want: kv{"s|volumes|=hadoop-secret|secret|secretName": "ts",
			"c|env|=HADOOP_TOKEN_FILE_LOCATION|value": "/mnt/secrets/hadoop-credentials/ik", "kinds": "Service,ConfigMap"}},
		{name: "P069 token file", role: drv, driver: dir, env: kv{"HADOOP_TOKEN_FILE_LOCATION": "/tokens"}, want: kv{"o|Secret|metadata|name": "prefix-U-delegation-tokens", "o|Secret|data": `{"hadoop-tokens":"RA=="}`,
			"c|env|=HADOOP_TOKEN_FILE_LOCATION|value": "/mnt/secrets/hadoop-credentials/hadoop-tokens"}},
		{name: "H6 Kerberos without a way to log in", role: drv, env: kv{"HADOOP_CONF_DIR": "/k"}, errHas: "Kerberos tokens cannot be obtained by native submission",
			driver: func(in *DriverInput) {
				in.Files = memFiles{"/k/core-site.xml": "<configuration><property><name>hadoop.security.authentication</name><value> kerberos</value></property></configuration>"}
			}},
		{name: "H3 principal alone", role: drv, conf: kv{"spark.kerberos.principal": "p"}, err: "requirement failed: If a Kerberos principal is specified you must also specify a Kerberos keytab"},
		{name: "H3 keytab alone", role: drv, conf: kv{"spark.kerberos.keytab": "/k"}, err: "requirement failed: If a Kerberos keytab is specified you must also specify a Kerberos principal"},
		{name: "H4 token name alone", role: drv, conf: kv{krb + "tokenSecret.name": "ts"}, errHas: "you must also specify the item-key where the data is stored"},
		{name: "H4 token key alone", role: drv, conf: kv{krb + "tokenSecret.itemKey": "ik"}, errHas: "you must also specify the name of the secret"},
	})
}

func TestExecutorTemplateShipped(t *testing.T) { // P070
	const text = "spec: {containers: [{name: x}]} # as written\n"
	use := func(s string) func(*DriverInput) { return func(in *DriverInput) { in.ExecutorTemplateText = s } }
	set := kv{"spark.kubernetes.executor.podTemplateFile": "/e.yaml"}
	runCases(t, []podCase{
		{name: "P070 shipped", role: drv, conf: set, driver: use(text), want: kv{"o|ConfigMap|metadata|name": "prefix-U-driver-podspec-conf-map", "o|ConfigMap|data|podspec-configmap-key": text, "o|ConfigMap|immutable": "true",
			"s|volumes|=pod-template-volume|configMap|items": `[{"key":"podspec-configmap-key","path":"pod-spec-template.yml"}]`, "c|volumeMounts|=pod-template-volume|mountPath": "/opt/spark/pod-template",
			"p|spark.kubernetes.executor.podTemplateFile": "/opt/spark/pod-template/pod-spec-template.yml"}},
		{name: "P070 none", role: drv, want: kv{"s|volumes|=pod-template-volume": "<none>", "p|spark.kubernetes.executor.podTemplateFile": "<none>"}},
		{name: "P070 no pod", role: drv, conf: set, driver: use("pod-template-contents"), errHas: "Could not load pod from template file."},
	})
}

func TestDriverOrders(t *testing.T) { // P072
	c := podCase{role: drv, template: "spec: {volumes: [{name: t, emptyDir: {}}], containers: [{name: c, env: [{name: T}], volumeMounts: [{name: t, mountPath: /t}]}]}",
		env: kv{"HADOOP_TOKEN_FILE_LOCATION": "/tokens", "HADOOP_CONF_DIR": "/hc", "PYSPARK_PYTHON": "p"},
		driver: func(in *DriverInput) {
			in.Files = memFiles{"/tokens": "D", "/krb": "K"}
			in.ResourceType, in.ExecutorTemplateText = Python, "spec: {}"
		},
		conf: kv{"spark.kubernetes.authenticate.driver.oauthToken": "x", "spark.kubernetes.driver.secrets.s": "/s", "spark.kubernetes.driver.secretKeyRef.R": "a:b",
			"spark.kubernetes.driver.volumes.emptyDir.v.mount.path": "/v", "spark.kubernetes.kerberos.krb5.path": "/krb", "spark.kubernetes.executor.podTemplateFile": "/e"}}
	r, err := c.build(t)
	if err != nil {
		t.Fatal(err)
	}
	const volumes = "t,kubernetes-credentials,s-volume,v,hadoop-properties,krb5-file,hadoop-secret,pod-template-volume,spark-local-dir-1,spark-conf-volume-driver"
	for path, want := range (kv{"s|volumes|*name": volumes, "c|volumeMounts|*name": volumes,
		"c|env|*name": "T,SPARK_USER,SPARK_APPLICATION_ID,SPARK_DRIVER_BIND_ADDRESS,R,PYSPARK_PYTHON,PYSPARK_DRIVER_PYTHON,HADOOP_CONF_DIR,HADOOP_TOKEN_FILE_LOCATION,SPARK_LOCAL_DIRS,SPARK_CONF_DIR",
		"kinds":       "Secret,Service,ConfigMap,ConfigMap,Secret,ConfigMap,ConfigMap"}) {
		if got := r.at(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
}

func TestPropertiesText(t *testing.T) { // F3
	got := PropertiesText("cm", kv{"b c:d": " lead tail ", "a": "x=y:z#!\\\t\n\r\fé", "c": ""})
	want := "#Java properties built from Kubernetes config map with name: cm\n#written by kubespark\n" +
		`a=x\=y\:z\#\!\\\t\n\r\f` + "é\n" + `b\ c\:d=\ lead tail ` + "\nc=\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestDriverConfigMap(t *testing.T) { // F1, F4
	secret := kv{"spark.kubernetes.authenticate.submission.oauthToken": "top-secret", "spark.x": "y"}
	c := podCase{role: drv, conf: secret}
	r, err := c.build(t)
	if err != nil {
		t.Fatal(err)
	}
	if text := r.at("o|ConfigMap|data|spark.properties"); strings.Contains(text, "submission") || strings.Contains(text, "top-secret") || !strings.Contains(text, "\nspark.x=y\n") {
		t.Errorf("properties:\n%s", text)
	}
	big := podCase{role: drv, driver: func(in *DriverInput) { in.ConfFiles = kv{"big.xml": strings.Repeat("x", 1<<20)} }}
	_, err = big.build(t)
	if err == nil || !strings.Contains(err.Error(), conf.ConfigMapMaxSize.Key()) || !strings.Contains(err.Error(), "big.xml 1048576") {
		t.Errorf("too big: %v", err)
	}
}

func TestDriverIsDeterministic(t *testing.T) {
	c := podCase{role: drv, conf: claim("driver", "q")}
	a, err := c.build(t)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.build(t)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]any{a.pod, a.objects, a.props}, []any{b.pod, b.objects, b.props}); d != "" {
		t.Errorf("two plans differ:\n%s", d)
	}
}
