package upload

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func conf(props map[string]string) *hadoopConf { return newHadoopConf(Options{Props: props}) }

func at(t *testing.T, url string) Location {
	t.Helper()
	l, err := Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestParse(t *testing.T) {
	for in, want := range map[string]Location{
		"s3a://b/up//x y%20.jar":           {"s3a", "b", "/up/x y%20.jar"},
		"/up//d/":                          {"", "", "/up/d"},
		"file:/up/x":                       {"file", "", "/up/x"},
		"file:///up/x":                     {"file", "", "/up/x"},
		"hdfs:///p":                        {"hdfs", "", "/p"},
		"hdfs://nn:8020":                   {"hdfs", "nn:8020", "/"},
		"abfss://c@a.dfs.core.windows.net": {"abfss", "c@a.dfs.core.windows.net", "/"},
	} {
		if got := at(t, in); got != want {
			t.Errorf("%s: %+v", in, got)
		}
	}
	if _, err := Parse("up/x"); err == nil || err.Error() != "up/x is no absolute path" {
		t.Error(err)
	}
}

// S033: Hadoop's patterns, level by level.
func TestGlob(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/1.jar", "a/2.jar", "b/1.jar", "b/x.txt", "b/sub/1.jar", "b/[z].jar"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st := New(Options{})
	for pattern, want := range map[string]string{
		"/*/1.jar": "a/1.jar b/1.jar", "/a/?.jar": "a/1.jar a/2.jar", "/a/[!1].jar": "a/2.jar", "/a/[^2].jar": "a/1.jar",
		"/[a-b]/[1-9].jar": "a/1.jar a/2.jar b/1.jar", "/{a,b}/{1,x}*": "a/1.jar b/1.jar b/x.txt", `/b/\[z\]*`: "b/[z].jar", "/b/*": "b/1.jar b/[z].jar b/x.txt",
		"/none/*": "", "/*": "",
	} {
		got, err := st.Glob(t.Context(), "file:"+dir+pattern)
		if s := strings.ReplaceAll(strings.Join(got, " "), "file:"+dir+"/", ""); err != nil || s != want {
			t.Errorf("%s: %q, %v; want %q", pattern, s, err, want)
		}
	}
	if _, err := st.Glob(t.Context(), "file:"+dir+"/[a"); err == nil || !strings.Contains(err.Error(), "/[a is no file pattern") {
		t.Error(err)
	}
}

func TestHadoopConf(t *testing.T) {
	files := map[string]string{
		"/h/core-site.xml": `<configuration><property><name>a</name><value>site</value></property>
			<property><name>fs.defaultFS</name><value> hdfs://prod </value></property></configuration>`,
		"/bad/core-site.xml": "<configuration>",
	}
	env := map[string]string{"HADOOP_CONF_DIR": "/h", "ZONE": "z1", "EMPTY": ""}
	h := newHadoopConf(Options{
		Props: map[string]string{"b": "x-${a}", "c": "${env.ZONE}${env.NO-d}${env.EMPTY:-e}${env.NO}", "loop": "${loop}", "t": "TRUE"},
		Env:   func(k string) (string, bool) { v, ok := env[k]; return v, ok },
		ReadFile: func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}})
	if err := h.load(); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"a": "site", "b": "x-site", "c": "z1de${env.NO}", "loop": "${loop}", "none": "", "fs.defaultFS": "hdfs://prod"} {
		if got := h.get(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	if !h.getBool(false, "t") || h.getBool(true, "a") != true {
		t.Error("getBool")
	}
	env["HADOOP_CONF_DIR"], h.loaded = "/bad", false
	if err := h.load(); err == nil || !strings.Contains(err.Error(), "/bad/core-site.xml is no Hadoop configuration") {
		t.Error(err)
	}
}

func TestS3EndpointAndRegion(t *testing.T) {
	for _, tt := range []struct {
		props            map[string]string
		endpoint, region string
	}{
		{nil, "", ""},
		{map[string]string{"fs.s3a.endpoint": "s3.amazonaws.com"}, "", ""},
		{map[string]string{"fs.s3a.endpoint": "s3.eu-west-1.amazonaws.com"}, "https://s3.eu-west-1.amazonaws.com", "eu-west-1"},
		{map[string]string{"fs.s3a.endpoint": "https://bucket.vpce-1a.s3.us-west-2.vpce.amazonaws.com/"}, "https://bucket.vpce-1a.s3.us-west-2.vpce.amazonaws.com", "us-west-2"},
		{map[string]string{"fs.s3a.endpoint": "minio:9000", "fs.s3a.connection.ssl.enabled": "false"}, "http://minio:9000", "us-east-1"},
		{map[string]string{"fs.s3a.bucket.b.endpoint": "other:1", "fs.s3a.endpoint": "minio:9000", "fs.s3a.endpoint.region": "r1"}, "https://other:1", "r1"},
	} {
		c := s3Conf{conf(tt.props), "b"}
		if e := c.endpoint(); e != tt.endpoint || c.region("", e) != tt.region {
			t.Errorf("%v: %s %s", tt.props, e, c.region("", e))
		}
	}
}

// What cannot work is refused before anything is sent.
func TestRefusedConfigurations(t *testing.T) {
	for _, tt := range []struct {
		url   string
		props map[string]string
		want  string
	}{
		{"s3a:///x/y", nil, "s3a:///x/y names no bucket"},
		{"s3a://b/x", map[string]string{"fs.s3a.aws.credentials.provider": "org.example.Vault"}, "spark.hadoop.fs.s3a.aws.credentials.provider: native submission has nothing for org.example.Vault"},
		{"s3a://b/x", map[string]string{"fs.s3a.aws.credentials.provider": "a.SimpleAWSCredentialsProvider"}, "no S3 credentials were found: set spark.hadoop.fs.s3a.access.key"},
		{"s3a://b/x", map[string]string{"fs.s3a.aws.credentials.provider": "a.SimpleAWSCredentialsProvider", "hadoop.security.credential.provider.path": "jceks://x"},
			"hadoop.security.credential.provider.path names a credential store that native submission cannot read"},
		{"hdfs://nn/x", map[string]string{"hadoop.security.authentication": "Kerberos"}, "hadoop.security.authentication=kerberos: native submission does not log in to Kerberos"},
		{"hdfs:///x", nil, "hdfs:///x names no host, and fs.defaultFS is no hdfs:// URL"},
		{"hdfs://p/x", map[string]string{"dfs.ha.namenodes.p": "n1"}, "dfs.namenode.rpc-address.p.n1 is not set"},
		{"gs://b/x", map[string]string{"fs.gs.auth.type": "ACCESS_TOKEN_PROVIDER"}, "spark.hadoop.fs.gs.auth.type: native submission does not know ACCESS_TOKEN_PROVIDER"},
		{"abfss://a.dfs.core.windows.net/x", nil, "abfss://a.dfs.core.windows.net/x does not name container and account"},
		{"abfss://c@a.dfs.core.windows.net/x", map[string]string{"fs.azure.account.key": "no base64!"}, "spark.hadoop.fs.azure.account.key.a.dfs.core.windows.net is no account key"},
		{"abfss://c@a.dfs.core.windows.net/x", map[string]string{"fs.azure.account.auth.type": "Custom"}, "spark.hadoop.fs.azure.account.auth.type: native submission does not know Custom"},
		{"abfss://c@a.dfs.core.windows.net/x", map[string]string{"fs.azure.account.auth.type": "OAuth", "fs.azure.account.oauth.provider.type": "x.ClientCredsTokenProvider"},
			"spark.hadoop.fs.azure.account.oauth2.client.secret is not set"},
		{"oss://b/x", nil, "scheme 'oss' is not supported"},
	} {
		err := New(Options{Props: tt.props}).Remove(t.Context(), tt.url)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s %v: %v", tt.url, tt.props, err)
		}
	}
}

