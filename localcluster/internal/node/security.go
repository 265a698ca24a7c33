package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/localcluster/internal/container"
	"github.com/kubespark/kubespark/localcluster/internal/image"
)

// identity is who a container runs as and what it may do.
type identity struct {
	uid, gid        int
	groups          []int
	capabilities    []string
	noNewPrivileges bool
	readOnlyRoot    bool
}

// identify reads both security contexts; the container's wins over the pod's, and the image's user stands where neither names one.
// passwd is the container's /etc/passwd. Seccomp and AppArmor profiles are accepted and not applied on this node.
func identify(pod *corev1.Pod, c *corev1.Container, img image.Manifest, passwd string) (identity, error) {
	psc, csc := &corev1.PodSecurityContext{}, &corev1.SecurityContext{}
	if pod.Spec.SecurityContext != nil {
		psc = pod.Spec.SecurityContext
	}
	if c.SecurityContext != nil {
		csc = c.SecurityContext
	}
	if csc.Privileged != nil && *csc.Privileged {
		return identity{}, errors.New("privileged containers do not run on this node: remove securityContext.privileged")
	}
	id := identity{uid: img.UID, gid: img.GID}
	if uid := first(csc.RunAsUser, psc.RunAsUser); uid != nil {
		id.uid, id.gid = int(*uid), primaryGroup(passwd, int(*uid), img)
	}
	if gid := first(csc.RunAsGroup, psc.RunAsGroup); gid != nil {
		id.gid = int(*gid)
	}
	if nonRoot := first(csc.RunAsNonRoot, psc.RunAsNonRoot); nonRoot != nil && *nonRoot && id.uid == 0 {
		return identity{}, fmt.Errorf("container has runAsNonRoot and image will run as root (pod: %q, container: %s)", pod.Namespace+"/"+pod.Name, c.Name)
	}
	for _, g := range psc.SupplementalGroups {
		id.groups = append(id.groups, int(g))
	}
	if psc.FSGroup != nil {
		id.groups = append(id.groups, int(*psc.FSGroup))
	}
	id.noNewPrivileges = csc.AllowPrivilegeEscalation != nil && !*csc.AllowPrivilegeEscalation
	id.readOnlyRoot = csc.ReadOnlyRootFilesystem != nil && *csc.ReadOnlyRootFilesystem
	id.capabilities = capabilitiesOf(csc.Capabilities)
	return id, nil
}

// among is the identity with the ids that exist where the node runs, as known tells with -1 for one that does not. The node's own user stands
// for a user that does not exist, without any capability: it is root of the node's user namespace only.
func (id identity) among(known func(uid, gid int) (int, int)) identity {
	uid, gid := known(id.uid, id.gid)
	if uid < 0 {
		id.uid, id.capabilities = 0, nil
	}
	if gid < 0 {
		id.gid = 0
	}
	var groups []int
	for _, g := range id.groups {
		if _, exists := known(0, g); exists >= 0 {
			groups = append(groups, g)
		}
	}
	id.groups = groups
	return id
}

// asksUser reports whether the pod itself says whom the container runs as.
func asksUser(pod *corev1.Pod, c *corev1.Container) bool {
	return pod.Spec.SecurityContext != nil && pod.Spec.SecurityContext.RunAsUser != nil || c.SecurityContext != nil && c.SecurityContext.RunAsUser != nil
}

func first[T any](list ...*T) *T {
	for _, p := range list {
		if p != nil {
			return p
		}
	}
	return nil
}

// primaryGroup is the group of a user in the container's passwd; 0 for a user that has no entry, as container runtimes have it.
func primaryGroup(passwd string, uid int, img image.Manifest) int {
	if uid == img.UID {
		return img.GID
	}
	for line := range strings.SplitSeq(passwd, "\n") {
		if f := strings.Split(line, ":"); len(f) > 3 && f[2] == strconv.Itoa(uid) {
			if gid, err := strconv.Atoi(f[3]); err == nil {
				return gid
			}
		}
	}
	return 0
}

func capabilitiesOf(c *corev1.Capabilities) []string {
	caps := container.DefaultCapabilities()
	if c == nil {
		return caps
	}
	for _, d := range c.Drop {
		if d == "ALL" {
			caps = nil
		}
		caps = slices.DeleteFunc(caps, func(have string) bool { return have == capName(d) })
	}
	for _, a := range c.Add {
		if name := capName(a); !slices.Contains(caps, name) {
			caps = append(caps, name)
		}
	}
	return caps
}

func capName(c corev1.Capability) string {
	return "CAP_" + strings.TrimPrefix(strings.ToUpper(string(c)), "CAP_")
}

// passwdOf reads the container's /etc/passwd: the image's, else the host's, which an image that stands alone does not see.
func passwdOf(img image.Manifest) string {
	for _, root := range []string{img.Layer, "/"} {
		if root == "" || root == "/" && img.Alone {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(root, "etc/passwd")); err == nil {
			return string(text)
		}
	}
	return ""
}
