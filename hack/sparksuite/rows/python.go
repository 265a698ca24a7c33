package rows

import (
	"strings"

	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

const pythonSuite = "PythonTestsSuite"

// sparksPi is Spark's own program, where the distribution has it.
const sparksPi = "local:///opt/spark/examples/pi.py"

// Texts of the suite's pyfiles.py.
var pyfilesSay = []string{"Driver's interpreter is the wanted one: True", "Driver's Python is version 3: True", "Executor's Python is the driver's: True"}

func python() []trial.Row {
	simple := pyRow(18, pythonSuite, "Run PySpark on simple pi.py example", sparksPi, "5")
	simple.DriverLog = []string{piSays}

	files := pyRow(19, pythonSuite, "Run PySpark to test a pyfiles example", trial.Python+"pyfiles.py", "python3")
	files.Options = []string{"--py-files", trial.Python + "python_facts.py"}
	files.DriverLog = pyfilesSay

	memory := pyRow(21, pythonSuite, "Run PySpark with memory customization", trial.Python+"worker_memory.py", "209715200")
	memory.Options = []string{"--py-files", trial.Python + "python_facts.py"}
	memory.Conf = map[string]string{"spark.kubernetes.memoryOverheadFactor": "0.8", "spark.executor.pyspark.memory": "200m"}
	memory.Driver, memory.Executor = []trial.PodCheck{requests(moreDriverMemory)}, []trial.PodCheck{requests(moreExecutorMemory)}
	memory.DriverLog = []string{"as wanted: True"}

	return []trial.Row{simple, files, connect(), memory}
}

// leftOut are the jars that Spark's launcher keeps off the driver's class path when the properties set spark.api.mode=connect
// (AbstractCommandBuilder.buildClassPath, 4.1.1 to 4.3.0). The Connect server that the driver is to start needs them.
var leftOut = []string{"spark-connect_", "spark-sql_", "spark-sql-api_"}

// connect needs the Connect client's libraries, which no distribution has: they lie in a folder that the pods mount.
func connect() trial.Row {
	const at = "/opt/connect"
	r := pyRow(20, pythonSuite, "Run PySpark with Spark Connect", trial.Python+"connect.py")
	r.Conf = map[string]string{"spark.api.mode": "connect", "spark.kubernetes.driverEnv.PYTHONPATH": at, "spark.executorEnv.PYTHONPATH": at}
	r.Note = "Spark's launcher leaves the Connect server's jars off the driver's class path when `spark.api.mode=connect` is among the " +
		"properties, so the row fails with stock as it stands; here `spark.driver.extraClassPath` names them."
	r.DriverLog = []string{"Session: pyspark.sql.connect.session", "Executor's Python is the driver's: True"}
	r.Prepare = func(t *trial.Trial) error {
		folder, err := t.ConnectLibraries()
		if err != nil {
			return err
		}
		for _, role := range []string{"driver", "executor"} {
			for k, v := range volume(role, "hostPath", "connect", map[string]string{"mount.path": at, "options.path": folder, "mount.readOnly": "true"}) {
				t.Conf[k] = v
			}
		}
		t.Args = []string{t.Master}
		path, err := classPathOf(t, leftOut)
		t.Conf["spark.driver.extraClassPath"] = path
		return err
	}
	return r
}

// classPathOf is the class path of the distribution's jars with one of the prefixes, as the image has them.
func classPathOf(t *trial.Trial, prefixes []string) (string, error) {
	var paths []string
	for _, prefix := range prefixes {
		names, err := t.JarsOf(t.Spark, prefix)
		if err != nil {
			return "", err
		}
		for _, name := range names {
			paths = append(paths, "/opt/spark/jars/"+name)
		}
	}
	return strings.Join(paths, ":"), nil
}
