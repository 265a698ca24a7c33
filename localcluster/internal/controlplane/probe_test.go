package controlplane

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kubespark/kubespark/localcluster/internal/pki"
	"github.com/kubespark/kubespark/localcluster/internal/statedir"
)

func node(status corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "local"},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, Message: "no disk"}}},
	}
}

func TestReady(t *testing.T) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}}
	ca := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kube-root-ca.crt"}}
	for _, tc := range []struct {
		name, component string
		objects         []runtime.Object
		want            string
	}{
		{"no service account yet", ControllerManager, []runtime.Object{ca}, "is not complete yet"},
		{"no certificate yet", ControllerManager, []runtime.Object{account}, "is not complete yet"},
		{"complete namespace", ControllerManager, []runtime.Object{account, ca}, ""},
		{"no node yet", Node, nil, "it has not registered yet"},
		{"node without condition", Node, []runtime.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "local"}}}, "it has not reported its condition yet"},
		{"node not ready", Node, []runtime.Object{node(corev1.ConditionFalse)}, "its condition Ready is False: no disk"},
		{"node ready", Node, []runtime.Object{node(corev1.ConditionTrue)}, ""},
		{"no probe", Scheduler, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &Prober{spec: spec(), api: fake.NewClientset(tc.objects...)}
			err := p.Ready(t.Context(), tc.component)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("Ready: %v, want %q", err, tc.want)
			}
		})
	}
}

func TestReadyOfEtcd(t *testing.T) {
	dir, err := os.MkdirTemp("", "etcd") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := statedir.Dir(dir)
	p := &Prober{dir: d, spec: spec()}
	if err := p.Ready(t.Context(), Etcd); err == nil {
		t.Error("ready without a socket")
	}
	if err := os.MkdirAll(filepath.Dir(d.EtcdSocket()), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", d.EtcdSocket())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := p.Ready(t.Context(), Etcd); err != nil {
		t.Error(err)
	}
}

func TestCreateObjectsTwice(t *testing.T) {
	client := fake.NewClientset()
	dir := statedir.Dir(t.TempDir())
	if err := errors.Join(os.Mkdir(dir.PKI(), 0o700), os.WriteFile(dir.Key(pki.CA), []byte("ca"), 0o600)); err != nil {
		t.Fatal(err)
	}
	registered := 0
	p := &Prober{dir: dir, spec: spec(), api: client, aggregate: func(_ context.Context, body []byte) error {
		if registered++; registered > 1 {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "apiservices"}, "v1beta1.metrics.k8s.io")
		}
		if want := `"caBundle":"Y2E="`; !strings.Contains(string(body), want) {
			t.Errorf("no %s in %s", want, body)
		}
		return nil
	}}
	for range 2 { // the supervisor repeats it when an answer was lost
		if err := p.CreateObjects(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	b, err := client.RbacV1().ClusterRoleBindings().Get(t.Context(), nodeRole, metav1.GetOptions{})
	if err != nil || len(b.Subjects) != 1 || b.Subjects[0].Name != "system:node:local" {
		t.Errorf("binding %+v, %v", b, err)
	}
}

func TestProberReadsWhatWriteKeysWrote(t *testing.T) {
	d, err := statedir.New(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Create(statedir.Record{Spec: spec()}); err != nil {
		t.Fatal(err)
	}
	if err := WriteKeys(d, spec(), time.Now()); err != nil {
		t.Fatal(err)
	}
	p, err := NewProber(d, spec())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Ready(t.Context(), APIServer); err == nil || err.Error() != "it does not answer yet" {
		t.Errorf("Ready: %v", err)
	}
	info, err := os.Stat(d.Kubeconfig())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, %v", info, err)
	}
}
