package feature

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubespark/kubespark/conf"
)

func TestVolcanoP144(t *testing.T) {
	const file, text = "spark.kubernetes.scheduler.volcano.podGroupTemplateFile", "spark.kubernetes.scheduler.volcano.podGroupTemplateJson"
	for name, tc := range map[string]struct {
		conf kv
		file string
		spec string
		err  string
	}{
		"nothing":            {spec: `{}`},
		"JSON":               {conf: kv{text: `{"spec":{"queue":"q"}}`}, spec: `{"queue":"q"}`},
		"file over JSON":     {conf: kv{text: `{"spec":{"queue":"q"}}`, file: "/g.yaml"}, file: "spec: {minMember: 3}\n", spec: `{"minMember":3}`},
		"another kind":       {conf: kv{text: `{"kind":"Pod"}`}, err: "its kind is Pod, not PodGroup"},
		"broken":             {conf: kv{text: `{`}, err: "it is no PodGroup"},
		"file that is gone":  {conf: kv{file: "/none"}, err: "/none cannot be read"},
		"excluded step":      {conf: kv{conf.DriverExcludedFeatureSteps.Key(): volcanoClass}},
		"beside a user's":    {conf: kv{conf.DriverFeatureSteps.Key(): volcanoClass + ",org.example.Step"}, err: "class org.example.Step needs a JVM"},
		"executors' is told": {conf: kv{conf.ExecutorFeatureSteps.Key(): volcanoClass}, spec: `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			props := kv{"spark.app.name": "a", "spark.kubernetes.container.image": "i", conf.DriverFeatureSteps.Key(): volcanoClass}
			for k, v := range tc.conf {
				props[k] = v
			}
			spec, err := BuildDriver(DriverInput{Conf: conf.New(props), AppID: "spark-1", Namespace: "ns", Prefix: "a-u",
				Unique: counter("u"), MainClass: "M", ResourceType: Java, Files: memFiles{"/g.yaml": tc.file}})
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("error %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tc.spec == "" {
				if len(spec.PreObjects) != 0 || len(spec.Pod.Annotations) != 0 {
					t.Fatalf("%d groups, annotations %v", len(spec.PreObjects), spec.Pod.Annotations)
				}
				return
			}
			group := spec.PreObjects[0].(*unstructured.Unstructured)
			got, err := json.Marshal(group.Object["spec"])
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.spec || group.GetName() != "spark-1-podgroup" || group.GetNamespace() != "ns" ||
				spec.Pod.Annotations["scheduling.k8s.io/group-name"] != "spark-1-podgroup" {
				t.Errorf("group %v, annotations %v", group.Object, spec.Pod.Annotations)
			}
		})
	}
}
