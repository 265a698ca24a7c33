// Package submit submits Spark applications to Kubernetes in cluster mode without a JVM: it turns spark-submit's arguments
// and Spark configuration into a plan (the driver pod and its companions), creates the objects, waits and reports, and
// kills or looks up applications. A plan is a pure function of its inputs; only a Client talks to the API server.
//
// The package has no state of its own, reads no environment, writes to no terminal and never ends the process, so one
// program may submit many applications at once. The command line (internal/cli) is one caller of it.
//
// It answers to Spark's SparkSubmit, SparkSubmitArguments and the package org.apache.spark.deploy.k8s.submit.
package submit

// Args are spark-submit's arguments as typed: empty text means "not given". Properties hold what the caller has read from
// properties files; the fields of the options win over Conf, and Conf over Properties, as on Spark's command line.
type Args struct {
	Master, DeployMode, Remote string
	MainClass, Name            string
	Jars, Files, Archives      string
	PyFiles                    string
	Packages, ExcludePackages  string
	Repositories               string
	ExecutorMemory             string
	ExecutorCores              string
	NumExecutors               string
	TotalExecutorCores         string
	Principal, Keytab          string
	ProxyUser                  string
	// Conf has --conf, and the options that are the same as a --conf of their key (--driver-memory and the like).
	Conf map[string]string
	// Properties files, read through Env.Files: spark-defaults.conf is read unless PropertiesFile is given, or if
	// LoadSparkDefaults says so.
	PropertiesFile       string
	LoadSparkDefaults    bool
	ExtraPropertiesFiles []string
	// Properties are put under all files: a caller's own defaults.
	Properties map[string]string

	// Actions are KILL and REQUEST_STATUS in the order given; at most one is allowed.
	Actions      []string
	SubmissionID string // of Actions

	PrimaryResource string
	AppArgs         []string
	Verbose         bool
}

// The actions of Args.
const (
	ActionKill   = "KILL"
	ActionStatus = "REQUEST_STATUS"
)

// Spark's own words for special main programs.
const (
	noResource = "spark-internal"
)

func isShell(resource string) bool {
	switch resource {
	case "spark-shell", "pyspark-shell", "sparkr-shell", "connect-shell":
		return true
	}
	return false
}
