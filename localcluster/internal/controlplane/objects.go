package controlplane

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/localcluster/internal/provisioner"
)

// nodeRole names the role that the node has beside what the Node authorizer grants it.
const nodeRole = "kubespark:node"

// nodeRules grants the node what a kubelet does not need: it resolves service names, so it watches the pods of the
// whole cluster, and it makes the volumes of claims. What its own pods mount the Node authorizer grants as well, but only a moment after they were bound.
func nodeRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Verbs: []string{"get", "list", "watch"}, Resources: []string{"pods", "services"}},
		{APIGroups: []string{""}, Verbs: []string{"get"}, Resources: []string{
			"configmaps", "secrets", "persistentvolumes", "persistentvolumeclaims"}},
		{APIGroups: []string{""}, Verbs: []string{"create"}, Resources: []string{"serviceaccounts/token"}},
		{APIGroups: []string{""}, Verbs: []string{"list", "watch"}, Resources: []string{"persistentvolumeclaims"}},
		{APIGroups: []string{""}, Verbs: []string{"list", "watch", "create", "delete"}, Resources: []string{"persistentvolumes"}},
		{APIGroups: []string{"storage.k8s.io"}, Verbs: []string{"list", "watch"}, Resources: []string{"storageclasses"}},
	}
}

// CreateObjects makes the API objects that the cluster itself needs before its node starts. One that exists is left.
func (p *Prober) CreateObjects(ctx context.Context) error {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: nodeRole}, Rules: nodeRules()}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: nodeRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: nodeRole},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:node:" + p.spec.NodeName}},
	}
	_, err := p.api.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	if err == nil || apierrors.IsAlreadyExists(err) {
		_, err = p.api.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the node's role: %w", err)
	}
	for _, class := range provisioner.Classes() {
		_, err := p.api.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create storage class %s: %w", class.Name, err)
		}
	}
	return nil
}
