package conf

// Keys of the application itself that the submitter reads or writes, and the credentials of API clients.
var (
	Master = String("spark.master", Since("0.9.0"),
		Doc("Cluster manager to connect to: k8s:// and the address of the API server; https is taken when it has no scheme."))
	DeployMode = Enum("spark.submit.deployMode", []string{"client", "cluster"}, Default("client"), Since("1.5.0"),
		Doc("Where the driver runs: cluster is a pod, client is this machine."))
	Remote = String("spark.remote", Since("3.4.0"),
		Doc("Spark Connect server; not together with a master."))
	SparkHome = String("spark.home",
		Doc("Spark's folder: its conf folder is shipped when SPARK_CONF_DIR is not set."))
	AppID = String("spark.app.id",
		Doc("Id of the application. One given at submission is replaced; spark.kubespark.submissionId is for ids of one's own."))
	AppSubmitTime = Long("spark.app.submitTime", Since("3.3.0"),
		Doc("Time of submission in milliseconds since 1970; now if unset."))
	Jars = List("spark.jars", Since("0.9.0"),
		Doc("Jars for the class paths of driver and executors; local files are uploaded."))
	ApplicationFiles = List("spark.files", Since("1.0.0"),
		Doc("Files for the working folder of each executor; local files are uploaded."))
	Archives = List("spark.archives", Since("3.1.0"),
		Doc("Archives that are unpacked in the working folder of each executor; local files are uploaded."))
	PyFiles = List("spark.submit.pyFiles", Since("1.0.1"),
		Doc("Python files and archives for the Python path; local files are uploaded."))
	Packages = List("spark.jars.packages", Since("1.5.0"),
		Doc("Maven coordinates group:artifact:version, which the driver resolves."))
	ExcludedPackages = List("spark.jars.excludes", Since("1.5.0"),
		Doc("Pairs group:artifact that are left out when packages are resolved."))
	PackageRepositories = List("spark.jars.repositories", Since("2.3.0"),
		Doc("More repositories for packages."))
	IvyHome = String("spark.jars.ivy", Default("~/.ivy2.5.2"), Since("1.3.0"),
		Doc("Folder of Ivy in the driver."))
	IvySettings = String("spark.jars.ivySettings", Since("2.2.0"),
		Doc("Ivy settings file in the driver's image."))
	AvoidDownloadSchemes = List("spark.kubernetes.jars.avoidDownloadSchemes", Since("4.0.0"),
		Doc("Schemes of jars that the driver does not fetch before it starts; * for all."))
	DriverExtraClassPath = String("spark.driver.extraClassPath", Since("1.0.0"),
		Doc("Class path of the driver, before Spark's own."))
	DriverDefaultClassPath = String("spark.driver.defaultExtraClassPath", Since("4.0.0"),
		Doc("Class path that is put before the driver's extra one; kubespark.jar goes here."))
	DriverExtraLibraryPath = String("spark.driver.extraLibraryPath", Since("1.0.0"),
		Doc("Library path of the driver."))
	DriverExtraJavaOptions = String("spark.driver.extraJavaOptions", Since("1.0.0"),
		Doc("JVM options of the driver; its heap is spark.driver.memory."))
	DriverDefaultJavaOptions = String("spark.driver.defaultJavaOptions", Since("3.0.0"),
		Doc("JVM options that are put before the driver's extra ones."))
	DriverSupervise = Bool("spark.driver.supervise", Default(false), Since("1.3.0"),
		Doc("Restart of a failed driver; without effect on Kubernetes."))
	DriverUserClassPathFirst = Bool("spark.driver.userClassPathFirst", Default(false), Since("1.3.0"),
		Doc("Whether the user's jars come before Spark's in the driver."))
	ProxyUserClassPath = Bool("spark.submit.proxyUser.allowCustomClasspathInClusterMode", Default(false), Since("3.4.0"),
		Doc("Whether a proxy user may add to the class path of a submitter; read by Spark's own one only."))
	SetSubmitTimeInDriver = Bool("spark.kubernetes.setSubmitTimeInDriver", Default(true), Since("3.5.0"),
		Doc("Whether the driver sets the time of submission anew."))
	SubmitInDriver = Bool("spark.kubernetes.submitInDriver", Default(false), Since("2.4.0"),
		Doc("Says that the process is the driver of cluster mode; written at submission."))
	StructuredLogging = Bool("spark.log.structuredLogging.enabled", Default(false), Since("4.0.0"),
		Doc("Whether Spark logs as JSON."))
	SaslEncryption = Bool("spark.authenticate.enableSaslEncryption", Default(false), Since("1.4.0"),
		Doc("Encryption of Spark's own connections by SASL; executors get it at their start."))
	NetworkCrypto = Bool("spark.network.crypto.enabled", Default(false), Since("2.2.0"),
		Doc("Encryption of Spark's own connections; executors get it at their start."))
	ResourceManagerPrincipal = String("spark.hadoop.yarn.resourcemanager.principal",
		Doc("Renewer that Hadoop file systems are told of; the user when Hadoop's security is on."))
	HadoopFileSystems = List("spark.kerberos.access.hadoopFileSystems", Since("3.0.0"),
		Doc("Hadoop file systems whose tokens the application needs beside its default one."))
	ResourceNamePrefix = String("spark.kubernetes.driver.resourceNamePrefix", Since("3.0.0"),
		Doc("Of no effect: names come from the application's name. Spark reads it in its own tests alone."))
	PodGroupTemplateFile = String("spark.kubernetes.scheduler.volcano.podGroupTemplateFile", Since("3.3.0"),
		Doc("Template file of Volcano's pod group, which its step makes."))
	PodGroupTemplateJSON = String("spark.kubernetes.scheduler.volcano.podGroupTemplateJson", Since("4.2.0"),
		Doc("Template of Volcano's pod group as JSON text."))
	PythonVersion = String("spark.kubernetes.pyspark.pythonVersion", Since("2.4.0"),
		Doc("Python's major version, which had to be 3; ignored since Spark 4.1."))
)

