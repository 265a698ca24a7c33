package node

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/localcluster/internal/image"
)

func TestIdentify(t *testing.T) {
	i64 := func(n int64) *int64 { return &n }
	yes, no := true, false
	spark := image.Manifest{UID: 185, GID: 0}
	passwd := "root:x:0:0:::\nann:x:1000:1001:::\n"
	for name, tc := range map[string]struct {
		psc  *corev1.PodSecurityContext
		csc  *corev1.SecurityContext
		img  image.Manifest
		want identity
		err  string
	}{
		"the image's user":    {img: spark, want: identity{uid: 185}},
		"the pod's user":      {psc: &corev1.PodSecurityContext{RunAsUser: i64(1000), FSGroup: i64(7), SupplementalGroups: []int64{5}}, img: spark, want: identity{uid: 1000, gid: 1001, groups: []int{5, 7}}},
		"the container's":     {psc: &corev1.PodSecurityContext{RunAsUser: i64(1000), RunAsGroup: i64(9)}, csc: &corev1.SecurityContext{RunAsUser: i64(42)}, img: spark, want: identity{uid: 42, gid: 9}},
		"restricted":          {psc: &corev1.PodSecurityContext{RunAsNonRoot: &yes}, csc: &corev1.SecurityContext{AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes}, img: spark, want: identity{uid: 185, noNewPrivileges: true, readOnlyRoot: true}},
		"root where it is no": {psc: &corev1.PodSecurityContext{RunAsNonRoot: &yes}, err: "image will run as root"},
		"privileged":          {csc: &corev1.SecurityContext{Privileged: &yes}, err: "privileged"},
	} {
		pod := &corev1.Pod{Spec: corev1.PodSpec{SecurityContext: tc.psc}}
		got, err := identify(pod, &corev1.Container{SecurityContext: tc.csc}, tc.img, passwd)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: error %v, want %s", name, err, tc.err)
			}
			continue
		}
		got.capabilities = nil
		if d := cmp.Diff(tc.want, got, cmp.AllowUnexported(identity{})); err != nil || d != "" {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
}

func TestCapabilities(t *testing.T) {
	got := capabilitiesOf(&corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_BIND_SERVICE", "CAP_KILL"}})
	if d := cmp.Diff([]string{"CAP_NET_BIND_SERVICE", "CAP_KILL"}, got); d != "" {
		t.Error(d)
	}
	if len(capabilitiesOf(nil)) != 14 || len(capabilitiesOf(&corev1.Capabilities{Drop: []corev1.Capability{"KILL"}})) != 13 {
		t.Error("default capabilities")
	}
}

// In a user namespace with one user, another one becomes it, without root's capabilities; who asks for root has those of the namespace.
func TestIdentityWhereOneUserExists(t *testing.T) {
	one := func(uid, gid int) (int, int) {
		if uid != 0 {
			uid = -1
		}
		if gid != 0 {
			gid = -1
		}
		return uid, gid
	}
	all := func(uid, gid int) (int, int) { return uid, gid }
	spark := identity{uid: 185, gid: 7, groups: []int{0, 2000}, capabilities: []string{"CAP_KILL"}, readOnlyRoot: true}
	if d := cmp.Diff(identity{groups: []int{0}, readOnlyRoot: true}, spark.among(one), cmp.AllowUnexported(identity{})); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(spark, spark.among(all), cmp.AllowUnexported(identity{})); d != "" {
		t.Error(d)
	}
	root := identity{capabilities: []string{"CAP_KILL"}}
	if d := cmp.Diff(root, root.among(one), cmp.AllowUnexported(identity{})); d != "" {
		t.Error(d)
	}
}
