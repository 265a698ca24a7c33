package cli

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kubespark/kubespark/internal/kubetest"
)

// run is a call of kubespark and what came of it.
type run struct {
	name           string // of the program, default kubespark
	environ        []string
	executable     string
	signals        chan os.Signal
	stdin          string
	stdout, stderr bytes.Buffer
	execPath       string
	execArgs       []string
	execEnv        []string
}

func (r *run) do(args ...string) int {
	if r.name == "" {
		r.name = "kubespark"
	}
	return Run(Process{Args: append([]string{r.name}, args...), Environ: r.environ, Stdin: strings.NewReader(r.stdin), Stdout: &r.stdout, Stderr: &r.stderr, Signals: r.signals,
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		Exec: func(path string, argv, environ []string) error {
			r.execPath, r.execArgs, r.execEnv = path, argv, environ
			return errors.New("this is a test")
		},
		Executable: func() (string, error) { return r.executable, nil }})
}

func (r *run) lastLine() string {
	lines := strings.Split(strings.TrimRight(r.stderr.String(), "\n"), "\n")
	return lines[len(lines)-1]
}

// S001 to S003, S089, and the shape of errors under both names.
func TestRefusals(t *testing.T) {
	cluster := []string{"--master", "k8s://h", "--deploy-mode", "cluster"}
	tests := []struct {
		name  string
		args  []string
		code  int
		usage bool
		last  string
		stock string // last line under the name spark-submit, if it differs
	}{
		{name: "S001", code: 255, usage: true},
		{name: "S001 help", args: []string{"--help"}, usage: true},
		{name: "S001 usage error", args: []string{"--usage-error"}, code: 1, usage: true},
		{name: "S002", args: []string{"--frob", "x"}, code: 1, usage: true, last: "Error: Unrecognized option: --frob"},
		{name: "S002 missing", args: []string{"--master"}, code: 1, usage: true, last: "Error: Missing argument for option '--master'."},
		{name: "S002 conf", args: []string{"--conf", "foo", "a.jar"}, code: 1, usage: true, last: "Error: Invalid argument to --conf: foo"},
		{name: "S003", args: cluster, code: 1, usage: true, last: "Error: Missing application resource."},
		{name: "S004", args: []string{"--master", "k8s://h", "--deploy-mode", "foo", "a.jar"}, code: 1, last: `Error: --deploy-mode must be either "client" or "cluster"`,
			stock: `Exception in thread "main" org.apache.spark.SparkException: --deploy-mode must be either "client" or "cluster"`},
		{name: "no image", args: append(cluster, "local:///x.py"), code: 1, last: "Error: Must specify the driver container image",
			stock: `Exception in thread "main" org.apache.spark.SparkException: Must specify the driver container image`},
		{name: "bad value", args: append(cluster, "--conf", "spark.kubernetes.report.interval=x", "local:///x.py"), code: 1,
			last:  `Error: [INVALID_CONF_VALUE.TYPE_MISMATCH] The value 'x' in the config "spark.kubernetes.report.interval" is invalid. It should be a/an 'time in MILLISECONDS' value. SQLSTATE: 22022`,
			stock: `Exception in thread "main" org.apache.spark.SparkIllegalArgumentException: [INVALID_CONF_VALUE.TYPE_MISMATCH] The value 'x' in the config "spark.kubernetes.report.interval" is invalid. It should be a/an 'time in MILLISECONDS' value. SQLSTATE: 22022`},
		{name: "local and cluster", args: []string{"--deploy-mode", "cluster", "a.jar"}, code: 1, last: `Error: Cluster deploy mode is not compatible with master "local"`,
			stock: `Exception in thread "main" org.apache.spark.SparkException: Cluster deploy mode is not compatible with master "local"`},
		{name: "S089", args: []string{"--status", "x"}, code: 1, last: "Error: No external SparkSubmitOperations clients found for master url: 'local[*]'",
			stock: `Exception in thread "main" org.apache.spark.SparkException: No external SparkSubmitOperations clients found for master url: 'local[*]'`},
		{name: "S090", args: []string{"--master", "k8s://h", "--kill", "ns:"}, code: 1, last: "Error: Submission ID: {ns:} is invalid.",
			stock: `Exception in thread "main" org.apache.spark.SparkException: Submission ID: {ns:} is invalid.`},
		{name: "S028 no spark-submit", args: []string{"--master", "yarn", "a.jar"}, code: 1,
			last:  "Error: this submission needs Spark's own spark-submit (client mode, or a master that is not Kubernetes), and there is none in SPARK_HOME/bin nor on PATH: set SPARK_HOME, or use --master k8s://… with --deploy-mode cluster",
			stock: `Exception in thread "main" org.apache.spark.SparkException: this submission needs Spark's own spark-submit (client mode, or a master that is not Kubernetes), and there is none in SPARK_HOME/bin nor on PATH: set SPARK_HOME, or use --master k8s://… with --deploy-mode cluster`},
	}
	for _, tt := range tests {
		for _, program := range []string{"kubespark", "/usr/bin/spark-submit"} {
			t.Run(tt.name+" "+program, func(t *testing.T) {
				r := &run{name: program}
				args, last := tt.args, tt.last
				if program == "kubespark" {
					args = append([]string{"submit"}, args...)
				} else if tt.stock != "" {
					last = tt.stock
				}
				if code := r.do(args...); code != tt.code || r.stdout.Len() > 0 {
					t.Errorf("code %d, stdout %q", code, r.stdout.String())
				}
				if usage := strings.HasPrefix(r.stderr.String(), "Usage: "); usage != tt.usage {
					t.Errorf("usage: %v\n%s", usage, r.stderr.String())
				}
				if last != "" && r.lastLine() != last {
					t.Errorf("last line %q, want %q", r.lastLine(), last)
				}
			})
		}
	}
}

