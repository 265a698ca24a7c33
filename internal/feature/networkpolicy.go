package feature

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/internal/sparkpod"
)

// networkPolicy lets only pods of the application reach its executors (4.2). It answers to NetworkPolicyFeatureStep.
func networkPolicy(b *build) error {
	if !b.version.AtLeast(4, 2) {
		return nil
	}
	app := map[string]string{sparkpod.LabelAppSelector: b.appID}
	b.objects = append(b.objects, &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: metav1.ObjectMeta{
			Name: b.prefix + "-policy", Namespace: b.driver.Namespace,
			Labels: map[string]string{sparkpod.LabelAppSelector: b.appID},
		},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{
				sparkpod.LabelAppSelector: b.appID, sparkpod.LabelRole: string(sparkpod.Executor)}},
			Ingress: []networkingv1.NetworkPolicyIngressRule{{
				From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: app}}}}},
		},
	})
	return nil
}
