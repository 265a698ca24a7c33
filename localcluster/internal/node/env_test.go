package node

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestExpand(t *testing.T) {
	values := map[string]string{"A": "1", "B": ""}
	for in, want := range map[string]string{
		"$(A)-$(B)-$(C)": "1--$(C)", "$$(A)": "$(A)", "$A $": "$A $", "$(A": "$(A", "x$$$(A)": "x$1",
	} {
		if got := expand(in, values); got != want {
			t.Errorf("expand(%q) = %q, want %q", in, got, want)
		}
	}
}

func testSources() sources {
	notFound := func(kind, name string) error {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, name)
	}
	return sources{
		configMap: func(name string) (*corev1.ConfigMap, error) {
			if name != "cm" {
				return nil, notFound("configmaps", name)
			}
			return &corev1.ConfigMap{Data: map[string]string{"x": "cx", "y": "cy"}}, nil
		},
		secret: func(name string) (*corev1.Secret, error) {
			if name != "s" {
				return nil, notFound("secrets", name)
			}
			return &corev1.Secret{Data: map[string][]byte{"pw": []byte("word")}}, nil
		},
	}
}

func TestBuildEnv(t *testing.T) {
	yes := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", Labels: map[string]string{"role": "driver"}},
		Status:     corev1.PodStatus{PodIP: "127.10.0.2"},
	}
	c := &corev1.Container{
		Name: "c",
		EnvFrom: []corev1.EnvFromSource{
			{Prefix: "CM_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}}},
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "gone"}, Optional: &yes}},
		},
		Env: []corev1.EnvVar{
			{Name: "PATH", Value: "/mine"},
			{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
			{Name: "ROLE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['role']"}}},
			{Name: "URL", Value: "http://$(IP):80/$(CM_x)"},
			{Name: "PW", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "pw"}}},
			{Name: "NONE", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "no", Optional: &yes}}},
			{Name: "MEM", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory", Divisor: resource.MustParse("1Mi")}}},
		},
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1408Mi")}},
	}
	got, err := buildEnv(pod, c, []string{"PATH=/image"}, []string{"HOSTNAME=p"}, testSources())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"PATH=/mine", "HOSTNAME=p", "CM_x=cx", "CM_y=cy", "IP=127.10.0.2", "ROLE=driver", "URL=http://127.10.0.2:80/cx", "PW=word", "MEM=1408"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	c.Env = []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}, Key: "zz"}}}}
	if _, err := buildEnv(pod, c, nil, nil, testSources()); err == nil || !strings.Contains(err.Error(), "couldn't find key zz in ConfigMap ns/cm") {
		t.Errorf("missing key: %v", err)
	}
}

func TestCommandLine(t *testing.T) {
	env := []string{"A=1"}
	for _, tc := range []struct {
		command, args, want []string
	}{
		{nil, nil, []string{"/entry", "default"}},
		{nil, []string{"driver", "$(A)"}, []string{"/entry", "driver", "1"}},
		{[]string{"sh"}, nil, []string{"sh"}},
		{[]string{"sh"}, []string{"-c", "echo $(A) $(B)"}, []string{"sh", "-c", "echo 1 $(B)"}},
	} {
		got := commandLine(&corev1.Container{Command: tc.command, Args: tc.args}, []string{"/entry"}, []string{"default"}, env)
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Error(d)
		}
	}
}
