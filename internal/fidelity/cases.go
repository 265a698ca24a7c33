package fidelity

import "slices"

// Recordings is the folder of the recordings, from the repository's root.
const Recordings = "internal/fidelity/testdata/recorded"

// Cases are all cases, in the order of the page.
func Cases() []Case {
	return slices.Concat(
		role(Driver, basicCases(), sizeCases(), nameCases(), resourceCases(), uploadCases(), credentialCases(), familyCases(),
			volumeCases(), templateCases(), serviceCases(), hadoopCases(), schedulerCases(), lineCases(), refusedCases()),
		role(Executor, executorCases(), executorSizeCases(), executorVolumeCases(), executorTemplateCases(), controllerCases()),
	)
}

func role(r string, lists ...[]Case) []Case {
	all := slices.Concat(lists...)
	for i := range all {
		all[i].Role = r
	}
	return all
}

type kv = map[string]string

func basicCases() []Case {
	return []Case{
		{Name: "plain", What: "a jar in the image, nothing else", Every: true},
		{Name: "arguments", What: "application arguments that look like options", Main: []string{"local:///opt/a.jar", "--master", "x y", "-h", "", "ü"}},
		{Name: "namespace", What: "another namespace", Every: true, Conf: kv{"spark.kubernetes.namespace": "team-a"}},
		{Name: "pod-name", What: "a fixed driver pod name", Conf: kv{"spark.kubernetes.driver.pod.name": "my-driver"}},
		{Name: "image-placeholder", What: "{{SPARK_VERSION}} in image names", Every: true, Conf: kv{"spark.kubernetes.container.image": "example/spark:{{SPARK_VERSION}}-{{APP_ID}}"}},
		{Name: "image-roles", What: "an image for each role", Conf: kv{"spark.kubernetes.driver.container.image": "d:1", "spark.kubernetes.executor.container.image": "e:1"}},
		{Name: "pull-policy", What: "pull policy and pull secrets", Conf: kv{"spark.kubernetes.container.image.pullPolicy": "Always", "spark.kubernetes.container.image.pullSecrets": "s1, s2,,s3"}},
		{Name: "excluded-steps", What: "steps left out by name", Every: true, Conf: kv{"spark.kubernetes.driver.pod.excludedFeatureSteps": "org.apache.spark.deploy.k8s.features.DriverServiceFeatureStep," +
			"org.apache.spark.deploy.k8s.features.LocalDirsFeatureStep"}},
		{Name: "excluded-basic", What: "the first step left out", Conf: kv{"spark.kubernetes.driver.pod.excludedFeatureSteps": "org.apache.spark.deploy.k8s.features.BasicDriverFeatureStep"}},
		{Name: "properties-text", What: "escapes of spark.properties", Conf: kv{"spark.x.a": " lead  in ", "spark.x.b": "a=b:c#d!e\\f", "spark.x.c": "tab\tnew\nline", "spark.x.ü": "日本",
			"spark.x.key with blank": "v", "spark.x.empty": ""}},
		{Name: "conf-files", What: "which files of the configuration folder travel", Files: kv{"conf/spark-env.sh": "export A=1\n", "conf/hive-site.xml": "<a/>\n", "conf/spark-x.conf": "no", "conf/a.template": "no",
			"conf/b.gz": "no", "conf/sub/c.txt": "no", "conf/notes": "ü\n"}},
		{Name: "spark-defaults", What: "spark-defaults.conf under the command line", Files: kv{"conf/spark-defaults.conf": "spark.driver.memory 3g\nspark.x.a  one two \nspark.kubernetes.namespace=defaults\nother.key x\n"},
			Conf: kv{"spark.kubernetes.namespace": "line"}},
		{Name: "properties-file", What: "--properties-file", Args: []string{"--properties-file", Dir + "/p.conf"}, Files: kv{"p.conf": "spark.executor.instances=7\nspark.x.b = c\\u00fc\n"}},
		{Name: "configmap-limit", What: "a size limit that leaves files out", Conf: kv{"spark.kubernetes.configMap.maxSize": "10000"}, Files: kv{"conf/big.xml": string(make10k()), "conf/small.xml": "<s/>"}},
		{Name: "env-spark-user", What: "SPARK_USER of the submitter", Env: kv{"SPARK_USER": "somebody"}},
		{Name: "env-hadoop-user", What: "HADOOP_USER_NAME without SPARK_USER", Env: kv{"SPARK_USER": Unset, "HADOOP_USER_NAME": "hdfs-user"}},
		{Name: "proxy-user", What: "--proxy-user", Args: []string{"--proxy-user", "alice"}},
	}
}

