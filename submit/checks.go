package submit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kubespark/kubespark/conf"
)

// Check makes the argument checks of SparkSubmit, in its order and with its texts.
func (s *Settings) Check(given Args) error {
	if err := checkJavaOptions(s.Props); err != nil {
		return err
	}
	if err := s.checkModes(given); err != nil || len(s.Actions) > 0 {
		return err
	}
	if s.PrimaryResource == "" {
		return launcherError("Missing application resource.")
	}
	if err := s.checkAmounts(); err != nil {
		return err
	}
	if s.ProxyUser != "" && s.Principal != "" {
		return sparkError("Only one of --proxy-user or --principal can be provided.")
	}
	if err := s.checkMaster(); err != nil {
		return err
	}
	switch s.DeployMode {
	case "", "client", "cluster":
	default:
		return sparkError("Deploy mode must be either client or cluster")
	}
	return nil
}

// checkModes looks at what contradicts itself.
func (s *Settings) checkModes(given Args) error {
	if m := given.DeployMode; m != "" && m != "client" && m != "cluster" {
		return sparkError(`--deploy-mode must be either "client" or "cluster"`)
	}
	if len(s.Actions) > 1 {
		return sparkError(fmt.Sprintf("Action cannot be both %s and %s.", s.Actions[0], s.Actions[1]))
	}
	if given.Remote != "" && (given.Master != "" || given.DeployMode != "") || s.Remote != "" && s.Master != "" {
		return sparkError("Remote cannot be specified with master and/or deploy mode.")
	}
	return nil
}

func checkJavaOptions(props map[string]string) error {
	for _, key := range []string{"spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions"} {
		text := props[key]
		if strings.Contains(text, "Xmx") {
			return launcherError(fmt.Sprintf("Not allowed to specify max heap(Xmx) memory settings through java options (was %s). "+
				"Use the corresponding --driver-memory or spark.driver.memory configuration instead.", text))
		}
		if _, err := conf.SplitOptions(text); err != nil {
			return launcherError(err.Error())
		}
	}
	return nil
}

func (s *Settings) checkAmounts() error {
	positiveInt := func(text string) bool {
		n, err := strconv.ParseInt(text, 10, 32)
		return err == nil && n > 0
	}
	positiveSize := func(text string) bool {
		n, err := conf.ParseBytes(text, conf.Byte)
		return err == nil && n > 0
	}
	for _, c := range []struct {
		value string
		ok    func(string) bool
		what  string
	}{
		{s.DriverMemory, positiveSize, "Driver memory"},
		{s.ExecutorMemory, positiveSize, "Executor memory"},
		{s.DriverCores, positiveInt, "Driver cores"},
		{s.ExecutorCores, positiveInt, "Executor cores"},
		{s.TotalExecutorCores, positiveInt, "Total executor cores"},
	} {
		if c.value != "" && !c.ok(c.value) {
			return sparkError(c.what + " must be a positive number")
		}
	}
	if !s.DynamicAllocation && s.NumExecutors != "" && !positiveInt(s.NumExecutors) {
		return sparkError("Number of executors must be a positive number")
	}
	return nil
}

func (s *Settings) checkMaster() error {
	switch {
	case s.Master == "yarn", strings.HasPrefix(s.Master, "spark"), IsKubernetes(s.Master), strings.HasPrefix(s.Master, "local"):
		return nil
	case s.Master == "" && s.Remote != "":
		return nil
	}
	return sparkError("Master must either be yarn or start with spark, k8s, or local")
}

// CheckCluster refuses what cannot run in cluster mode.
func (s *Settings) CheckCluster(v conf.Version) error {
	switch {
	case strings.HasPrefix(s.Master, "local"):
		return sparkError(`Cluster deploy mode is not compatible with master "local"`)
	case isShell(s.PrimaryResource):
		return sparkError("Cluster deploy mode is not applicable to Spark shells.")
	}
	switch s.MainClass {
	case "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver":
		return sparkError("Cluster deploy mode is not applicable to Spark SQL shell.")
	case "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2":
		return sparkError("Cluster deploy mode is not applicable to Spark Thrift server.")
	case "org.apache.spark.sql.connect.service.SparkConnectServer":
		if v.AtLeast(4, 2) {
			return sparkError("Launching Spark Connect server in cluster deploy mode is supported only for YARN")
		}
		return sparkError("Cluster deploy mode is not applicable to Spark Connect server.")
	}
	return nil
}
