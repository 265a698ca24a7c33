package rows

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

const basicSuite = "BasicTestsSuite"

func basic() []trial.Row {
	return append(basicPi(), basicJVM()...)
}

func basicPi() []trial.Row {
	local := driverOnly(pi(1, basicSuite, "SPARK-42190: Run SparkPi with local[*]"))

	plain := pi(2, basicSuite, "Run SparkPi with no resources")

	set := pi(3, basicSuite, "Run SparkPi with no resources & statefulset allocation")
	set.Conf = map[string]string{"spark.kubernetes.allocation.pods.allocator": "statefulset"}
	set.After = noSetLeft

	long := pi(4, basicSuite, "Run SparkPi with a very long application name.")
	long.Conf = map[string]string{"spark.app.name": strings.Repeat("long", 40)}

	none := pi(5, basicSuite, "Use SparkLauncher.NO_RESOURCE")
	none.Program = trial.NoResource
	none.Conf = map[string]string{"spark.jars": trial.Jar}

	bare := pi(6, basicSuite, "Run SparkPi with a master URL without a scheme.")
	bare.Prepare = func(t *trial.Trial) error {
		t.Conf["spark.master"] = "k8s://" + t.Address
		return nil
	}

	argument := pi(7, basicSuite, "Run SparkPi with an argument.")
	argument.Args = []string{"5"}
	argument.Conf = map[string]string{"spark.io.compression.codec": "snappy"}

	custom := pi(8, basicSuite, "Run SparkPi with custom labels, annotations, and environment variables.")
	custom.Conf = customSettings()
	custom.Driver, custom.Executor = append(custom.Driver, customised), append(custom.Executor, customised)

	account := pi(9, basicSuite, "All pods have the same service account by default")
	account.Executor = []trial.PodCheck{func(_ *trial.Trial, p *corev1.Pod) error {
		return equal("service account", p.Spec.ServiceAccountName, "spark")
	}}

	address := pi(14, basicSuite, "SPARK-42769: All executor pods have SPARK_DRIVER_POD_IP env variable")
	address.Executor = append(address.Executor, func(_ *trial.Trial, p *corev1.Pod) error {
		if _, ok := variable(p, "SPARK_DRIVER_POD_IP"); !ok {
			return fmt.Errorf("it lacks the variable SPARK_DRIVER_POD_IP")
		}
		return nil
	})

	noService := pi(15, basicSuite, "SPARK-53944: Run SparkPi without driver service")
	noService.Conf = map[string]string{
		"spark.kubernetes.executor.useDriverPodIP":         "true",
		"spark.kubernetes.driver.pod.excludedFeatureSteps": "org.apache.spark.deploy.k8s.features.DriverServiceFeatureStep",
	}
	noService.Executor = append(noService.Executor, func(t *trial.Trial, _ *corev1.Pod) error {
		services, err := t.Client.CoreV1().Services(t.Namespace).List(t.Ctx, metav1.ListOptions{})
		if err == nil && len(services.Items) > 0 {
			err = fmt.Errorf("there is a Service %s", services.Items[0].Name)
		}
		return err
	})
	return []trial.Row{local, plain, set, long, none, bare, argument, custom, account, address, noService}
}

// driverOnly makes a row one whose driver is all there is.
func driverOnly(r trial.Row) trial.Row {
	conf := map[string]string{"spark.kubernetes.driver.master": "local[10]"}
	for k, v := range r.Conf {
		conf[k] = v
	}
	r.Conf, r.DriverOnly, r.Executor = conf, true, nil
	r.DriverLog = append([]string{"local[10]"}, r.DriverLog...)
	return r
}

func customSettings() map[string]string {
	conf := map[string]string{
		"spark.kubernetes.driverEnv.ENV1": "VALUE1", "spark.kubernetes.driverEnv.ENV2": "VALUE2",
		"spark.executorEnv.ENV1": "VALUE1", "spark.executorEnv.ENV2": "VALUE2",
	}
	for _, role := range []string{"driver", "executor"} {
		prefix := "spark.kubernetes." + role
		conf[prefix+".label.label1"], conf[prefix+".label.label2"] = "label1-value", "label2-value"
		conf[prefix+".label.customAppIdLabelKey"] = "{{APP_ID}}"
		conf[prefix+".annotation.annotation1"], conf[prefix+".annotation.annotation2"] = "annotation1-value", "annotation2-value"
		conf[prefix+".annotation.customAppIdAnnotation"] = "{{APP_ID}}"
	}
	return conf
}

// noSetLeft waits until the garbage collector or the manager has taken the StatefulSets away.
func noSetLeft(t *trial.Trial) error {
	return t.Eventually(time.Minute, "no StatefulSet is left", func() error {
		sets, err := t.Client.AppsV1().StatefulSets(t.Namespace).List(t.Ctx, metav1.ListOptions{})
		if err == nil && len(sets.Items) > 0 {
			err = fmt.Errorf("there is %s", sets.Items[0].Name)
		}
		return err
	})
}

func basicJVM() []trial.Row {
	properties := func(number int, name, options, says string) trial.Row {
		r := pi(number, basicSuite, name)
		r.Class, r.DriverLog = "Properties", []string{says}
		// The suite asserts nothing of executors here: the program starts no task.
		r.Executor = nil
		r.Conf = map[string]string{"spark.driver.extraJavaOptions": options}
		return r
	}
	option := properties(10, "Run extraJVMOptions check on driver", "-Dspark.test.foo=spark.test.bar", "property spark.test.foo is spark.test.bar")
	g1 := properties(11, "SPARK-42474: Run extraJVMOptions JVM GC option check - G1GC", "-XX:+UseG1GC", "G1 collects the driver's garbage: true")
	g1.Conf["spark.executor.extraJavaOptions"] = "-XX:+UseG1GC"
	other := properties(12, "SPARK-42474: Run extraJVMOptions JVM GC option check - Other GC", "-XX:+UseParallelGC", "G1 collects the driver's garbage: false")
	other.Conf["spark.executor.extraJavaOptions"] = "-XX:+UseParallelGC"

	remote := pi(13, basicSuite, "Run SparkRemoteFileTest using a remote data file")
	remote.Class, remote.Args, remote.DriverLog = "FileCheck", []string{"data.txt"}, []string{"Executors have data.txt: true"}
	remote.Prepare = func(t *trial.Trial) error {
		if err := os.WriteFile(filepath.Join(t.Dir, "data.txt"), []byte("1 2\n2 3\n"), 0o644); err != nil {
			return err
		}
		url, err := serve(t, http.FileServer(http.Dir(t.Dir)))
		t.Conf["spark.files"] = url + "/data.txt"
		return err
	}
	return []trial.Row{option, g1, other, remote}
}

// serve starts an HTTP server that pods reach; it ends with the row.
func serve(t *trial.Trial, handler http.Handler) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // ends with Close
	t.OnEnd(func(context.Context) error { return server.Close() })
	return "http://" + listener.Addr().String(), nil
}
