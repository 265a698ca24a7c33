package conf

import (
	"regexp"
	"slices"
	"time"
)

// Keys that pod building reads.
var (
	ContainerImage = String("spark.kubernetes.container.image", Since("2.3.0"),
		Doc("Image of driver and executor containers; {{SPARK_VERSION}} in it becomes the Spark version."))
	DriverContainerImage = String("spark.kubernetes.driver.container.image", Fallback(ContainerImage), Since("2.3.0"),
		Doc("Image of the driver container."))
	ExecutorContainerImage = String("spark.kubernetes.executor.container.image", Fallback(ContainerImage), Since("2.3.0"),
		Doc("Image of executor containers."))
	ImagePullPolicy = Enum("spark.kubernetes.container.image.pullPolicy", []string{"Always", "Never", "IfNotPresent"}, Default("IfNotPresent"), Since("2.3.0"),
		Doc("Image pull policy of the Spark containers."))
	ImagePullSecrets = List("spark.kubernetes.container.image.pullSecrets", Since("2.4.0"),
		Doc("Secrets for pulling images, added to those of the template."))
	SchedulerName = String("spark.kubernetes.scheduler.name", Since("3.3.0"),
		Doc("Scheduler of driver and executor pods."))
	DriverSchedulerName = String("spark.kubernetes.driver.scheduler.name", Fallback(SchedulerName), Since("3.3.0"),
		Doc("Scheduler of the driver pod."))
	ExecutorSchedulerName = String("spark.kubernetes.executor.scheduler.name", Fallback(SchedulerName), Since("3.0.0"),
		Doc("Scheduler of executor pods."))
	DriverPodName = String("spark.kubernetes.driver.pod.name", Since("2.3.0"),
		Doc("Name of the driver pod; the name prefix with -driver if unset."))
	ExecutorPodNamePrefix = String("spark.kubernetes.executor.podNamePrefix", Check(isPodNamePrefix, "must conform https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names "+
		"and the value length <= 237"), Since("2.3.0"),
		Doc("Start of the names of executor pods; made from the application's name if unset."))
	DriverRequestCores = String("spark.kubernetes.driver.request.cores", Since("3.0.0"),
		Doc("CPU request of the driver container; spark.driver.cores if unset."))
	DriverLimitCores = String("spark.kubernetes.driver.limit.cores", Since("2.3.0"),
		Doc("CPU limit of the driver container."))
	ExecutorRequestCores = String("spark.kubernetes.executor.request.cores", Since("2.4.0"),
		Doc("CPU request of executor containers of the default profile; their cores if unset."))
	ExecutorLimitCores = String("spark.kubernetes.executor.limit.cores", Since("2.3.0"),
		Doc("CPU limit of executor containers of the default profile."))
	DriverCores = Int("spark.driver.cores", Default(1), Since("1.3.0"),
		Doc("Cores of the driver."))
	ExecutorCores = Int("spark.executor.cores", Default(1), Since("1.0.0"),
		Doc("Cores of an executor of the default profile."))
	TaskCPUs = Float("spark.task.cpus", Default(1), Since("0.5.0"),
		Doc("Cores of a task; a whole number before Spark 4.3."))
	DriverMemory = Bytes("spark.driver.memory", MiB, Default(1024), Since("1.1.1"),
		Doc("Heap of the driver."))
	DriverMemoryOverhead = Bytes("spark.driver.memoryOverhead", MiB, OldName("spark.yarn.driver.memoryOverhead"), Since("2.3.0"),
		Doc("Memory of the driver pod beside the heap."))
	DriverMinMemoryOverhead = Bytes("spark.driver.minMemoryOverhead", MiB, Default(384), Since("4.0.0"),
		Doc("Least computed overhead of the driver."))
	DriverMemoryOverheadFactor = Float("spark.driver.memoryOverheadFactor", Check(isPositive, "Ensure that memory overhead is a double greater than 0"), Since("3.3.0"),
		Doc("Overhead of the driver as a part of its heap."))
	ExecutorMemory = Bytes("spark.executor.memory", MiB, Default(1024), Since("0.7.0"),
		Doc("Heap of an executor of the default profile."))
	ExecutorMemoryOverhead = Bytes("spark.executor.memoryOverhead", MiB, OldName("spark.yarn.executor.memoryOverhead"), Since("2.3.0"),
		Doc("Memory of an executor pod beside heap, off-heap and Python memory."))
	ExecutorMinMemoryOverhead = Bytes("spark.executor.minMemoryOverhead", MiB, Default(384), Since("4.0.0"),
		Doc("Least computed overhead of an executor."))
	ExecutorMemoryOverheadFactor = Float("spark.executor.memoryOverheadFactor", Check(isPositive, "Ensure that memory overhead is a double greater than 0"), Since("3.3.0"),
		Doc("Overhead of an executor as a part of its heap."))
	MemoryOverheadFactor = Float("spark.kubernetes.memoryOverheadFactor", Check(isNotNegative, "Ensure that memory overhead is non-negative"), Since("2.4.0"),
		Doc("Overhead as a part of the heap where the role has no factor of its own; 0.4 for Python and R, else 0.1."))
	PySparkMemory = Bytes("spark.executor.pyspark.memory", MiB, Since("2.4.0"),
		Doc("Memory of the Python workers of an executor."))
	OffHeapEnabled = Bool("spark.memory.offHeap.enabled", Default(false), OldName("spark.unsafe.offHeap"), Since("1.6.0"),
		Doc("Whether Spark uses off-heap memory."))
	OffHeapSize = Bytes("spark.memory.offHeap.size", Byte, Default(0), Check(func(n int64) bool { return n >= 0 }, "The off-heap memory size must not be negative"), Since("1.6.0"),
		Doc("Off-heap memory of an executor."))
	ResourceType = Enum("spark.kubernetes.resource.type", []string{"java", "python", "r"}, Since("2.4.1"),
		Doc("Language of the main program; written at submission."))
	AppName = String("spark.app.name", Since("0.9.0"),
		Doc("Name of the application."))
	DriverBindAddress = String("spark.driver.bindAddress", Since("2.1.0"),
		Doc("Address the driver listens on; set inside the driver pod."))
	DriverHost = String("spark.driver.host", Since("0.7.0"),
		Doc("Address that executors dial."))
	DriverPort = Int("spark.driver.port", Default(7078), Since("0.7.0"),
		Doc("RPC port of the driver."))
	BlockManagerPort = Int("spark.blockManager.port", Default(7079), Since("1.1.0"),
		Doc("Block manager's port."))
	DriverBlockManagerPort = Int("spark.driver.blockManager.port", Default(7079), Since("2.1.0"),
		Doc("Block manager's port in the driver."))
	UIPort = Int("spark.ui.port", Default(4040), Since("0.7.0"),
		Doc("Port of the driver's web UI."))
	ConnectPort = Int("spark.connect.grpc.binding.port", Default(15002), Since("3.4.0"),
		Doc("Port of the Spark Connect server."))
	ServiceIPFamilyPolicy = Enum("spark.kubernetes.driver.service.ipFamilyPolicy", []string{"SingleStack", "PreferDualStack", "RequireDualStack"}, Default("SingleStack"), Since("3.4.0"),
		Doc("IP family policy of the driver's Service."))
	ServiceIPFamilies = Enum("spark.kubernetes.driver.service.ipFamilies", []string{"IPv4", "IPv6", "IPv4,IPv6", "IPv6,IPv4"}, Default("IPv4"), Since("3.4.0"),
		Doc("IP families of the driver's Service."))
	ServicePublishNotReady = Bool("spark.kubernetes.driver.service.publishNotReadyAddresses", Default(false), Since("4.3.0"),
		Doc("Whether the driver's Service lists a driver that is not ready."))
	AllowPrivilegeEscalation = Bool("spark.kubernetes.securityContext.allowPrivilegeEscalation", Default(false), Since("4.3.0"),
		Doc("allowPrivilegeEscalation of both Spark containers."))
	DriverAllowPrivilegeEscalation = Bool("spark.kubernetes.driver.securityContext.allowPrivilegeEscalation", Fallback(AllowPrivilegeEscalation), Since("4.3.0"),
		Doc("allowPrivilegeEscalation of the driver container."))
	ExecutorAllowPrivilegeEscalation = Bool("spark.kubernetes.executor.securityContext.allowPrivilegeEscalation", Fallback(AllowPrivilegeEscalation), Since("4.3.0"),
		Doc("allowPrivilegeEscalation of executor containers."))
	DriverServiceAccount = String("spark.kubernetes.authenticate.driver.serviceAccountName", Since("2.3.0"),
		Doc("Service account of the driver pod."))
	ExecutorServiceAccount = String("spark.kubernetes.authenticate.executor.serviceAccountName", Fallback(DriverServiceAccount), Since("3.1.0"),
		Doc("Service account of executor pods."))
	DriverOAuthToken = String("spark.kubernetes.authenticate.driver.oauthToken", Secret(), Since("2.3.0"),
		Doc("Token for the driver's API client, shipped in a Secret."))
	DriverCACertFile = String("spark.kubernetes.authenticate.driver.caCertFile", Since("2.3.0"),
		Doc("CA file for the driver's API client, shipped in a Secret."))
	DriverClientKeyFile = String("spark.kubernetes.authenticate.driver.clientKeyFile", Since("2.3.0"),
		Doc("Key file for the driver's API client, shipped in a Secret."))
	DriverClientCertFile = String("spark.kubernetes.authenticate.driver.clientCertFile", Since("2.3.0"),
		Doc("Certificate file for the driver's API client, shipped in a Secret."))
	DriverFeatureSteps = List("spark.kubernetes.driver.pod.featureSteps", Since("3.2.0"),
		Doc("Classes of user steps for the driver pod."))
	ExecutorFeatureSteps = List("spark.kubernetes.executor.pod.featureSteps", Since("3.2.0"),
		Doc("Classes of user steps for executor pods."))
	DriverExcludedFeatureSteps = List("spark.kubernetes.driver.pod.excludedFeatureSteps", Since("4.1.0"),
		Doc("Classes of steps that are left out for the driver pod."))
	ExecutorExcludedFeatureSteps = List("spark.kubernetes.executor.pod.excludedFeatureSteps", Since("4.1.0"),
		Doc("Classes of steps that are left out for executor pods."))
	DriverTemplateFile = String("spark.kubernetes.driver.podTemplateFile", Since("3.0.0"),
		Doc("Pod template of the driver."))
	ExecutorTemplateFile = String("spark.kubernetes.executor.podTemplateFile", Since("3.0.0"),
		Doc("Pod template of executors."))
	DriverTemplateContainer = String("spark.kubernetes.driver.podTemplateContainerName", Since("3.0.0"),
		Doc("Container of the driver's template that becomes the Spark container."))
	ExecutorTemplateContainer = String("spark.kubernetes.executor.podTemplateContainerName", Since("3.0.0"),
		Doc("Container of the executors' template that becomes the Spark container."))
	PythonExec = String("spark.pyspark.python", Since("2.1.0"),
		Doc("Python program of a PySpark application."))
	DriverPythonExec = String("spark.pyspark.driver.python", Since("2.1.0"),
		Doc("Python program of a PySpark application's driver."))
	HadoopConfigMap = String("spark.kubernetes.hadoop.configMapName", Since("3.0.0"),
		Doc("ConfigMap with the Hadoop configuration."))
	ExecutorHadoopConfigMap = String("spark.kubernetes.executor.hadoopConfigMapName", Since("3.0.0"),
		Doc("ConfigMap with the Hadoop configuration of executors; written at submission."))
	Krb5Path = String("spark.kubernetes.kerberos.krb5.path", Since("3.0.0"),
		Doc("krb5.conf that is shipped to the driver."))
	Krb5ConfigMap = String("spark.kubernetes.kerberos.krb5.configMapName", Since("3.0.0"),
		Doc("ConfigMap with a krb5.conf for the driver."))
	TokenSecretName = String("spark.kubernetes.kerberos.tokenSecret.name", Since("3.0.0"),
		Doc("Secret with delegation tokens."))
	TokenSecretItemKey = String("spark.kubernetes.kerberos.tokenSecret.itemKey", Since("3.0.0"),
		Doc("Key of the delegation tokens in their Secret."))
	Keytab = String("spark.kerberos.keytab", OldName("spark.yarn.keytab"), Since("3.0.0"),
		Doc("Keytab of the principal."))
	Principal = String("spark.kerberos.principal", OldName("spark.yarn.principal"), Since("3.0.0"),
		Doc("Kerberos principal."))
	LocalDir = String("spark.local.dir", Since("0.5.0"),
		Doc("Scratch directories, comma separated."))
	LocalDirsTmpfs = Bool("spark.kubernetes.local.dirs.tmpfs", Default(false), Since("3.0.0"),
		Doc("Whether the scratch directories lie in memory."))
	LegacyReadWriteOnce = Bool("spark.kubernetes.legacy.useReadWriteOnceAccessMode", Default(false), Since("3.4.3"),
		Doc("Makes claims ReadWriteOnce instead of ReadWriteOncePod."))
	ConfigMapMaxSize = Long("spark.kubernetes.configMap.maxSize", Default(1048576), Check(func(n int64) bool { return n <= 1048576 }, "Must have at most 1048576 bytes"), Since("3.1.0"),
		Doc("Most bytes of a ConfigMap."))
	ExecutorDisableConfigMap = Bool("spark.kubernetes.executor.disableConfigMap", Default(false), Since("3.2.0"),
		Doc("Whether executors do without their ConfigMap."))
	ExecutorTerminationGrace = Millis("spark.kubernetes.executor.terminationGracePeriodSeconds", time.Second, Default(30*time.Second), Since("4.1.0"),
		Doc("Termination grace period of executor pods."))
	UseDriverPodIP = Bool("spark.kubernetes.executor.useDriverPodIP", DefaultFor(func(v Version) bool { return v.AtLeast(4, 3) }), Since("4.1.0"),
		Doc("Whether executors dial the driver's pod IP instead of its Service."))
	DecommissionEnabled = Bool("spark.decommission.enabled", Default(false), Since("3.1.0"),
		Doc("Whether executors are decommissioned before they end."))
	DecommissionScript = String("spark.kubernetes.decommission.script", Default("/opt/decom.sh"), Since("3.2.0"),
		Doc("Program of the executor container's preStop hook."))
	PodsAllocator = String("spark.kubernetes.allocation.pods.allocator", Default("direct"), Since("3.3.0"),
		Doc("How executor pods are made: direct, statefulset, deployment, or a class."))
	RecoveryMode = Bool("spark.kubernetes.allocation.recoveryMode.enabled", Since("4.2.0"),
		Doc("Whether executors run one task at a time after one ran out of memory."))
	ExecutorLogURL = String("spark.ui.custom.executor.log.url", Since("3.0.0"),
		Doc("Pattern of the links to executor logs."))
	ExecutorExtraClassPath = String("spark.executor.extraClassPath", Since("1.0.0"),
		Doc("Class path of executors."))
	ExecutorDefaultClassPath = String("spark.executor.defaultExtraClassPath", Since("4.0.0"),
		Doc("Class path that is put before an executor's extra one."))
	ExecutorExtraLibraryPath = String("spark.executor.extraLibraryPath", Since("1.0.0"),
		Doc("Library path of executors."))
	ExecutorExtraJavaOptions = String("spark.executor.extraJavaOptions", Since("1.0.0"),
		Doc("JVM options of executors."))
	ExecutorDefaultJavaOptions = String("spark.executor.defaultJavaOptions", Since("3.0.0"),
		Doc("JVM options that are put before an executor's extra ones."))
	Authenticate = Bool("spark.authenticate", Default(false), Since("1.0.0"),
		Doc("Whether Spark's own connections are authenticated."))
	AuthSecretFile = String("spark.authenticate.secret.file", Since("3.0.0"),
		Doc("File with the authentication secret."))
	ExecutorAuthSecretFile = String("spark.authenticate.secret.executor.file", Fallback(AuthSecretFile), Since("3.0.0"),
		Doc("File with the authentication secret in executors."))
	Stock = List("spark.kubespark.stock", Check(areDifferences, "The names are those in docs/differences.md, or all."),
		Doc("Names of the differences from Spark's own behaviour to switch off, or all."))
)

