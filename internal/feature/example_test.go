package feature

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// TestWorkedExample builds Spark Pi, driver and first executor, as each version of Spark does. The golden files are read
// by people: they are the worked example of how pods are built.
func TestWorkedExample(t *testing.T) {
	for _, version := range []string{"4.1.1", "4.2.0", "4.3.0"} {
		t.Run(version, func(t *testing.T) {
			var out bytes.Buffer
			driver := exampleDriver(t, version)
			body, err := driver.Body()
			if err != nil {
				t.Fatal(err)
			}
			document(t, &out, body)
			for _, o := range driver.Objects {
				body, err := sparkpod.RenderObject(o)
				if err != nil {
					t.Fatal(err)
				}
				document(t, &out, body)
			}
			executor := exampleExecutor(t, version, driver)
			if body, err = executor.Body(); err != nil {
				t.Fatal(err)
			}
			document(t, &out, body)
			golden := "testdata/spark-pi-" + version + ".yaml"
			if *update {
				if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), out.String()); d != "" {
				t.Errorf("(-golden +got):\n%s", d)
			}
		})
	}
}

func document(t *testing.T, out *bytes.Buffer, body []byte) {
	t.Helper()
	text, err := yaml.JSONToYAML(body)
	if err != nil {
		t.Fatal(err)
	}
	out.WriteString("---\n")
	out.Write(text)
}

const exampleID = "spark-0123456789abcdef0123456789abcdef"

func exampleConf(t *testing.T, version string, props kv) *conf.Conf {
	t.Helper()
	v, err := conf.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	return conf.New(props, conf.WithVersion(v))
}

func exampleDriver(t *testing.T, version string) DriverSpec {
	t.Helper()
	spec, err := BuildDriver(DriverInput{
		Conf: exampleConf(t, version, kv{
			"spark.app.name": "Spark Pi", "spark.app.submitTime": "1760000000000", "spark.jars": "local:///opt/spark/examples/jars/spark-examples.jar",
			"spark.kubernetes.container.image": "apache/spark:" + version, "spark.kubernetes.namespace": "spark",
			"spark.master": "k8s://https://10.0.0.1:6443", "spark.submit.deployMode": "cluster", "spark.submit.pyFiles": ""}),
		AppID: exampleID, Namespace: "spark", Prefix: sparkpod.NamePrefix("Spark Pi", "3fa2c19a2400b7c1"),
		Unique:    func() string { return "81d0e49a2400b7c5" },
		MainClass: "org.apache.spark.examples.SparkPi", Resource: "local:///opt/spark/examples/jars/spark-examples.jar",
		ResourceType: Java, Args: []string{"1000"}, UserName: "analyst",
		ConfFiles: kv{"log4j2.properties": "rootLogger.level = info\n"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// exampleExecutor is built from the driver's properties with what Spark's start-up adds to them.
func exampleExecutor(t *testing.T, version string, driver DriverSpec) ExecutorSpec {
	t.Helper()
	text, err := os.ReadFile("../fidelity/testdata/recorded/" + version + "/executor-plain.json")
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Conf kv }
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	c := exampleConf(t, version, driver.Properties).With(kv{
		conf.ExecutorExtraJavaOptions.Key(): r.Conf[conf.ExecutorExtraJavaOptions.Key()],
		conf.DriverBindAddress.Key():        "10.1.0.7",
	})
	profile, err := DefaultProfile(c)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := BuildExecutor(ExecutorInput{
		Conf: c, AppID: exampleID, Namespace: "spark", ExecutorID: "1",
		PodNamePrefix: sparkpod.NamePrefix("Spark Pi", "c07b119a2400ffe2"), Profile: profile,
		Driver:        &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: driver.Pod.Name, UID: "driver-uid", Controller: new(true)},
		ConfigMapName: sparkpod.ExecutorConfigMapName("5e9a0d9a2400ffe9"), ConfFiles: []string{"log4j2.properties"},
		UserName: "analyst", LocalDirs: "/var/data/spark-of-the-driver",
	})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

func TestJavaOptionsOfAPlainExecutor(t *testing.T) { // P084
	spec := exampleExecutor(t, "4.2.0", exampleDriver(t, "4.2.0"))
	options := map[string]string{}
	for _, e := range spec.Pod.Spec.Containers[0].Env {
		if n, ok := strings.CutPrefix(e.Name, "SPARK_JAVA_OPT_"); ok {
			options[n] = e.Value
		}
	}
	if len(options) != 25 || options["0"] != "-Djava.net.preferIPv6Addresses=false" || options["1"] != "-XX:+IgnoreUnrecognizedVMOptions" ||
		options["23"] != "-Dspark.driver.blockManager.port=7079" || options["24"] != "-Dspark.driver.port=7078" {
		t.Errorf("%d options: %v", len(options), options)
	}
}
