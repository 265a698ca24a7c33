//go:build long

package servertest

import (
	"strings"
	"testing"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

func TestGoogleCloudStorage(t *testing.T) {
	srv, err := fakestorage.NewServerWithOptions(fakestorage.Options{Scheme: "http", Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	srv.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: "jobs"})
	s := server{base: "gs://jobs/up", big: 40 << 20,
		props: map[string]string{"fs.gs.storage.root.url": srv.URL(), "fs.gs.auth.type": "UNAUTHENTICATED"},
		read: func(path string) ([]byte, error) {
			o, err := srv.GetObject("jobs", strings.TrimPrefix(path, "/"))
			return o.Content, err
		}}
	s.exercise(t)
}