// podKeys lists the keys of this file.
func podKeys() []Key {
	return []Key{
		ContainerImage, DriverContainerImage, ExecutorContainerImage, ImagePullPolicy,
		ImagePullSecrets, SchedulerName, DriverSchedulerName, ExecutorSchedulerName,
		DriverPodName, ExecutorPodNamePrefix, DriverRequestCores, DriverLimitCores,
		ExecutorRequestCores, ExecutorLimitCores, DriverCores, ExecutorCores,
		TaskCPUs, DriverMemory, DriverMemoryOverhead, DriverMinMemoryOverhead,
		DriverMemoryOverheadFactor, ExecutorMemory, ExecutorMemoryOverhead, ExecutorMinMemoryOverhead,
		ExecutorMemoryOverheadFactor, MemoryOverheadFactor, PySparkMemory, OffHeapEnabled,
		OffHeapSize, ResourceType, AppName, DriverBindAddress,
		DriverHost, DriverPort, BlockManagerPort, DriverBlockManagerPort,
		UIPort, ConnectPort, ServiceIPFamilyPolicy, ServiceIPFamilies,
		ServicePublishNotReady, AllowPrivilegeEscalation, DriverAllowPrivilegeEscalation, ExecutorAllowPrivilegeEscalation,
		DriverServiceAccount, ExecutorServiceAccount, DriverOAuthToken, DriverCACertFile,
		DriverClientKeyFile, DriverClientCertFile, DriverFeatureSteps, ExecutorFeatureSteps,
		DriverExcludedFeatureSteps, ExecutorExcludedFeatureSteps, DriverTemplateFile, ExecutorTemplateFile,
		DriverTemplateContainer, ExecutorTemplateContainer, PythonExec, DriverPythonExec,
		HadoopConfigMap, ExecutorHadoopConfigMap, Krb5Path, Krb5ConfigMap,
		TokenSecretName, TokenSecretItemKey, Keytab, Principal,
		LocalDir, LocalDirsTmpfs, LegacyReadWriteOnce, ConfigMapMaxSize,
		ExecutorDisableConfigMap, ExecutorTerminationGrace, UseDriverPodIP, DecommissionEnabled,
		DecommissionScript, PodsAllocator, RecoveryMode, ExecutorLogURL,
		ExecutorExtraClassPath, ExecutorDefaultClassPath, ExecutorExtraLibraryPath, ExecutorExtraJavaOptions,
		ExecutorDefaultJavaOptions, Authenticate, AuthSecretFile, ExecutorAuthSecretFile,
		Stock,
	}
}

var podNamePrefix = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// isPodNamePrefix leaves room for "-exec-" and ten digits in a name of 253 characters.
func isPodNamePrefix(s string) bool { return len(s) <= 237 && podNamePrefix.MatchString(s) }

func isPositive(f float64) bool    { return f > 0 }
func isNotNegative(f float64) bool { return f >= 0 }

// IsStock says whether the user switched the difference of that name back to Spark's own behaviour.
func IsStock(c *Conf, name string) bool {
	names, err := Stock.Get(c)
	return err == nil && (slices.Contains(names, name) || slices.Contains(names, allDifferences))
}
