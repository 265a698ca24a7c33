package trial

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// grant makes the service account with the roles that kubespark ships, in every column.
func (t *Trial) grant() error {
	for _, file := range []string{"driver-rbac.yaml", "driver-rbac-sets.yaml"} {
		text, err := os.ReadFile(filepath.Join(t.Root, "deploy", file))
		if err != nil {
			return err
		}
		for _, doc := range strings.Split(string(text), "\n---\n") {
			if err := t.apply([]byte(doc)); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

func (t *Trial) apply(doc []byte) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(doc, &kind); err != nil {
		return err
	}
	var err error
	switch kind.Kind {
	case "ServiceAccount":
		var o corev1.ServiceAccount
		if err = yaml.UnmarshalStrict(doc, &o); err == nil {
			_, err = t.Client.CoreV1().ServiceAccounts(t.Namespace).Create(t.Ctx, &o, metav1.CreateOptions{})
		}
	case "Role":
		var o rbacv1.Role
		if err = yaml.UnmarshalStrict(doc, &o); err == nil {
			_, err = t.Client.RbacV1().Roles(t.Namespace).Create(t.Ctx, &o, metav1.CreateOptions{})
		}
	case "RoleBinding":
		var o rbacv1.RoleBinding
		if err = yaml.UnmarshalStrict(doc, &o); err == nil {
			o.Subjects[0].Namespace = t.Namespace
			_, err = t.Client.RbacV1().RoleBindings(t.Namespace).Create(t.Ctx, &o, metav1.CreateOptions{})
		}
	default:
		err = fmt.Errorf("kind %q is not known here", kind.Kind)
	}
	return err
}

// Grant lets drivers do more, for rows whose Spark needs it.
func (t *Trial) Grant(rules ...rbacv1.PolicyRule) error {
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "row"}, Rules: rules}
	if _, err := t.Client.RbacV1().Roles(t.Namespace).Create(t.Ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "row"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: t.Namespace}}}
	_, err := t.Client.RbacV1().RoleBindings(t.Namespace).Create(t.Ctx, binding, metav1.CreateOptions{})
	return err
}
