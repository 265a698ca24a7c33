package volume

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// cluster is an API server in memory.
type cluster struct {
	configMaps map[string]map[string]string
	secrets    map[string]map[string][]byte
	tokens     int
	now        func() time.Time
}

func (c *cluster) ConfigMap(_ context.Context, _, name string) (*corev1.ConfigMap, error) {
	d, ok := c.configMaps[name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
	}
	return &corev1.ConfigMap{Data: d}, nil
}

func (c *cluster) Secret(_ context.Context, _, name string) (*corev1.Secret, error) {
	d, ok := c.secrets[name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
	}
	return &corev1.Secret{Data: d}, nil
}

func (c *cluster) ClaimPath(context.Context, string, string) (string, error) {
	return "/claims/a", nil
}

func (c *cluster) Token(_ context.Context, pod *corev1.Pod, _ string, seconds int64) (string, time.Time, error) {
	c.tokens++
	return pod.Spec.ServiceAccountName + "-token", c.now().Add(time.Duration(seconds) * time.Second), nil
}

func newManager(t *testing.T) (*Manager, *cluster, *time.Time) {
	now := time.Unix(1_800_000_000, 0)
	clock := func() time.Time { return now }
	c := &cluster{configMaps: map[string]map[string]string{}, secrets: map[string]map[string][]byte{}, now: clock}
	return &Manager{Dir: t.TempDir(), Fetcher: c, Now: clock}, c, &now
}

func testPod(volumes ...corev1.Volume) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", UID: "u1", Labels: map[string]string{"b": "2", "a": "1"}},
		Spec:       corev1.PodSpec{Volumes: volumes, ServiceAccountName: "sa", Containers: []corev1.Container{{Name: "c"}}},
	}
}

func configMapVolume(name string, items ...corev1.KeyToPath) corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: name}, Items: items,
	}}}
}

func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "..") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(text)
	}
	return out
}

func TestConfigMapVolumeFollowsItsConfigMap(t *testing.T) {
	m, c, now := newManager(t)
	pod := testPod(configMapVolume("cm"))
	if _, _, err := m.SetUp(t.Context(), pod); err == nil || !strings.Contains(err.Error(), `MountVolume.SetUp failed for volume "v" : configmaps "cm" not found`) {
		t.Fatalf("missing ConfigMap: %v", err)
	}
	c.configMaps["cm"] = map[string]string{"a": "1", "b": "2"}
	got, next, err := m.SetUp(t.Context(), pod)
	if err != nil {
		t.Fatal(err)
	}
	if !got["v"].ReadOnly || !next.After(*now) {
		t.Errorf("%+v, next %v", got, next)
	}
	if d := cmp.Diff(map[string]string{"a": "1", "b": "2"}, content(t, got["v"].HostPath)); d != "" {
		t.Error(d)
	}
	c.configMaps["cm"] = map[string]string{"b": "3", "c": "4"}
	*now = now.Add(time.Minute)
	if _, _, err := m.SetUp(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"b": "3", "c": "4"}, content(t, got["v"].HostPath)); d != "" {
		t.Error(d)
	}
	if err := m.TearDown(pod); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(m.PodDir(pod)); !os.IsNotExist(err) {
		t.Errorf("left behind: %v", err)
	}
}

func TestItemsAndModes(t *testing.T) {
	m, c, _ := newManager(t)
	c.configMaps["cm"] = map[string]string{"a": "1", "b": "2"}
	mode := int32(0o400)
	got, _, err := m.SetUp(t.Context(), testPod(configMapVolume("cm", corev1.KeyToPath{Key: "b", Path: "bee", Mode: &mode})))
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(got["v"].HostPath, "bee"))
	if err != nil || st.Mode().Perm() != 0o400 {
		t.Errorf("%v, %v", st, err)
	}
	if _, _, err := m.SetUp(t.Context(), testPod(configMapVolume("cm", corev1.KeyToPath{Key: "zz", Path: "z"}))); err == nil || !strings.Contains(err.Error(), `no key "zz"`) {
		t.Errorf("missing key: %v", err)
	}
	if _, _, err := m.SetUp(t.Context(), testPod(configMapVolume("cm", corev1.KeyToPath{Key: "a", Path: "../../x"}))); err == nil {
		t.Error("a path outside the volume was accepted")
	}
}

