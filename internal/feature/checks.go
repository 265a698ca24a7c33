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

// checkLabels refuses the user's labels that Spark has reserved or Kubernetes would refuse, all in one message.
func checkLabels(b *build) error {
	labels := b.userLabels()
	syntax := !conf.IsStock(b.conf, "submit-checks")
	var faults []string
	for _, k := range sorted(labels) {
		if slices.Contains(b.reserved, k) {
			return fmt.Errorf(b.reservedError, k)
		}
		if !syntax {
			continue
		}
		if errs := validation.IsQualifiedName(k); len(errs) > 0 {
			faults = append(faults, fmt.Sprintf("%s%s: not a label name: %s", b.labels, k, errs[0]))
		}
		if errs := validation.IsValidLabelValue(labels[k]); len(errs) > 0 {
			faults = append(faults, fmt.Sprintf("%s%s: not a label value: %s", b.labels, k, errs[0]))
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
	return err
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