// S001, L11, L12.
func TestVersionAndUsage(t *testing.T) {
	r := &run{}
	if code := r.do("submit", "--version"); code != 0 || !strings.Contains(r.stderr.String(), "\nversion 4.2.0\n") || !strings.Contains(r.stderr.String(), "Type --help for more information.") {
		t.Error(r.stderr.String())
	}
	r = &run{environ: []string{"_SPARK_CMD_USAGE=Usage: ./bin/pyspark [options]"}}
	if r.do("submit", "--help"); !strings.HasPrefix(r.stderr.String(), "Usage: ./bin/pyspark [options]\n\nWhere to run:") {
		t.Error(r.stderr.String())
	}
	r = &run{}
	if code := r.do("version"); code != 0 || !strings.HasPrefix(r.stdout.String(), "kubespark ") {
		t.Error(r.stdout.String())
	}
	r = &run{}
	if code := r.do("kill", "--frob"); code != 2 || r.lastLine() != "error: unknown flag: --frob" {
		t.Error(code, r.stderr.String())
	}
	r = &run{}
	if code := r.do("kill"); code != 2 {
		t.Error(code, r.stderr.String())
	}
}

// sparkHome is a SPARK_HOME with an executable spark-submit.
func sparkHome(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, dir, "bin/spark-submit", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(dir, "bin/spark-submit"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeFile(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// S028: other masters and client mode run the real spark-submit; on Kubernetes our jar comes first.
func TestHandOver(t *testing.T) {
	home, bin := sparkHome(t), t.TempDir()
	for _, f := range []string{"kubespark", "kubespark.jar", "kubespark-manager"} {
		writeFile(t, bin, f, "")
	}
	writeFile(t, home, "conf/spark-defaults.conf", "spark.driver.defaultExtraClassPath /defaults.jar\n")
	key := "spark.driver.defaultExtraClassPath="
	ours := func(rest string) []string {
		return []string{"--conf", key + bin + "/kubespark.jar" + rest, "--conf", "spark.kubespark.manager.path=" + bin + "/kubespark-manager"}
	}
	client := []string{"--master", "k8s://h", "--conf", "spark.a=b c"}
	tests := []struct {
		name string
		args []string
		want []string
	}{
		{"yarn", []string{"--master", "yarn", "--deploy-mode", "cluster", "a.jar", "--x"}, []string{"--master", "yarn", "--deploy-mode", "cluster", "a.jar", "--x"}},
		{"local", []string{"a.jar", "", "b c"}, []string{"a.jar", "", "b c"}},
		{"client", append(client, "a.py", "--conf", "x"), append(append(client, ours(":/defaults.jar")...), "a.py", "--conf", "x")},
		{"client, user's flag", append(client, "--driver-default-class-path", "/u.jar", "a.py"),
			append(append(append(client, "--driver-default-class-path", "/u.jar"), ours(":/u.jar")...), "a.py")},
		{"client, user's conf", append(client, "--conf", key+"/u.jar", "a.py"), append(append(append(client, "--conf", key+"/u.jar"), ours(":/u.jar")...), "a.py")},
		{"client, user's class path", append(client, "--driver-class-path", "/u.jar", "a.py"),
			append(append(append(client, "--driver-class-path", "/u.jar"), ours(":/defaults.jar")...), "a.py")},
		{"shell", []string{"pyspark-shell-main", "--master", "k8s://h"}, append([]string{"pyspark-shell-main", "--master", "k8s://h"}, ours(":/defaults.jar")...)},
		{"fallback", append(client, "--deploy-mode", "cluster", "--conf", "spark.kubespark.submit.fallback=spark-submit", "a.py"),
			append(client, "--deploy-mode", "cluster", "--conf", "spark.kubespark.submit.fallback=spark-submit", "a.py")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &run{environ: []string{"SPARK_HOME=" + home, "A=b"}, executable: filepath.Join(bin, "kubespark")}
			r.do(append([]string{"submit"}, tt.args...)...)
			want := append([]string{filepath.Join(home, "bin/spark-submit")}, tt.want...)
			if diff := cmp.Diff(want, r.execArgs); diff != "" {
				t.Error(diff, r.stderr.String())
			}
			if diff := cmp.Diff([]string{"SPARK_HOME=" + home, "A=b", "KUBESPARK_DELEGATED=" + strconv.Itoa(os.Getpid())}, r.execEnv); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The real spark-submit is never this program again.
func TestHandOverDoesNotFindItself(t *testing.T) {
	home := sparkHome(t)
	self := filepath.Join(home, "bin/spark-submit")
	r := &run{environ: []string{"SPARK_HOME=" + home}, executable: self}
	if code := r.do("submit", "a.jar"); code != 1 || r.execPath != "" {
		t.Error(code, r.execPath)
	}
	writeFile(t, home, "bin/spark-submit.orig", "#!/bin/sh\n")
	if err := os.Chmod(self+".orig", 0o755); err != nil {
		t.Fatal(err)
	}
	if r.do("submit", "a.jar"); r.execPath != self+".orig" {
		t.Errorf("%q", r.execPath)
	}
	r = &run{environ: []string{"SPARK_HOME=" + home, "KUBESPARK_DELEGATED=" + strconv.Itoa(os.Getpid())}}
	if code := r.do("submit", "a.jar"); code != 1 || !strings.Contains(r.lastLine(), "kubespark again") {
		t.Error(r.lastLine())
	}
}

// S025: spark-env.sh sets the environment, unless it is switched off.
func TestSparkEnv(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "spark-env.sh", "echo noise\nSPARK_EXECUTOR_CORES=zero\n")
	args := []string{"submit", "--master", "k8s://h", "--deploy-mode", "cluster", "--conf", "spark.kubernetes.container.image=i"}
	r := &run{environ: []string{"SPARK_CONF_DIR=" + dir, "PATH=" + os.Getenv("PATH")}}
	if r.do(append(args, "local:///x.py")...); r.lastLine() != "Error: Executor cores must be a positive number" {
		t.Error(r.stderr.String())
	}
	r = &run{environ: []string{"SPARK_CONF_DIR=" + dir, "PATH=" + os.Getenv("PATH")}}
	if code := r.do(append([]string{"render"}, append(args[1:], "--conf", "spark.kubespark.submit.sparkEnv=false", "local:///x.py")...)...); code != 0 {
		t.Error(r.stderr.String())
	}
	writeFile(t, dir, "spark-env.sh", "exit 3\n")
	r = &run{environ: []string{"SPARK_CONF_DIR=" + dir, "PATH=" + os.Getenv("PATH")}}
	if r.do(append(args, "local:///x.py")...); !strings.Contains(r.lastLine(), "spark-env.sh failed (exit status 3)") {
		t.Error(r.stderr.String())
	}
}

// render prints all objects and an executor, and needs no cluster.
func TestRender(t *testing.T) {
	r := &run{environ: []string{"KUBECONFIG=/nowhere"}}
	code := r.do("render", "--master", "k8s://h", "--conf", "spark.kubernetes.container.image=i", "--conf", "spark.kubernetes.authenticate.driver.oauthToken=topsecret", "local:///x.py")
	if code != 0 {
		t.Fatal(r.stderr.String())
	}
	var kinds []string
	for _, doc := range strings.Split(r.stdout.String(), "---\n")[1:] {
		var o struct{ Kind string }
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, o.Kind)
	}
	if diff := cmp.Diff([]string{"Pod", "Secret", "Service", "NetworkPolicy", "ConfigMap", "Pod"}, kinds); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(r.stdout.String()+r.stderr.String(), "topsecret") || strings.Contains(r.stdout.String(), "dG9wc2VjcmV0") {
		t.Error("the token is shown")
	}
}

// apiServer is an API server in memory.
func apiServer(t *testing.T) (*kubetest.Server, string) {
	t.Helper()
	s := kubetest.New()
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		s.DropWatches()
		h.CloseClientConnections()
		h.Close()
	})
	return s, h.URL
}

func submitTo(url string, more ...string) []string {
	return append(append([]string{"submit", "--master", "k8s://" + url, "--deploy-mode", "cluster", "--name", "app", "--conf", "spark.kubernetes.container.image=i",
		"--conf", "spark.kubespark.jar=/k.jar"}, more...), "local:///x.py")
}

// S073, S075: a submission from the command line to its exit code.
func TestSubmit(t *testing.T) {
	s, url := apiServer(t)
	r := &run{environ: []string{"KUBECONFIG=/nowhere"}}
	if code := r.do(submitTo(url, "--conf", "spark.kubernetes.submission.waitAppCompletion=false")...); code != 0 {
		t.Fatal(r.stderr.String())
	}
	if last := r.lastLine(); !strings.HasPrefix(last, "26/01/02 03:04:05 INFO Client: pod name: app-") || !strings.HasSuffix(last, "-driver") || r.stdout.Len() > 0 {
		t.Errorf("last line %q", last)
	}
	if !strings.Contains(r.stderr.String(), "INFO SparkSubmit: Executors will be managed by kubespark (/k.jar).") {
		t.Error(r.stderr.String())
	}
	s.OnChange(func(verb, resource string, obj kubetest.Object) {
		if verb == "update" && resource == "pods" && kubetest.Text(obj, "status", "phase") == "Pending" { // the gate went
			s.Update("pods", "default", kubetest.Text(obj, "metadata", "name"), func(o kubetest.Object) {
				o["status"] = kubetest.Object{"phase": "Failed", "containerStatuses": []any{kubetest.Object{"name": "spark-kubernetes-driver",
					"state": kubetest.Object{"terminated": kubetest.Object{"exitCode": 3, "reason": "Error"}}}}}
			})
		}
	})
	r = &run{environ: []string{"KUBECONFIG=/nowhere"}}
	if code := r.do(submitTo(url)...); code != 3 || r.lastLine() != "26/01/02 03:04:05 ERROR Client: Application app failed: the driver exited with 3 (Error)" {
		t.Error(code, r.stderr.String())
	}
	var agents []string
	for _, c := range s.Calls("create", "") {
		if !strings.HasPrefix(c.Agent, "kubespark-submit/") || !strings.Contains(c.Query, "fieldManager=kubespark") {
			agents = append(agents, c.Agent+" "+c.Query)
		}
	}
	if agents != nil {
		t.Errorf("%q", agents)
	}
}

// An interrupt leaves the application alone and says how to go on; K1 to K4 by the commands it names.
func TestInterruptThenStatusAndKill(t *testing.T) {
	s, url := apiServer(t)
	r := &run{environ: []string{"KUBECONFIG=/nowhere"}, signals: make(chan os.Signal, 1)}
	s.OnChange(func(verb, resource string, _ kubetest.Object) {
		if verb == "update" && resource == "pods" {
			time.AfterFunc(20*time.Millisecond, func() { r.signals <- syscall.SIGINT })
		}
	})
	code := r.do(submitTo(url, "--conf", "spark.kubernetes.driver.pod.name=drv")...)
	out := r.stderr.String()
	if code != 130 || !strings.Contains(out, "the application goes on running as driver pod drv in namespace default.") || s.Get("pods", "default", "drv") == nil {
		t.Fatal(code, out)
	}
	for _, want := range []string{"kubectl logs -f -n default drv", "kubespark submit --master k8s://" + url + " --status default:drv"} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
	r = &run{environ: []string{"KUBECONFIG=/nowhere"}}
	code = r.do("submit", "--master", "k8s://"+url, "--status", "default:drv")
	if want := "Submitting a request for the status of submission default:drv in k8s://" + url + ".\nApplication status (driver): \n\t pod name: drv\n"; code != 0 ||
		!strings.HasPrefix(r.stderr.String(), want) && !strings.Contains(r.stderr.String(), want) {
		t.Error(code, r.stderr.String())
	}
	r = &run{environ: []string{"KUBECONFIG=/nowhere"}}
	code = r.do("submit", "--master", "k8s://"+url, "--kill", "drv", "--conf", "spark.kubernetes.appKillPodDeletionGracePeriod=7s")
	if !strings.Contains(r.stderr.String(), "Submitting a request to kill submission drv in k8s://"+url+". Grace period in secs: 7\n") || code != 0 || s.Get("pods", "default", "drv") != nil {
		t.Error(code, r.stderr.String())
	}
}

// M-5: --status and --kill of an address without a scheme find a server of plain HTTP, and say so; a submission does not.
func TestOperationsProbeTheScheme(t *testing.T) {
	s, url := apiServer(t)
	address := strings.TrimPrefix(url, "http://")
	s.Put("pods", kubetest.Object{"metadata": map[string]any{"name": "drv", "namespace": "default", "labels": map[string]any{"spark-role": "driver"}}})
	warning := "The server at " + address + " speaks plain HTTP: it is used without TLS and without credentials. Write k8s://http://" + address + " if that is meant."
	for _, action := range []string{"--status", "--kill"} {
		r := &run{environ: []string{"KUBECONFIG=/nowhere"}}
		if code := r.do("submit", "--master", "k8s://"+address, action, "default:drv"); code != 0 || strings.Count(r.stderr.String(), warning) != 1 {
			t.Errorf("%s: %d\n%s", action, code, r.stderr.String())
		}
	}
	if s.Get("pods", "default", "drv") != nil {
		t.Error("the driver was not killed")
	}
	r := &run{environ: []string{"KUBECONFIG=/nowhere"}}
	const refused = "the server speaks plain HTTP; write --master k8s://http://… if that is meant"
	if code := r.do(submitTo(address)...); code != 1 || !strings.Contains(r.lastLine(), refused) || strings.Contains(r.lastLine(), "no usable answer") {
		t.Errorf("%d\n%s", code, r.stderr.String())
	}
}

// C026: properties of any size come from standard input or a pipe, once; the real spark-submit cannot have them.
func TestPropertiesFromStandardInput(t *testing.T) {
	s, url := apiServer(t)
	fifo := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 200<<10)
	text := "spark.long " + long + "\nspark.kubernetes.namespace team\nspark.kubernetes.submission.waitAppCompletion false\n"
	for _, file := range []string{"-", fifo} {
		r := &run{environ: []string{"KUBECONFIG=/nowhere", "SPARK_HOME=" + sparkHome(t)}, stdin: text}
		if file == fifo {
			go func() { _ = os.WriteFile(fifo, []byte(text), 0o600) }()
		}
		if code := r.do(submitTo(url, "--properties-file", file)...); code != 0 {
			t.Fatalf("%s: %d\n%s", file, code, r.stderr.String())
		}
		var body string
		for _, c := range s.Calls("create", "configmaps") {
			body = c.Body
		}
		if !strings.Contains(body, "spark.long="+long) || !strings.Contains(body, `"spark.kubernetes.namespace":"team"`) {
			t.Errorf("%s: the driver's ConfigMap lacks the properties (%d bytes)", file, len(body))
		}
		s.KeepCalls(true)
	}
	r := &run{environ: []string{"SPARK_HOME=" + sparkHome(t)}, stdin: "spark.submit.deployMode client\n"}
	code := r.do("submit", "--master", "k8s://h", "--properties-file", "-", "local:///x.py")
	if want := "properties from - cannot be handed to the real spark-submit, which takes regular files only: write them into one"; code != 1 ||
		!strings.Contains(r.lastLine(), want) || r.execPath != "" {
		t.Errorf("%d %s %s", code, r.execPath, r.lastLine())
	}
}

// run-example: a class of the examples becomes a jar submission.
func TestRunExample(t *testing.T) {
	home := t.TempDir()
	writeFile(t, home, "examples/jars/spark-examples_2.13-4.2.0.jar", "")
	writeFile(t, home, "examples/jars/scopt.jar", "")
	r := &run{environ: []string{"SPARK_HOME=" + home}}
	code := r.do("render", "run-example", "--master", "k8s://h", "--conf", "spark.kubernetes.container.image=i", "--conf", "spark.kubernetes.file.upload.path=/up", "SparkPi", "10")
	for _, want := range []string{"- org.apache.spark.examples.SparkPi\n    - spark-internal\n    - \"10\"\n", "/scopt.jar,/up/spark-upload-"} {
		if !strings.Contains(r.stdout.String(), want) {
			t.Errorf("%d: lacks %q: %s%s", code, want, r.stdout.String(), r.stderr.String())
		}
	}
	r = &run{}
	if r.do("submit", "run-example", "--master", "k8s://h", "--deploy-mode", "cluster"); r.lastLine() != "Error: Missing example class name." {
		t.Error(r.lastLine())
	}
}

// The reference pages are the same each time.
func TestDocs(t *testing.T) {
	var pages [2]string
	for i := range pages {
		dir := t.TempDir()
		r := &run{}
		if code := r.do("docs", "--dir", dir); code != 0 {
			t.Fatal(r.stderr.String())
		}
		for _, f := range []string{"commands.md", "properties.md"} {
			b, err := os.ReadFile(filepath.Join(dir, f))
			if err != nil {
				t.Fatal(err)
			}
			pages[i] += string(b)
		}
	}
	if pages[0] != pages[1] || !strings.Contains(pages[0], "## kubespark submit") || !strings.Contains(pages[0], "| `--num-executors N` |") || strings.Contains(pages[0], "| `spark.kubernetes.namespace` |  |") {
		t.Error(pages[0])
	}
}
