package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubespark/kubespark/internal/kubetest"
)

// loggingServer is an API server whose drivers write one log and end with 3.
func loggingServer(t *testing.T, log string) string {
	t.Helper()
	s, url := apiServer(t)
	s.OnChange(func(verb, resource string, obj kubetest.Object) {
		if verb == "update" && resource == "pods" && kubetest.Text(obj, "status", "phase") == "Pending" { // the gate went
			s.Update("pods", "default", kubetest.Text(obj, "metadata", "name"), func(o kubetest.Object) {
				o["status"] = kubetest.Object{"phase": "Failed", "containerStatuses": []any{kubetest.Object{"name": "spark-kubernetes-driver",
					"state": kubetest.Object{"terminated": kubetest.Object{"exitCode": 3, "reason": "Error"}}}}}
			})
		}
	})
	target := strings.TrimPrefix(url, "http://")
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/log") {
			if q := r.URL.Query(); q.Get("container") != "spark-kubernetes-driver" || q.Get("timestamps") != "true" || q.Get("follow") != "true" {
				t.Errorf("query %s", r.URL.RawQuery)
			}
			_, _ = fmt.Fprint(w, log)
			return
		}
		forward(w, r, target)
	}))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	return h.URL
}

// --follow puts the driver's log, and it alone, on standard output, before our last report.
func TestFollow(t *testing.T) {
	const stamp = "2026-01-01T00:00:00.000000001Z "
	url := loggingServer(t, stamp+"Pi is roughly 3.14\n"+stamp+"ERROR Lost executor 1: Exit code: 137\n")
	r := &run{environ: []string{"KUBECONFIG=/nowhere"}}
	args := submitTo(url, "--follow", "--conf", "spark.kubernetes.submission.waitAppCompletion=false")
	if code := r.do(args...); code != 3 || r.stdout.String() != "Pi is roughly 3.14\nERROR Lost executor 1: Exit code: 137\n" {
		t.Errorf("code %d, stdout %q\n%s", code, r.stdout.String(), r.stderr.String())
	}
	// Airflow reads both streams under the other name, and takes the last exit code for the driver's.
	r = &run{name: "spark-submit", environ: []string{"KUBECONFIG=/nowhere"}}
	args = submitTo(url, "--conf", "spark.kubespark.submit.follow=true")[1:]
	if code := r.do(args...); code != 3 || r.stdout.String() != "Pi is roughly 3.14\nERROR Lost executor 1: Exit code 137\n" {
		t.Errorf("code %d, stdout %q\n%s", code, r.stdout.String(), r.stderr.String())
	}
	r = &run{name: "spark-submit", environ: []string{"KUBECONFIG=/nowhere"}}
	if code := r.do(submitTo(url, "--follow")[1:]...); code != 1 || r.lastLine() != "Error: Unrecognized option: --follow" {
		t.Errorf("code %d, %s", code, r.lastLine())
	}
	for name, want := range map[string]bool{"kubespark": true, "spark-submit": false} {
		r = &run{name: name}
		if r.do(map[bool][]string{true: {"submit", "--help"}, false: {"--help"}}[want]...); strings.Contains(r.stderr.String(), "--follow") != want {
			t.Errorf("help of %s:\n%s", name, r.stderr.String())
		}
	}
}

// The real spark-submit never sees our option.
func TestFollowIsNotHandedOver(t *testing.T) {
	home := sparkHome(t)
	r := &run{environ: []string{"SPARK_HOME=" + home}, executable: filepath.Join(t.TempDir(), "kubespark")}
	r.do("submit", "--master", "yarn", "--follow", "a.jar", "--follow")
	if got := strings.Join(r.execArgs[1:], " "); got != "--master yarn a.jar --follow" {
		t.Errorf("%q", got)
	}
}

// --verbose shows the final configuration; secrets are covered.
func TestVerbose(t *testing.T) {
	_, url := apiServer(t)
	r := &run{environ: []string{"KUBECONFIG=/nowhere"}}
	code := r.do(submitTo(url, "--verbose", "--driver-memory", "2g", "--conf", "spark.my.password=topsecret", "--conf", "spark.kubernetes.authenticate.driver.oauthToken=topsecret",
		"--conf", "spark.kubernetes.submission.waitAppCompletion=false")...)
	out := r.stderr.String()
	if code != 0 || strings.Contains(out, "topsecret") {
		t.Error(code, out)
	}
	for _, want := range []string{"Parsed arguments:\n  master                  k8s://http", "  driverMemory            2g\n", "(spark.my.password,*********(redacted))\n",
		"Main class:\norg.apache.spark.deploy.PythonRunner\nArguments:\ndriver\n--properties-file\n", "Spark config:\n", "(spark.submit.deployMode,cluster)\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
}

// C036: without the key everything goes into default, as in stock; a context that has another namespace is worth a word.
func TestContextOfAnotherNamespace(t *testing.T) {
	_, url := apiServer(t)
	dir := t.TempDir()
	writeFile(t, dir, "config", `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u, namespace: team-a}}],
clusters: [{name: k, cluster: {server: "https://other"}}], users: [{name: u, user: {}}]}`)
	const warning = "The application goes into the namespace default, although the kubeconfig's context has team-a: set spark.kubernetes.namespace to choose."
	for _, tt := range []struct {
		more []string
		want bool
	}{{nil, true}, {[]string{"--conf", "spark.kubernetes.namespace=default"}, false}} {
		r := &run{environ: []string{"KUBECONFIG=" + filepath.Join(dir, "config")}}
		if code := r.do(submitTo(url, append(tt.more, "--conf", "spark.kubernetes.submission.waitAppCompletion=false")...)...); code != 0 || strings.Contains(r.stderr.String(), warning) != tt.want {
			t.Errorf("%d, warning %v\n%s", code, !tt.want, r.stderr.String())
		}
	}
}

// forward passes a request on and streams the answer.
func forward(w http.ResponseWriter, r *http.Request, host string) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.RequestURI = "http", host, ""
	resp, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	for k, v := range resp.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(resp.StatusCode)
	buf := make([]byte, 4096)
	for {
		n, err := resp.Body.Read(buf)
		if _, werr := w.Write(buf[:n]); werr != nil || err != nil {
			return
		}
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
}
