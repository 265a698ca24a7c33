package feature

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kubespark/kubespark/conf"
)

// volcanoClass is the one step of users that we know ourselves.
const volcanoClass = classPrefix + "VolcanoFeatureStep"

// volcano has Volcano schedule the pods of the application as one group. The group is applied before the driver pod. It
// answers to VolcanoFeatureStep.
func volcano(b *build) error {
	name := b.appID + "-podgroup"
	put(&b.sp.Pod.Annotations, map[string]string{"scheduling.k8s.io/group-name": name})
	if b.driver == nil {
		return nil
	}
	group, err := podGroupTemplate(b)
	if err != nil {
		return err
	}
	group.SetAPIVersion("scheduling.volcano.sh/v1beta1")
	group.SetKind("PodGroup")
	group.SetName(name)
	group.SetNamespace(b.driver.Namespace)
	if _, ok := group.Object["spec"]; !ok {
		group.Object["spec"] = map[string]any{}
	}
	b.preObjects = append(b.preObjects, group)
	return nil
}

// podGroupTemplate reads the user's group: the file goes before the text.
func podGroupTemplate(b *build) (*unstructured.Unstructured, error) {
	text, ok, err := conf.PodGroupTemplateJSON.Lookup(b.conf)
	if err != nil {
		return nil, err
	}
	key, decode := conf.PodGroupTemplateJSON.Key(), json.Unmarshal
	file, named, err := conf.PodGroupTemplateFile.Lookup(b.conf)
	if err != nil {
		return nil, err
	}
	if named {
		key = conf.PodGroupTemplateFile.Key()
		content, err := b.readFile(key, file)
		if err != nil {
			return nil, err
		}
		text, ok = string(content), true
		decode = func(text []byte, to any) error { return yaml.Unmarshal(text, to) }
	}
	tree := map[string]any{}
	if ok {
		if err := decode([]byte(text), &tree); err != nil {
			return nil, fmt.Errorf("%s: it is no PodGroup: %w", key, err)
		}
	}
	if kind, ok := tree["kind"]; ok && kind != "PodGroup" {
		return nil, fmt.Errorf("%s: its kind is %v, not PodGroup", key, kind)
	}
	delete(tree, "status")
	return &unstructured.Unstructured{Object: tree}, nil
}
