package conf

import "time"

// Keys that only the submitter reads, and those of its API client.
var (
	// Namespace is where all objects of an application live.
	Namespace = String("spark.kubernetes.namespace", Default("default"), Since("2.3.0"),
		Doc("Namespace of the driver, its executors and all objects beside them."))
	// WaitAppCompletion says whether submit stays until the application is done.
	WaitAppCompletion = Bool("spark.kubernetes.submission.waitAppCompletion", Default(true), Since("2.3.0"),
		Doc("In cluster mode, wait for the application to finish before exiting."))
	// ReportInterval is the pause between two status lines while waiting.
	ReportInterval = Millis("spark.kubernetes.report.interval", time.Millisecond, Default(time.Second), Since("2.3.0"),
		Check(func(d time.Duration) bool { return d > 0 }, "Logging interval must be a positive time value."),
		Doc("Interval between reports of the application's status in cluster mode."))
	// KubernetesContext is the kubeconfig context.
	KubernetesContext = String("spark.kubernetes.context", Since("3.0.0"),
		Doc("Context of the kubeconfig whose cluster settings and credentials seed the API client; empty means the current context."))
	// TrustCertificates switches the verification of the API server's certificate off.
	TrustCertificates = Bool("spark.kubernetes.trust.certificates", Default(false), Since("3.2.0"),
		Doc("Connect to the API server without verifying its certificate."))
	// SubmissionConnectTimeout bounds a connect, in milliseconds.
	SubmissionConnectTimeout = Int("spark.kubernetes.submission.connectionTimeout", Default(10000), Since("3.0.0"),
		Doc("Milliseconds that the submitter waits for a connection to the API server."))
	// SubmissionRequestTimeout bounds a request, in milliseconds.
	SubmissionRequestTimeout = Int("spark.kubernetes.submission.requestTimeout", Default(10000), Since("3.0.0"),
		Doc("Milliseconds that the submitter waits for the answer to a request."))
	// FileUploadPath is where local dependencies are copied for the driver.
	FileUploadPath = String("spark.kubernetes.file.upload.path", Since("3.0.0"),
		Doc("Folder, reachable from the pods, that receives the submitter's local files, one fresh sub-folder each."))
	// AppKillGracePeriod is the grace period of --kill, in seconds.
	AppKillGracePeriod = Millis("spark.kubernetes.appKillPodDeletionGracePeriod", time.Second, Since("3.0.0"),
		Doc("Grace period of the driver pod's deletion by --kill; unset: the pod's own."))
	// SparkVersion is the version imitated.
	SparkVersion = String("spark.kubespark.sparkVersion",
		Doc("Spark version whose objects are made. Unset: the version of SPARK_HOME, else 4.2.0."))
	// ShimJar is where the driver's JVM finds kubespark.jar.
	ShimJar = String("spark.kubespark.jar",
		Doc("Path of kubespark.jar: inside the driver's image in cluster mode, on this machine in client mode. It is put first on the driver's default class path."))
	// ShimImage is the image that brings jar and manager.
	ShimImage = String("spark.kubespark.image",
		Doc("Image that brings kubespark.jar and the manager into the driver pod in cluster mode, by an init container that copies them. It wins over spark.kubespark.jar and spark.kubespark.manager.path, which client mode goes by."))
	// ShimImageVolume mounts ShimImage instead of copying out of it.
	ShimImageVolume = Bool("spark.kubespark.image.volume", Default(false),
		Doc("true mounts the image of spark.kubespark.image as an image volume, without an init container; the cluster and its container runtime must have image volumes."))
	// ManagerPath is the manager's binary in the driver pod.
	ManagerPath = String("spark.kubespark.manager.path",
		Doc("Path of the kubespark-manager binary beside the driver; unset, or when it cannot be run: the one inside the jar is unpacked."))
	// Enabled switches to the stock manager inside the driver.
	Enabled = Bool("spark.kubespark.enabled", Default(true),
		Doc("false runs Spark's own cluster manager from the same jar."))
	// SubmissionID is a caller's own id, for submissions that may be repeated.
	SubmissionID = String("spark.kubespark.submissionId",
		Doc("A caller's own id for this submission: a repeated submission with the same id finds the same driver pod."))
	// SubmitFallback hands what native submission cannot do to the real spark-submit.
	SubmitFallback = Enum("spark.kubespark.submit.fallback", []string{"spark-submit"},
		Doc("spark-submit hands the whole command line to the real one, found in SPARK_HOME or on PATH."))
	// SubmitFollow shows the driver's log.
	SubmitFollow = Bool("spark.kubespark.submit.follow", Default(false),
		Doc("Show the driver's log on standard output while it runs, and wait for its end: --follow."))
	// SubmitSparkEnv says whether spark-env.sh is read.
	SubmitSparkEnv = Bool("spark.kubespark.submit.sparkEnv", Default(true),
		Doc("Run spark-env.sh of the configuration folder with bash and take the environment it leaves."))
)

func submitKeys() []Key {
	return []Key{Namespace, WaitAppCompletion, ReportInterval, KubernetesContext, TrustCertificates, SubmissionConnectTimeout,
		SubmissionRequestTimeout, FileUploadPath, AppKillGracePeriod, SparkVersion, ShimJar, ShimImage, ShimImageVolume, ManagerPath, Enabled,
		SubmissionID, SubmitFallback, SubmitFollow, SubmitSparkEnv}
}
