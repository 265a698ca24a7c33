package feature

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// checkLabels refuses the user's labels that Spark has reserved.
func checkLabels(b *build) error {
	for _, k := range sorted(b.userLabels()) {
		if slices.Contains(b.reserved, k) {
			return fmt.Errorf(b.reservedError, k)
		}
	}
	return nil
}

// checkTexts refuses the user's labels, node selectors and annotations that Kubernetes would refuse, all in one message:
// those of both roles at submission.
func checkTexts(b *build) error {
	if conf.IsStock(b.conf, "submit-checks") || b.dryRun {
		return nil
	}
	roles := []*roleData{b.roleData}
	labels := []string{"spark.kubernetes.node.selector."}
	annotations := []string{}
	if b.driver != nil {
		roles = append(roles, &executorRole)
		labels = append(labels, "spark.kubernetes.driver.service.label.")
		annotations = append(annotations, "spark.kubernetes.driver.service.annotation.")
	}
	for _, r := range roles {
		labels = append(labels, r.labels, r.nodeSelector)
		annotations = append(annotations, r.annotations)
	}
	var faults []string
	fault := func(what, family, key string, errs []string) {
		if len(errs) > 0 {
			faults = append(faults, fmt.Sprintf("%s%s: not %s: %s", family, key, what, errs[0]))
		}
	}
	// Any id does: only its syntax counts.
	fill := strings.NewReplacer("{{APP_ID}}", b.appID, "{{EXECUTOR_ID}}", "1")
	for _, f := range labels {
		values := b.conf.Family(f)
		for _, k := range sorted(values) {
			fault("a label name", f, k, validation.IsQualifiedName(k))
			fault("a label value", f, k, validation.IsValidLabelValue(fill.Replace(values[k])))
		}
	}
	for _, f := range annotations {
		for _, k := range sorted(b.conf.Family(f)) {
			fault("an annotation name", f, k, validation.IsQualifiedName(strings.ToLower(k)))
		}
	}
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "; "))
	}
	return nil
}

// checkExecutor builds an executor pod for its errors, which stock Spark finds only in the running driver.
func checkExecutor(driver *build) error {
	in := driver.driver
	if conf.IsStock(in.Conf, "submit-checks") {
		return nil
	}
	c := in.Conf.With(driver.props)
	prefix, ok, err := conf.ExecutorPodNamePrefix.Lookup(c)
	if err != nil {
		return err
	}
	if !ok {
		prefix = in.Prefix
	}
	profile, err := DefaultProfile(c)
	if err != nil {
		return err
	}
	var template *sparkpod.Template
	if conf.ExecutorTemplateFile.IsSet(in.Conf) {
		name, err := conf.ExecutorTemplateContainer.Get(c)
		if err != nil {
			return err
		}
		if template, _, err = sparkpod.LoadTemplate([]byte(in.ExecutorTemplateText), name); err != nil {
			return fmt.Errorf("%s: %w", conf.ExecutorTemplateFile.Key(), err)
		}
	}
	spec, err := buildExecutor(ExecutorInput{
		Conf: c, AppID: in.AppID, Namespace: in.Namespace, ExecutorID: "1", PodNamePrefix: prefix, Profile: profile,
		ConfigMapName: "checked", Template: template, UserName: in.UserName,
	}, true)
	driver.infos = append(driver.infos, spec.Infos...)
	if err != nil {
		return err
	}
	return driver.checkHostNetwork(sparkpod.Executor, spec.Pod, c)
}

// DefaultProfile is the profile that the application's own settings make, as the driver will send it over the bridge.
func DefaultProfile(c *conf.Conf) (sparkpod.Profile, error) {
	devices, err := Devices(c, "spark.executor.resource.")
	if err != nil {
		return sparkpod.Profile{}, err
	}
	cores, err := conf.ExecutorCores.Get(c)
	if err != nil {
		return sparkpod.Profile{}, err
	}
	memory, err := conf.ExecutorMemory.Get(c)
	if err != nil {
		return sparkpod.Profile{}, err
	}
	cpus, err := conf.TaskCPUs.Get(c)
	devices[sparkpod.ResourceCores] = sparkpod.ExecResource{Amount: int64(cores)}
	devices[sparkpod.ResourceMemory] = sparkpod.ExecResource{Amount: memory}
	return sparkpod.Profile{
		ID: sparkpod.DefaultProfileID, ExecutorResources: devices,
		TaskResources: map[string]sparkpod.TaskResource{"cpus": {Amount: cpus}},
	}, err
}