func TestServiceAccountVolume(t *testing.T) {
	m, c, now := newManager(t)
	c.configMaps["kube-root-ca.crt"] = map[string]string{"ca.crt": "PEM"}
	seconds := int64(3607)
	v := corev1.Volume{Name: "api", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}}},
	}}}}
	pod := testPod(v)
	user := int64(os.Getuid())
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &user}
	got, _, err := m.SetUp(t.Context(), pod)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"token": "sa-token", "ca.crt": "PEM", "namespace": "ns"}, content(t, got["api"].HostPath)); d != "" {
		t.Error(d)
	}
	if st, err := os.Stat(filepath.Join(got["api"].HostPath, "token")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("token of a named user: %v, %v", st, err)
	}
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{time.Minute, 1}, {47 * time.Minute, 1}, {2 * time.Minute, 2}} {
		*now = now.Add(step.after)
		if _, _, err := m.SetUp(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		if c.tokens != step.want {
			t.Errorf("%v later: %d tokens issued, want %d", step.after, c.tokens, step.want)
		}
	}
}

func TestDownwardFieldsAndResources(t *testing.T) {
	pod := testPod()
	for path, want := range map[string]string{"metadata.labels": "a=\"1\"\nb=\"2\"", "metadata.labels['a']": "1", "metadata.uid": "u1"} {
		if got, err := FieldValue(pod, path); err != nil || got != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if _, err := FieldValue(pod, "spec.nope"); err == nil {
		t.Error("an unknown field was accepted")
	}
	c := &corev1.Container{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1500m")}, Requests: corev1.ResourceList{"memory": resource.MustParse("1Gi")}}}
	for res, want := range map[string]string{"limits.cpu": "2", "requests.memory": "1073741824"} {
		if got, err := ResourceValue(c, &corev1.ResourceFieldSelector{Resource: res}); err != nil || got != want {
			t.Errorf("%s: %q, %v", res, got, err)
		}
	}
}

func TestHostPathTypes(t *testing.T) {
	dir := t.TempDir()
	kind := func(k corev1.HostPathType) *corev1.HostPathType { return &k }
	for _, tc := range []struct {
		path string
		kind *corev1.HostPathType
		ok   bool
	}{
		{dir, kind(corev1.HostPathDirectory), true}, {dir, kind(corev1.HostPathFile), false}, {dir + "/new", kind(corev1.HostPathDirectory), false},
		{dir + "/made", kind(corev1.HostPathDirectoryOrCreate), true}, {dir + "/file", kind(corev1.HostPathFileOrCreate), true}, {dir + "/any", nil, true},
	} {
		if err := hostPath(&corev1.HostPathVolumeSource{Path: tc.path, Type: tc.kind}); (err == nil) != tc.ok {
			t.Errorf("%s as %v: %v", tc.path, tc.kind, err)
		}
	}
}

func TestEmptyDirInMemory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("mounting needs root")
	}
	m, _, _ := newManager(t)
	limit, group := resource.MustParse("1Mi"), int64(2000)
	pod := testPod(corev1.Volume{Name: "mem", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &limit}}})
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
	got, _, err := m.SetUp(t.Context(), pod)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(got["mem"].HostPath, "big"), make([]byte, 2<<20), 0o600); err == nil {
		t.Error("the size limit does not hold")
	}
	if st, err := os.Stat(got["mem"].HostPath); err != nil || st.Mode()&(os.ModeSetgid|0o777) != os.ModeSetgid|0o777 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if err := Clean(m.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(m.Dir); !os.IsNotExist(err) {
		t.Errorf("left behind: %v", err)
	}
}

func TestImageVolume(t *testing.T) {
	m, _, _ := newManager(t)
	m.Image = func(reference string) (string, error) { return "/images/" + reference, nil }
	got, next, err := m.SetUp(t.Context(), testPod(corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "x:1"}}}))
	if want := (Volume{HostPath: "/images/x:1", ReadOnly: true}); err != nil || got["v"] != want || !next.IsZero() {
		t.Errorf("%v, %v, %v", got, next, err)
	}
}