func TestAzureURL(t *testing.T) {
	a, err := azureOf(at(t, "abfss://c@acc.dfs.core.windows.net/x"))
	if err != nil {
		t.Fatal(err)
	}
	for scheme, want := range map[string]string{"abfss": "https://acc.blob.core.windows.net/c", "abfs": "https://acc.blob.core.windows.net/c", "wasb": "http://acc.blob.core.windows.net/c"} {
		if got := a.url(conf(nil), scheme); got != want {
			t.Errorf("%s: %s", scheme, got)
		}
	}
	plainHTTP := conf(map[string]string{"fs.azure.always.use.https": "false", "fs.azure.abfs.endpoint": "127.0.0.1:1"})
	for scheme, want := range map[string]string{"abfs": "http://127.0.0.1:1/acc/c", "abfss": "https://127.0.0.1:1/acc/c"} {
		if got := a.url(plainHTTP, scheme); got != want {
			t.Errorf("%s: %s", scheme, got)
		}
	}
	authority, tenant, err := azureEndpoint("https://login.microsoftonline.com/t-1/oauth2/token")
	if err != nil || authority != azurePublicURL || tenant != "t-1" {
		t.Error(authority, tenant, err)
	}
}

func TestNamenodes(t *testing.T) {
	props := map[string]string{"fs.defaultFS": "hdfs://p", "dfs.ha.namenodes.p": "a, b", "dfs.namenode.rpc-address.p.a": "h1:9000", "dfs.namenode.rpc-address.p.b": "h2"}
	for url, want := range map[string]string{"hdfs:///x": "h1:9000 h2:8020", "hdfs://nn/x": "nn:8020", "hdfs://nn:1/x": "nn:1"} {
		got, err := namenodes(conf(props), at(t, url))
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", url, got, err)
		}
	}
}

// A signature in a URL shows in no error, and Google's API is asked again when it is busy.
func TestHTTPErrors(t *testing.T) {
	busy := 2
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if busy--; busy >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"error":{"message":"analyst may not\nwrite."}}`))
	}))
	props := map[string]string{"fs.gs.storage.root.url": srv.URL, "fs.gs.auth.type": "UNAUTHENTICATED"}
	st := New(Options{Props: props})
	_, err := st.Glob(t.Context(), "gs://b/*")
	if err == nil || err.Error() != "list gs://b/: Google Cloud Storage refused it (bucket b): analyst may not write (403 Forbidden)" {
		t.Error(err)
	}
	srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/x?sig=s3cr3t", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := httpClient().Do(request)
	if err == nil {
		_ = resp.Body.Close()
	}
	told := plain(ctx, err)
	if told == nil || strings.Contains(told.Error(), "s3cr3t") || !strings.HasPrefix(told.Error(), "no answer from "+srv.URL+": ") {
		t.Error(told)
	}
	cancel()
	if !errors.Is(plain(ctx, err), context.Canceled) {
		t.Error("an ended context is the cause")
	}
}

func TestSchemes(t *testing.T) {
	if diff := cmp.Diff([]string{"abfs", "abfss", "file", "gs", "hdfs", "s3", "s3a", "s3n", "wasb", "wasbs"}, Schemes()); diff != "" {
		t.Error(diff)
	}
}
