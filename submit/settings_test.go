package submit

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/conf"
)

// S004 to S008, S013, S014, S091: the argument checks, with their texts.
func TestChecks(t *testing.T) {
	const text = "must be a positive number"
	tests := []struct {
		name string
		args Args
		env  map[string]string
		err  string
	}{
		{name: "S004", args: Args{DeployMode: "foo"}, err: `--deploy-mode must be either "client" or "cluster"`},
		{name: "deploy mode from the environment", env: map[string]string{"DEPLOY_MODE": "foo"}, err: "Deploy mode must be either client or cluster"},
		{name: "S005 memory 0", args: Args{Conf: map[string]string{"spark.driver.memory": "0"}}, err: "Driver memory " + text},
		{name: "S005 memory 1x", args: Args{Conf: map[string]string{"spark.driver.memory": "1x"}}, err: "Driver memory " + text},
		{name: "S005 cores", args: Args{Conf: map[string]string{"spark.driver.cores": "-1"}}, err: "Driver cores " + text},
		{name: "S005 executors", args: Args{NumExecutors: "0"}, err: "Number of executors " + text},
		{name: "S005 dynamic", args: Args{NumExecutors: "0", Conf: map[string]string{"spark.dynamicAllocation.enabled": "TRUE"}}},
		{name: "executor memory", args: Args{ExecutorMemory: "-1g"}, err: "Executor memory " + text},
		{name: "total cores", args: Args{Conf: map[string]string{"spark.cores.max": "x"}}, err: "Total executor cores " + text},
		{name: "S006", env: map[string]string{"SPARK_EXECUTOR_CORES": "zero"}, err: "Executor cores " + text},
		{name: "S007", args: Args{ProxyUser: "u", Principal: "p@R"}, err: "Only one of --proxy-user or --principal can be provided."},
		{name: "S008", args: Args{Remote: "sc://x", Master: "k8s://h"}, err: "Remote cannot be specified with master and/or deploy mode."},
		{name: "S091", args: Args{Actions: []string{ActionKill, ActionStatus}}, err: "Action cannot be both KILL and REQUEST_STATUS."},
		{name: "S026 master", args: Args{Master: "K8S://h"}, err: "Master must either be yarn or start with spark, k8s, or local"},
		{name: "Xmx", args: Args{Conf: map[string]string{"spark.driver.extraJavaOptions": "-Xmx1g"}},
			err: "Not allowed to specify max heap(Xmx) memory settings through java options (was -Xmx1g). Use the corresponding --driver-memory or spark.driver.memory configuration instead."},
		{name: "quotes", args: Args{Conf: map[string]string{"spark.driver.defaultJavaOptions": `-Da="b`}}, err: `Invalid option string: -Da="b`},
		{name: "fine"},
	}
	for _, tt := range tests {
		if tt.args.PrimaryResource == "" && len(tt.args.Actions) == 0 {
			tt.args.PrimaryResource = "local:///a.py"
		}
		s, err := Resolve(tt.args, testEnv(t, tt.env))
		if err != nil {
			t.Fatal(tt.name, err)
		}
		if err := s.Check(tt.args); errorText(err) != tt.err {
			t.Errorf("%s: %q, want %q", tt.name, errorText(err), tt.err)
		}
	}
	s, err := Resolve(Args{}, testEnv(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(Args{}); errorText(err) != "Missing application resource." {
		t.Errorf("S003: %v", err)
	}
}

// S013.
func TestNameFallsBack(t *testing.T) {
	for _, tt := range []struct {
		args Args
		want string
	}{
		{Args{MainClass: "a.B", PrimaryResource: "x/y.jar"}, "a.B"},
		{Args{PrimaryResource: "d/main.py"}, "main.py"},
		{Args{PrimaryResource: "spark-internal"}, "spark-internal"},
		{Args{PrimaryResource: "x.py", Conf: map[string]string{"spark.app.name": "n"}}, "n"},
		{Args{Name: "o", PrimaryResource: "x.py", Conf: map[string]string{"spark.app.name": "n"}}, "o"},
	} {
		s, err := Resolve(tt.args, testEnv(t, nil))
		if err != nil || s.Name != tt.want {
			t.Errorf("%+v: %q, %v", tt.args, s.Name, err)
		}
	}
}

// S014.
func TestClusterRefusals(t *testing.T) {
	connect := "org.apache.spark.sql.connect.service.SparkConnectServer"
	v41, _ := conf.ParseVersion("4.1.1")
	for _, tt := range []struct {
		s    Settings
		v    conf.Version
		want string
	}{
		{Settings{Args: Args{Master: "local[2]"}}, conf.DefaultVersion, `Cluster deploy mode is not compatible with master "local"`},
		{Settings{Args: Args{PrimaryResource: "spark-shell"}}, conf.DefaultVersion, "Cluster deploy mode is not applicable to Spark shells."},
		{Settings{Args: Args{MainClass: "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver"}}, conf.DefaultVersion, "Cluster deploy mode is not applicable to Spark SQL shell."},
		{Settings{Args: Args{MainClass: "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"}}, conf.DefaultVersion, "Cluster deploy mode is not applicable to Spark Thrift server."},
		{Settings{Args: Args{MainClass: connect}}, conf.DefaultVersion, "Launching Spark Connect server in cluster deploy mode is supported only for YARN"},
		{Settings{Args: Args{MainClass: connect}}, v41, "Cluster deploy mode is not applicable to Spark Connect server."},
	} {
		if err := tt.s.CheckCluster(tt.v); errorText(err) != tt.want {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}

// S015 to S017, S020, S022: where a value comes from.
func TestPrecedence(t *testing.T) {
	env := testEnv(t, map[string]string{"SPARK_CONF_DIR": "conf", "SPARK_SUBMIT_OPTS": "-Dspark.sys=sys -Dspark.a=sys"})
	write(t, env.Files.(OSFiles).Dir, map[string]string{
		"conf/spark-defaults.conf": "spark.a defaults\nspark.d defaults\nnotspark.x 1\n",
		"p.conf":                   "spark.a=file\nspark.f=file\nspark.e=file\n", "e1": "spark.e=e1\nspark.e1=1\nspark.a=e1\n", "e2": "spark.e=e2\n",
	})
	tests := []struct {
		name string
		args Args
		want map[string]string
	}{
		{"defaults", Args{}, map[string]string{"spark.a": "defaults", "spark.d": "defaults"}},
		{"S015 a file replaces the defaults", Args{PropertiesFile: "p.conf"}, map[string]string{"spark.a": "file", "spark.f": "file", "spark.e": "file"}},
		{"S015 unless they are asked for", Args{PropertiesFile: "p.conf", LoadSparkDefaults: true}, map[string]string{"spark.a": "file", "spark.f": "file", "spark.e": "file", "spark.d": "defaults"}},
		{"S016 extra files", Args{PropertiesFile: "p.conf", ExtraPropertiesFiles: []string{"e1", "e2"}},
			map[string]string{"spark.a": "e1", "spark.f": "file", "spark.e": "e2", "spark.e1": "1"}},
		{"S016 extra files keep the defaults", Args{ExtraPropertiesFiles: []string{"e2"}}, map[string]string{"spark.a": "defaults", "spark.d": "defaults", "spark.e": "e2"}},
		{"S015 --conf", Args{Conf: map[string]string{"spark.a": "conf"}, ExtraPropertiesFiles: []string{"e1"}}, map[string]string{"spark.a": "conf", "spark.d": "defaults", "spark.e": "e1", "spark.e1": "1"}},
	}
	for _, tt := range tests {
		s, err := Resolve(tt.args, env)
		if err != nil {
			t.Fatal(tt.name, err)
		}
		if diff := cmp.Diff(tt.want, s.Props); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if diff := cmp.Diff(map[string]string{"spark.sys": "sys", "spark.a": "sys"}, s.System); diff != "" {
			t.Errorf("S022: %s", diff)
		}
		if tt.name == "defaults" && (len(s.Notices) != 1 || s.Notices[0].Text != "Warning: Ignoring non-Spark config property: notspark.x") {
			t.Errorf("S017: %v", s.Notices)
		}
	}
	for args, want := range map[string]string{"nope": "Invalid properties file 'nope'.", "conf": "Invalid properties file 'conf'."} {
		if _, err := Resolve(Args{PropertiesFile: args}, env); errorText(err) != want {
			t.Errorf("S020: %v", err)
		}
	}
	if _, err := Resolve(Args{ExtraPropertiesFiles: []string{"nope"}}, env); errorText(err) != "requirement failed: Properties file nope does not exist" {
		t.Error(err)
	}
	if _, err := Resolve(Args{ExtraPropertiesFiles: []string{"conf"}}, env); errorText(err) != "requirement failed: Properties file conf is not a normal file" {
		t.Error(err)
	}
}

// S020: SPARK_HOME/conf without SPARK_CONF_DIR.
func TestConfDirOfSparkHome(t *testing.T) {
	env := testEnv(t, map[string]string{"SPARK_HOME": "home"})
	write(t, env.Files.(OSFiles).Dir, map[string]string{"home/conf/spark-defaults.conf": "spark.a 1\n", "home/conf/java-opts": "-Dspark.j=2"})
	s, err := Resolve(Args{}, env)
	if err != nil || s.Props["spark.a"] != "1" || s.System["spark.j"] != "2" || s.ConfDir != filepath.Join("home", "conf") {
		t.Errorf("%+v, %v", s, err)
	}
}

// S026, S027.
func TestNormalizeMaster(t *testing.T) {
	for in, want := range map[string]string{
		"k8s://h:6443": "k8s://https://h:6443", "k8s://https://h/p": "k8s://https://h/p", "k8s://http://h": "k8s://http://h", "k8s://HTTPS://h": "k8s://HTTPS://h",
		"k8s://https://h": "k8s://https://h",
	} {
		if got, _, err := NormalizeMaster(in); err != nil || got != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{
		"k8s://ftp://h": "Invalid Kubernetes master scheme: ftp found in URL: ftp://h", "k8s://": "Kubernetes master URL has no host", "k8s://https://": "Kubernetes master URL has no host",
	} {
		if _, _, err := NormalizeMaster(in); errorText(err) != want {
			t.Errorf("%s: %v", in, err)
		}
	}
	if _, n, _ := NormalizeMaster("k8s://http://h"); len(n) != 1 || n[0].Text != "Kubernetes master URL uses HTTP instead of HTTPS." {
		t.Errorf("%v", n)
	}
	if _, n, _ := NormalizeMaster("k8s://h"); len(n) != 1 || n[0].Text != "No scheme specified for kubernetes master URL, so defaulting to https. Resolved URL is https://h." {
		t.Errorf("%v", n)
	}
}

// Section 17: which Spark is imitated.
func TestSparkVersion(t *testing.T) {
	env := testEnv(t, map[string]string{"SPARK_HOME": "home"})
	dir := env.Files.(OSFiles).Dir
	image := map[string]string{"spark.kubernetes.container.image": "reg:5000/apache/spark:4.1.1-java17"}
	check := func(props map[string]string, want string) {
		t.Helper()
		if v, err := SparkVersion(props, env); err != nil || v.String() != want {
			t.Errorf("%s, %v; want %s", v, err, want)
		}
	}
	check(nil, "4.2.0")
	check(map[string]string{"spark.kubernetes.container.image": "reg:5000/spark"}, "4.2.0")
	check(map[string]string{"spark.kubernetes.container.image": "mine:1.2.3"}, "4.2.0")
	check(image, "4.2.0")
	if v := tagVersion(image); v != "4.1.1" {
		t.Error(v)
	}
	write(t, dir, map[string]string{"home/jars/spark-core_2.13-4.3.0.jar": ""})
	check(image, "4.3.0")
	write(t, dir, map[string]string{"home/RELEASE": "Spark 4.2.1 built for Hadoop 3.4.2\n"})
	check(image, "4.2.1")
	check(map[string]string{"spark.kubespark.sparkVersion": "4.1.1"}, "4.1.1")
	for v, want := range map[string]string{"3.5.1": "Spark 3.5.1 is not supported: kubespark submits to Spark 4.0 and later", "x": `spark.kubespark.sparkVersion: "x" is not a Spark version such as 4.2.0`} {
		if _, err := SparkVersion(map[string]string{"spark.kubespark.sparkVersion": v}, env); errorText(err) != want {
			t.Error(err)
		}
	}
}
