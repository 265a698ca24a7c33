package servertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func startS3(t *testing.T) (*s3mem.Backend, *httptest.Server, *[]string) {
	backend := s3mem.New()
	if err := backend.CreateBucket("jobs"); err != nil {
		t.Fatal(err)
	}
	var signed []string
	handler := gofakes3.New(backend).Server()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed = append(signed[:0:0], r.Header.Get("Authorization"), r.Header.Get("X-Amz-Security-Token"))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return backend, srv, &signed
}

func s3Server(backend *s3mem.Backend, url string) server {
	return server{base: "s3a://jobs/up", big: 40 << 20,
		props: map[string]string{
			"fs.s3a.endpoint": strings.TrimPrefix(url, "http://"), "fs.s3a.connection.ssl.enabled": "false", "fs.s3a.path.style.access": "true",
			"fs.s3a.access.key": "AKIAJOBS", "fs.s3a.secret.key": "s3cr3t",
		},
		read: func(path string) ([]byte, error) {
			o, err := backend.GetObject("jobs", strings.TrimPrefix(path, "/"), nil)
			if err != nil {
				return nil, err
			}
			return io.ReadAll(o.Contents)
		}}
}

func TestS3(t *testing.T) {
	backend, srv, _ := startS3(t)
	s := s3Server(backend, srv.URL)
	s.exercise(t)
	s.refuses(t, "s3a://none/x/y", "S3 refused it (bucket none): The specified bucket does not exist (NoSuchBucket)")
	for _, scheme := range []string{"s3", "s3n"} {
		s.put(t, s.stores(t), scheme+"://jobs/other/"+scheme, 3)
		if _, err := s.read("/other/" + scheme); err != nil {
			t.Error(err)
		}
	}
}

// Each place that secrets and regions can come from.
func TestS3Credentials(t *testing.T) {
	backend, srv, signed := startS3(t)
	for _, tt := range []struct {
		name            string
		props, env      map[string]string
		key, area, want string
	}{
		{name: "keys", key: "AKIAJOBS", area: "us-east-1"},
		{name: "the bucket's own", props: map[string]string{"fs.s3a.bucket.jobs.access.key": "AKIABUCKET", "fs.s3a.bucket.jobs.secret.key": "x",
			"fs.s3a.endpoint.region": "eu-central-1"}, key: "AKIABUCKET", area: "eu-central-1"},
		{name: "a session", props: map[string]string{"fs.s3a.session.token": "tok", "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"},
			key: "AKIAJOBS", area: "us-east-1", want: "tok"},
		{name: "the environment", props: map[string]string{"fs.s3a.access.key": ""}, env: map[string]string{"AWS_ACCESS_KEY_ID": "AKIAENV", "AWS_SECRET_ACCESS_KEY": "y",
			"AWS_REGION": "ap-south-1"}, key: "AKIAENV", area: "ap-south-1"},
		{name: "none", props: map[string]string{"fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := s3Server(backend, srv.URL)
			s.env = tt.env
			for k, v := range tt.props {
				s.props[k] = v
			}
			s.put(t, s.stores(t), "s3a://jobs/auth/x", 3)
			got := *signed
			if want := "AWS4-HMAC-SHA256 Credential=" + tt.key + "/"; tt.key != "" && !strings.HasPrefix(got[0], want) || tt.key == "" && got[0] != "" ||
				tt.key != "" && !strings.Contains(got[0], "/"+tt.area+"/s3/") || got[1] != tt.want {
				t.Errorf("signed %q", got)
			}
		})
	}
}