func make10k() []byte {
	b := make([]byte, 10_000)
	for i := range b {
		b[i] = 'x'
	}
	return b
}

func sizeCases() []Case {
	size := func(name, what string, conf kv, main ...string) Case {
		return Case{Name: name, What: what, Conf: conf, Main: main}
	}
	py := "local:///opt/app.py"
	all := []Case{
		size("memory-4g-jar", "4g: a tenth is over the least overhead", kv{"spark.driver.memory": "4g"}),
		size("memory-4g-python", "4g of Python: 0.4", kv{"spark.driver.memory": "4g"}, py),
		size("memory-512m-python", "512m of Python: the least overhead", kv{"spark.driver.memory": "512m"}, py),
		size("memory-overhead", "overhead in MiB", kv{"spark.driver.memory": "256m", "spark.driver.memoryOverhead": "200"}),
		size("memory-factor", "the driver's own factor", kv{"spark.driver.memory": "10g", "spark.driver.memoryOverheadFactor": "0.17"}),
		size("memory-general-factor", "the general factor", kv{"spark.driver.memory": "10g", "spark.kubernetes.memoryOverheadFactor": "0.30000000000000004"}),
		size("memory-both-factors", "both factors: the general one travels", kv{"spark.driver.memory": "10g", "spark.kubernetes.memoryOverheadFactor": "1", "spark.driver.memoryOverheadFactor": "0.2"}),
		size("memory-factor-0", "a general factor of 0", kv{"spark.driver.memory": "10g", "spark.kubernetes.memoryOverheadFactor": "0"}),
		size("memory-floor", "another least overhead", kv{"spark.driver.minMemoryOverhead": "1g"}),
		size("memory-bare", "a number without a unit", kv{"spark.driver.memory": "2000"}),
		size("memory-kilobytes", "kilobytes cut to MiB", kv{"spark.driver.memory": "1500000k"}),
		size("memory-bytes", "bytes cut to MiB", kv{"spark.driver.memory": "1073741823b"}),
		size("memory-trunc", "a product just below a whole number", kv{"spark.driver.memory": "2290m", "spark.driver.memoryOverheadFactor": "0.29"}),
		size("memory-tiny-factor", "a factor in exponent form", kv{"spark.driver.memory": "1g", "spark.kubernetes.memoryOverheadFactor": "1e-5"}),
		size("cores", "cores and a limit", kv{"spark.driver.cores": "3", "spark.kubernetes.driver.limit.cores": "4"}),
		size("request-cores", "fractions of a core", kv{"spark.kubernetes.driver.request.cores": "0.5", "spark.kubernetes.driver.limit.cores": "1500m"}),
		size("cores-text", "quantities in unusual words", kv{"spark.kubernetes.driver.request.cores": "0.10", "spark.kubernetes.driver.limit.cores": "1e3"}),
		size("cores-limit-low", "a limit below the request is not checked", kv{"spark.kubernetes.driver.request.cores": "2", "spark.kubernetes.driver.limit.cores": "1"}),
		size("gpu", "devices of two vendors", kv{"spark.driver.resource.gpu.amount": "2", "spark.driver.resource.gpu.vendor": "nvidia.com", "spark.driver.resource.gpu.discoveryScript": "/d.sh",
			"spark.driver.resource.fpga.amount": "1", "spark.driver.resource.fpga.vendor": "intel.com"}),
		size("gpu-0", "none of a device", kv{"spark.driver.resource.gpu.amount": "0", "spark.driver.resource.gpu.vendor": "nvidia.com"}),
	}
	all[1].Every, all[14].Every = true, true
	return all
}