// Credentials of the submitter's client, and where the driver's client finds its own in the pod. A family of five each.
var (
	SubmissionOAuthToken     = String("spark.kubernetes.authenticate.submission.oauthToken", Secret(), Since("2.3.0"), Doc("Token for the submitter."))
	SubmissionOAuthTokenFile = String("spark.kubernetes.authenticate.submission.oauthTokenFile", Since("2.3.0"), Doc("File with the token for the submitter, read once."))
	SubmissionCACertFile     = String("spark.kubernetes.authenticate.submission.caCertFile", Since("2.3.0"), Doc("CA file for the submitter."))
	SubmissionClientKeyFile  = String("spark.kubernetes.authenticate.submission.clientKeyFile", Since("2.3.0"), Doc("Client key file for the submitter."))
	SubmissionClientCertFile = String("spark.kubernetes.authenticate.submission.clientCertFile", Since("2.3.0"), Doc("Client certificate file for the submitter."))

	MountedOAuthToken     = String("spark.kubernetes.authenticate.driver.mounted.oauthToken", Secret(), Since("2.3.0"), Doc("Token for the driver's client."))
	MountedOAuthTokenFile = String("spark.kubernetes.authenticate.driver.mounted.oauthTokenFile", Since("2.3.0"), Doc("Token file in the driver pod; written at submission when the driver's token is shipped."))
	MountedCACertFile     = String("spark.kubernetes.authenticate.driver.mounted.caCertFile", Since("2.3.0"), Doc("CA file in the driver pod; unset, that of the service account."))
	MountedClientKeyFile  = String("spark.kubernetes.authenticate.driver.mounted.clientKeyFile", Since("2.3.0"), Doc("Client key file in the driver pod."))
	MountedClientCertFile = String("spark.kubernetes.authenticate.driver.mounted.clientCertFile", Since("2.3.0"), Doc("Client certificate file in the driver pod."))
)

func applicationKeys() []Key {
	return []Key{Master, DeployMode, Remote, SparkHome, AppID, AppSubmitTime, Jars, ApplicationFiles, Archives, PyFiles, Packages,
		ExcludedPackages, PackageRepositories, IvyHome, IvySettings, AvoidDownloadSchemes, DriverExtraClassPath, DriverDefaultClassPath,
		DriverExtraLibraryPath, DriverExtraJavaOptions, DriverDefaultJavaOptions, DriverSupervise, DriverUserClassPathFirst,
		ProxyUserClassPath, SetSubmitTimeInDriver, SubmitInDriver, StructuredLogging, SaslEncryption, NetworkCrypto,
		ResourceManagerPrincipal, HadoopFileSystems, ResourceNamePrefix, PodGroupTemplateFile, PodGroupTemplateJSON, PythonVersion,
		SubmissionOAuthToken, SubmissionOAuthTokenFile, SubmissionCACertFile, SubmissionClientKeyFile, SubmissionClientCertFile,
		MountedOAuthToken, MountedOAuthTokenFile, MountedCACertFile, MountedClientKeyFile, MountedClientCertFile}
}
