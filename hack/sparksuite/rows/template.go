package rows

import (
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/hack/sparksuite/trial"
)

const templateSuite = "PodTemplateSuite"

// criticalPriority is that of system-node-critical.
const criticalPriority = 2000001000

func template() []trial.Row {
	start := fromTemplate(23, "Start pod creation from template", "")
	schedule := fromTemplate(24, "SPARK-38398: Schedule pod creation from template", "  priorityClassName: system-node-critical\n")
	schedule.Driver = append(schedule.Driver, func(_ *trial.Trial, p *corev1.Pod) error {
		if p.Spec.Priority == nil || *p.Spec.Priority != criticalPriority {
			return fmt.Errorf("its priority is not %d", criticalPriority)
		}
		return nil
	})
	return []trial.Row{start, schedule}
}

// fromTemplate is a row whose pods begin with templates; the image in them gives way, the containers' names stay.
func fromTemplate(number int, name, driverSpec string) trial.Row {
	const text = `apiVersion: v1
kind: Pod
metadata:
  labels:
    template-label-key: %[1]s-template-label-value
spec:
%[2]s  containers:
    - name: test-%[1]s-container
      image: will-be-overwritten
`
	r := pi(number, templateSuite, name)
	of := func(role string) []trial.PodCheck {
		return []trial.PodCheck{inContainer("test-" + role + "-container"), hasLabel("template-label-key", role+"-template-label-value")}
	}
	r.Driver = append(of("driver"), func(t *trial.Trial, p *corev1.Pod) error { return equal("name", p.Name, t.DriverName) })
	r.Executor = of("executor")
	r.Prepare = func(t *trial.Trial) error {
		for role, spec := range map[string]string{"driver": driverSpec, "executor": ""} {
			file := filepath.Join(t.Dir, role+"-template.yml")
			if err := os.WriteFile(file, fmt.Appendf(nil, text, role, spec), 0o644); err != nil {
				return err
			}
			t.Conf["spark.kubernetes."+role+".podTemplateFile"] = file
		}
		return nil
	}
	return r
}