func nameCases() []Case {
	name := func(n, what, text string) Case {
		return Case{Name: "name-" + n, What: what, Args: []string{"--name", text}}
	}
	return []Case{
		name("blank", "a name with a blank", "Spark Pi"), name("signs", "signs in a name", " Job+Spark-Pi 2021"),
		name("digit", "a leading digit", "1abc"), name("digits", "digits only", "12"), name("dashes", "dashes around", "-hello-"),
		name("umlauts", "letters beyond ASCII", "1-Ünï cödé--X_y"), name("cjk", "no usable letter", "日本"),
		name("surrogates", "characters of two UTF-16 units", "a😀b"), name("only-dashes", "dashes only", "---"),
		name("63", "a long name: the Service falls back", "n23456789-123456789-123456789-123456789-123456789-123456789-123456"),
		name("label-cut", "a label that ends in a dash when cut", "n23456789-123456789-123456789-123456789-123456789-123456789-12-abc"),
		name("long", "a name of 150 characters", "a23456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-"),
		name("turkish", "a dotted capital I", "İstanbul"),
		{Name: "name-of-class", What: "the class as the name", Args: []string{"--class", "org.example.Main"}, Conf: kv{"spark.app.name": "from conf"}},
	}
}

func resourceCases() []Case {
	return []Case{
		{Name: "python", What: "Python in the image", Every: true, Main: []string{"local:///opt/app.py", "a", "b"}},
		{Name: "python-settings", What: "Python programs by property", Main: []string{"local:///opt/app.py"}, Conf: kv{"spark.pyspark.python": "python3.11", "spark.pyspark.driver.python": "python3.12"}},
		{Name: "python-env", What: "Python programs by environment", Main: []string{"local:///opt/app.py"}, Env: kv{"PYSPARK_PYTHON": "/env/python", "PYSPARK_DRIVER_PYTHON": "/env/driver"}},
		{Name: "python-mixed", What: "property and environment", Main: []string{"local:///opt/app.py"}, Conf: kv{"spark.pyspark.python": "p"}, Env: kv{"PYSPARK_DRIVER_PYTHON": "/env/driver"}},
		{Name: "python-files", What: "--py-files in the image", Main: []string{"local:///opt/app.py"}, Args: []string{"--py-files", "local:///opt/a.py,local:///opt/b.zip"}},
		{Name: "r", What: "R in the image", Every: true, Main: []string{"local:///opt/app.R", "x"}},
		{Name: "spark-internal", What: "no main file", Main: []string{"spark-internal"}, Args: []string{"--class", "org.example.Main"}},
		{Name: "remote-jar", What: "a jar at a remote place", Main: []string{"https://repo.example/app.jar"}, Args: []string{"--jars", "https://repo.example/lib.jar,local:///opt/x.jar"}},
		{Name: "dependencies", What: "jars, files, archives of the image", Args: []string{"--jars", "local:///a.jar,local:///b.jar", "--files", "local:///f.txt", "--archives", "local:///z.tgz#env"}},
		{Name: "packages", What: "--packages goes to the driver", Args: []string{"--packages", "org.example:a:1,org.example:b:2", "--exclude-packages", "org.example:c", "--repositories", "file://" + Dir + "/none"},
			Conf: kv{"spark.jars.ivy": Dir + "/ivy"}},
	}
}

func uploadCases() []Case {
	up := kv{"spark.kubernetes.file.upload.path": "file://" + Dir + "/up"}
	return []Case{
		{Name: "upload-jar", What: "a local jar", Every: true, Conf: up, Main: []string{Dir + "/app.jar"}, Files: kv{"app.jar": "jar"}},
		{Name: "upload-manifest", What: "the class of a local jar's manifest", Conf: up, Main: []string{Dir + "/manifest.jar"}, Files: kv{"manifest.jar": "manifest:Manifest-Version: 1.0\r\nMain-Class: org.example.From\r\n Manifest\r\n\r\n"}},
		{Name: "upload-python", What: "a local Python program with its files", Every: true, Conf: up, Main: []string{Dir + "/app.py", "x"}, Args: []string{"--py-files", Dir + "/lib.py," + Dir + "/pkg.zip"},
			Files: kv{"app.py": "print(1)\n", "lib.py": "x = 1\n", "pkg.zip": "zip"}},
		{Name: "upload-files", What: "files and archives with names", Conf: up, Args: []string{"--files", Dir + "/a.txt," + Dir + "/b.txt#other", "--archives", Dir + "/z.tgz#env"},
			Files: kv{"a.txt": "a", "b.txt": "b", "z.tgz": "z"}},
		{Name: "upload-mixed", What: "local beside remote", Conf: up, Args: []string{"--jars", "local:///i.jar," + Dir + "/l.jar,https://repo.example/r.jar"}, Files: kv{"l.jar": "l"}},
		{Name: "upload-glob", What: "a pattern of jars", Conf: up, Args: []string{"--jars", Dir + "/*.jar"}, Files: kv{"x1.jar": "1", "x2.jar": "2"}},
	}
}

