package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestHostsFile(t *testing.T) {
	svc := func(ns, name string, sel map[string]string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: corev1.ServiceSpec{Selector: sel}}
	}
	services := resolveServices([]*corev1.Service{
		svc("spark", "drv-svc", map[string]string{"role": "driver"}), svc("other", "web", map[string]string{"app": "web"}),
		svc("spark", "none", map[string]string{"app": "none"}), svc("default", "kubernetes", nil),
	}, []podAddress{
		{"spark", map[string]string{"role": "driver"}, "127.10.0.2"}, {"spark", map[string]string{"role": "driver"}, ""},
		{"other", map[string]string{"app": "web"}, "127.10.0.9"}, {"other", map[string]string{"app": "web"}, "127.10.0.3"}, {"other", map[string]string{"role": "driver"}, "127.10.0.4"},
	})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "spark", Name: "drv"},
		Spec:       corev1.PodSpec{HostAliases: []corev1.HostAlias{{IP: "127.1.2.3", Hostnames: []string{"store"}}}},
	}
	got := hostsFile(pod, "127.10.0.2", hostnameOf(pod), "127.10.0.1", services)
	want := "# kubespark-managed hosts file.\n" +
		"127.0.0.1\tlocalhost\n" +
		"127.10.0.2\tdrv\n" +
		"127.10.0.1\tkubernetes.default.svc.cluster.local\tkubernetes.default.svc\tkubernetes.default\n" +
		"127.1.2.3\tstore\n" +
		"127.10.0.3\tweb.other.svc.cluster.local\tweb.other.svc\tweb.other\n" +
		"127.10.0.9\tweb.other.svc.cluster.local\tweb.other.svc\tweb.other\n" +
		"127.10.0.2\tdrv-svc.spark.svc.cluster.local\tdrv-svc.spark.svc\tdrv-svc.spark\tdrv-svc\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestHostname(t *testing.T) {
	long := strings.Repeat("a", 62) + "-bc"
	if got := hostnameOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: long}}); got != strings.Repeat("a", 62) {
		t.Errorf("got %s", got)
	}
	if got := hostnameOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Hostname: "h"}}); got != "h" {
		t.Errorf("got %s", got)
	}
}

func TestRewriteKeepsTheInode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hosts")
	if err := rewrite(path, "long text\n"); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := rewrite(path, "short\n"); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("another file: %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "short\n" {
		t.Errorf("content %q, %v", text, err)
	}
}

func TestAddresses(t *testing.T) {
	a, err := newAddresses("127.10.0.0/29") // .2 to .6
	if err != nil {
		t.Fatal(err)
	}
	if !a.reserve("127.10.0.3") || a.reserve("127.10.0.3") || a.reserve("127.99.0.1") {
		t.Error("reserve")
	}
	var got []string
	for range 4 {
		ip, err := a.take()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ip)
	}
	if d := cmp.Diff([]string{"127.10.0.4", "127.10.0.5", "127.10.0.6", "127.10.0.2"}, got); d != "" {
		t.Error(d)
	}
	if _, err := a.take(); err == nil {
		t.Error("more addresses than the network has")
	}
	a.release("127.10.0.5")
	a.release("127.10.0.2")
	if ip, _ := a.take(); ip != "127.10.0.5" {
		t.Errorf("next address %s: the one that was given back last must come last", ip)
	}
	for _, bad := range []string{"10.0.0.0/8", "127.0.0.0/30", "x"} {
		if _, err := newAddresses(bad); err == nil {
			t.Errorf("network %s was accepted", bad)
		}
	}
}
