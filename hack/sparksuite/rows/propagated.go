package rows

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

// propagated are the rows of SparkConfPropagateSuite and SecretsTestsSuite.
func propagated() []trial.Row {
	return []trial.Row{logging(), secrets()}
}

const debugLog = `rootLogger.level = info
rootLogger.appenderRef.stdout.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_OUT
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n
logger.spark.name = org.apache.spark
logger.spark.level = debug
`

func logging() trial.Row {
	r := pi(16, "SparkConfPropagateSuite", "Verify logging configuration is picked from the provided SPARK_CONF_DIR/log4j2.properties")
	r.ConfFiles = map[string]string{"log4j2.properties": debugLog}
	r.Conf = map[string]string{
		"spark.driver.extraJavaOptions":                 "-Dlog4j2.debug",
		"spark.executor.extraJavaOptions":               "-Dlog4j2.debug",
		"spark.kubernetes.executor.deleteOnTermination": "false",
	}
	// Between folder and file some versions of log4j2 show where the volume's link leads.
	picked := []string{" DEBUG ", "Reconfiguration complete for context", "at URI /opt/spark/conf", "/log4j2.properties"}
	r.DriverLog, r.ExecutorLog = append(picked, piSays), picked
	return r
}

func secrets() trial.Row {
	const name, path = "mysecret", "/etc/secret"
	values := map[string]string{"username": "secretusername", "password": "secretpassword"}
	check := func(t *trial.Trial, p *corev1.Pod) error {
		for key, value := range values {
			if err := t.ExecShows(p.Name, value, "env"); err != nil {
				return err
			}
			if err := t.ExecShows(p.Name, value, "cat", path+"/"+key); err != nil {
				return err
			}
		}
		return nil
	}
	r := pi(17, "SecretsTestsSuite", "Run SparkPi with env and mount secrets.")
	r.Args = []string{"1000"} // long enough to look into both pods
	r.Driver, r.Executor = append(r.Driver, check), append(r.Executor, check)
	r.Conf = map[string]string{}
	for _, role := range []string{"driver", "executor"} {
		maps.Copy(r.Conf, map[string]string{
			fmt.Sprintf("spark.kubernetes.%s.secrets.%s", role, name):      path,
			fmt.Sprintf("spark.kubernetes.%s.secretKeyRef.USERNAME", role): name + ":username",
			fmt.Sprintf("spark.kubernetes.%s.secretKeyRef.PASSWORD", role): name + ":password",
		})
	}
	r.Prepare = func(t *trial.Trial) error {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: values}
		_, err := t.Client.CoreV1().Secrets(t.Namespace).Create(t.Ctx, secret, metav1.CreateOptions{})
		return err
	}
	return r
}