func credentialCases() []Case {
	p := "spark.kubernetes.authenticate.driver."
	return []Case{
		{Name: "account", What: "a service account", Every: true, Conf: kv{p + "serviceAccountName": "spark"}},
		{Name: "token", What: "a token for the driver", Conf: kv{p + "oauthToken": "secret-token", p + "serviceAccountName": "spark"}},
		{Name: "credentials", What: "token, CA and client certificate", Every: true, Conf: kv{p + "oauthToken": "secret-token", p + "caCertFile": Dir + "/ca.pem", p + "clientKeyFile": Dir + "/key.pem", p + "clientCertFile": Dir + "/cert.pem"},
			Files: kv{"ca.pem": "ca\n", "key.pem": "key\n", "cert.pem": "cert\n"}},
		{Name: "mounted-credentials", What: "credentials that are in the image", Conf: kv{p + "mounted.oauthTokenFile": "/t", p + "mounted.caCertFile": "/ca"}},
		{Name: "ca-mounted-own", What: "a shipped CA and the user's own mounted path", Conf: kv{p + "caCertFile": Dir + "/ca.pem", p + "mounted.caCertFile": "/own"}, Files: kv{"ca.pem": "ca\n"}},
		{Name: "submission-token", What: "the submitter's own token", Conf: kv{"spark.kubernetes.authenticate.submission.oauthToken": "sub-token"}},
		{Name: "other-token-keys", What: "keys that end in oauthToken", Conf: kv{"spark.x.oauthToken": "t1", "spark.y.my-oauthToken": "t2"}},
	}
}

func familyCases() []Case {
	d := "spark.kubernetes.driver."
	return []Case{
		{Name: "labels", What: "labels and annotations with placeholders", Every: true, Conf: kv{d + "label.team": "a", d + "label.example.com/x": "y", d + "label.app": "{{APP_ID}}", d + "label.e": "x{{EXECUTOR_ID}}",
			d + "annotation.note": "some text", d + "annotation.example.com/id": "{{APP_ID}}-{{EXECUTOR_ID}}", d + "annotation.keep": "{{OTHER}}"}},
		{Name: "node-selector", What: "node selectors, general and of the role", Conf: kv{"spark.kubernetes.node.selector.zone": "a", "spark.kubernetes.node.selector.disk": "hdd", d + "node.selector.disk": "ssd"}},
		{Name: "env", What: "environment of the driver", Every: true, Conf: kv{"spark.kubernetes.driverEnv.A": "1", "spark.kubernetes.driverEnv.B.C": "{{APP_ID}} $(A)", "spark.kubernetes.driverEnv.EMPTY": "", "spark.kubernetes.driverEnv.1-bad": "x"}},
		{Name: "env-override", What: "environment names that Spark uses itself", Conf: kv{"spark.kubernetes.driverEnv.SPARK_USER": "u", "spark.kubernetes.driverEnv.SPARK_LOCAL_DIRS": "/x"}},
		{Name: "secrets", What: "mounted Secrets", Every: true, Conf: kv{d + "secrets.first": "/etc/first", d + "secrets.second": "/etc/second"}},
		{Name: "secret-env", What: "environment from Secrets", Conf: kv{d + "secretKeyRef.PASSWORD": "db:password", d + "secretKeyRef.USER": "db:user"}},
		{Name: "label-empty", What: "empty values", Conf: kv{d + "label.a": "", d + "annotation.b": ""}},
		{Name: "executor-families", What: "executors' settings travel untouched", Conf: kv{"spark.kubernetes.executor.label.x": "y", "spark.executorEnv.Z": "z", "spark.kubernetes.executor.secrets.s": "/s"}},
	}
}
