package sets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/internal/sparkpod"
)

// ExecutorID stands for the id of executors that ask for one when they start.
const ExecutorID = "EXECID"

// DeletionCost is the annotation by which a ReplicaSet chooses the pods that it gives back.
const DeletionCost = "controller.kubernetes.io/pod-deletion-cost"

// Template is what a set is made of.
type Template struct {
	Pod       []byte // JSON of the executor pod with the id EXECID
	Claims    []*corev1.PersistentVolumeClaim
	Namespace string
	Owner     *metav1.OwnerReference // the driver pod; nil: none
}

type tree = map[string]any

// Check refuses a template that the kind cannot carry.
func (k Kind) Check(t Template) error {
	if k.ordinals {
		return nil
	}
	pod, err := decode(t.Pod)
	if err != nil {
		return err
	}
	spec, _ := pod["spec"].(tree)
	for _, v := range list(spec, "volumes") {
		if v["persistentVolumeClaim"] != nil {
			return errors.New("PersistentVolumeClaims are not supported with the deployment allocator. Please remove PVC requirements or choose a different pods allocator.") //nolint:staticcheck // Spark's own text
		}
	}
	return nil
}

// Body is the JSON of the set to post.
func (k Kind) Body(t Template, c Change, appID string) ([]byte, error) {
	if err := k.Check(t); err != nil {
		return nil, err
	}
	pod, err := decode(t.Pod)
	if err != nil {
		return nil, err
	}
	meta, _ := pod["metadata"].(tree)
	spec, _ := pod["spec"].(tree)
	if meta == nil || spec == nil {
		return nil, errors.New("the executor pod has no metadata or no spec")
	}
	delete(meta, "namespace")
	selector := tree{sparkpod.LabelAppSelector: appID, sparkpod.LabelRole: string(sparkpod.Executor),
		sparkpod.LabelResourceProfile: strconv.Itoa(c.Profile)}
	set := tree{"replicas": c.Replicas, "selector": tree{"matchLabels": selector}, "template": tree{"metadata": meta, "spec": spec}}
	if k.ordinals {
		set["podManagementPolicy"] = "Parallel"
		claims, err := claimTemplates(spec, t.Claims)
		if err != nil {
			return nil, err
		}
		if len(claims) > 0 {
			set["volumeClaimTemplates"] = claims
		}
	} else {
		annotations, _ := meta["annotations"].(tree)
		if annotations == nil {
			annotations = tree{}
			meta["annotations"] = annotations
		}
		if _, ok := annotations[DeletionCost]; !ok {
			annotations[DeletionCost] = "0"
		}
	}
	head := tree{"name": c.Name, "namespace": t.Namespace}
	if t.Owner != nil {
		head["ownerReferences"] = []any{t.Owner}
	}
	return json.Marshal(tree{"apiVersion": "apps/v1", "kind": k.Object, "metadata": head, "spec": set})
}

// claimTemplates turns the claims to create into templates named like the volumes that they serve, and takes those
// volumes out of the pod: the controller puts them back, each with a claim of its own.
func claimTemplates(spec tree, claims []*corev1.PersistentVolumeClaim) ([]any, error) {
	var out []any
	for _, claim := range claims {
		body, err := sparkpod.RenderObject(claim)
		if err != nil {
			return nil, err
		}
		t, err := decode(body)
		if err != nil {
			return nil, err
		}
		meta, _ := t["metadata"].(tree)
		volumes, _ := spec["volumes"].([]any)
		kept := []any{}
		for _, v := range volumes {
			v, _ := v.(tree)
			source, _ := v["persistentVolumeClaim"].(tree)
			if source == nil || source["claimName"] != claim.Name {
				kept = append(kept, v)
				continue
			}
			meta["name"] = v["name"]
		}
		if len(kept) == len(volumes) {
			return nil, fmt.Errorf("the executor pod has no volume for the claim %s", claim.Name)
		}
		spec["volumes"] = kept
		out = append(out, t)
	}
	return out, nil
}

func list(of tree, name string) []tree {
	items, _ := of[name].([]any)
	var out []tree
	for _, i := range items {
		if t, ok := i.(tree); ok {
			out = append(out, t)
		}
	}
	return out
}

func decode(body []byte) (tree, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var t tree
	if err := dec.Decode(&t); err != nil {
		return nil, fmt.Errorf("the executor pod's JSON cannot be read: %w", err)
	}
	return t, nil
}
