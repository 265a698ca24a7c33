package controlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/localcluster/internal/pki"
	"github.com/kubespark/kubespark/localcluster/internal/provisioner"
)

// nodeRole names the role that the node has beside what the Node authorizer grants it.
const nodeRole = "kubespark:node"

// nodeRules grants the node what a kubelet does not need: it resolves service names, so it watches the pods of the
// whole cluster, it ends what it has of a namespace that ends, and it makes the volumes of claims. What its own pods mount the Node authorizer grants as well, but only a moment after they were bound.
func nodeRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Verbs: []string{"get", "list", "watch"}, Resources: []string{"namespaces", "pods", "services"}},
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
	var nodes []rbacv1.Subject
	for _, name := range p.spec.NodeNames() {
		nodes = append(nodes, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:node:" + name})
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: nodeRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: nodeRole},
		Subjects:   nodes,
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
	return p.createMetrics(ctx)
}

// metricsService is the Service that the metrics API is registered with, and the name that a node's certificate has for it.
const metricsService = "metrics-server"

// createMetrics registers metrics.k8s.io, which the first node serves beside its kubelet API, and lets everybody read metrics who may view
// pods, as metrics-server's own manifests do.
func (p *Prober) createMetrics(ctx context.Context) error {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: metricsService, Namespace: metav1.NamespaceSystem},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: p.spec.Kubelet(0).Addr().String()},
	}
	aggregated := map[string]string{}
	for _, to := range []string{"view", "edit", "admin"} {
		aggregated["rbac.authorization.k8s.io/aggregate-to-"+to] = "true"
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "system:aggregated-metrics-reader", Labels: aggregated},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"metrics.k8s.io"}, Resources: []string{"pods", "nodes"}, Verbs: []string{"get", "list", "watch"}}},
	}
	_, err1 := p.api.CoreV1().Services(metav1.NamespaceSystem).Create(ctx, service, metav1.CreateOptions{})
	_, err2 := p.api.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	ca, err3 := os.ReadFile(p.dir.Key(pki.CA))
	if err3 == nil && p.aggregate != nil {
		err3 = p.aggregate(ctx, apiService(ca, int(p.spec.Kubelet(0).Port())))
	}
	for _, err := range []error{err1, err2, err3} {
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("register the metrics API: %w", err)
		}
	}
	return nil
}

func apiService(ca []byte, port int) []byte {
	body, err := json.Marshal(map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1beta1.metrics.k8s.io"},
		"spec": map[string]any{
			"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100, "caBundle": ca,
			"service": map[string]any{"namespace": metav1.NamespaceSystem, "name": metricsService, "port": port},
		},
	})
	if err != nil {
		panic(err) // maps of plain values always marshal
	}
	return body
}
