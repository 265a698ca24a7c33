//go:build long

package servertest

import (
	"os"
	"testing"

	"github.com/colinmarc/hdfs/v2"
)

func TestHDFS(t *testing.T) {
	address := os.Getenv("KUBESPARK_TEST_HDFS")
	if address == "" {
		t.Fatal("KUBESPARK_TEST_HDFS is not set: run make test-long")
	}
	root, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: []string{address}, User: os.Getenv("KUBESPARK_TEST_HDFS_USER")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	if err := root.RemoveAll("/jobs"); err != nil {
		t.Log(err)
	}
	if err := root.MkdirAll("/jobs", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := root.Chown("/jobs", "analyst", "analyst"); err != nil {
		t.Fatal(err)
	}
	s := server{base: "hdfs://" + address + "/jobs/up", big: 150 << 20, read: root.ReadFile} // more than a block
	s.exercise(t)
	s.refuses(t, "hdfs://"+address+"/closed/x/y", "HDFS refused it (user analyst): /closed/x/y (permission denied)")

	// Names of a service are looked up as Hadoop does it.
	named := server{base: "hdfs://prod/jobs/named", read: root.ReadFile, props: map[string]string{
		"dfs.ha.namenodes.prod": "nn1,nn2", "dfs.namenode.rpc-address.prod.nn1": "127.0.0.1:1", "dfs.namenode.rpc-address.prod.nn2": address}}
	named.put(t, named.stores(t), named.base+"/d/x", 3)
	byDefault := server{props: map[string]string{"fs.defaultFS": "hdfs://" + address}}
	byDefault.put(t, byDefault.stores(t), "hdfs:///jobs/default/d/x", 3)
}
