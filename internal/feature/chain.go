// Package feature builds driver and executor pods and their companions: a list of steps, each of which adds one thing to
// the pod. The steps are the same for both roles; what differs is data (roleData). Building is pure: submit and the
// executor allocator call BuildDriver and BuildExecutor and post the result.
//
// It answers to org.apache.spark.deploy.k8s.features, KubernetesDriverBuilder and KubernetesExecutorBuilder.
package feature

import (
	"fmt"
	"slices"
	"strings"
)

const classPrefix = "org.apache.spark.deploy.k8s.features."

// step is one thing that is added to a pod. class is the name by which users exclude it; check holds what Spark verifies
// when it constructs the step, which an exclusion does not prevent.
type step struct {
	class string
	check func(*build) error
	apply func(*build) error
}

// The order of the steps. There is no other list.
var (
	driverChain = []step{
		{"BasicDriverFeatureStep", checkImage, basic},
		{"DriverKubernetesCredentialsFeatureStep", checkCredentials, credentials},
		{"DriverServiceFeatureStep", checkService, service},
		{"NetworkPolicyFeatureStep", nil, networkPolicy},
		{"MountSecretsFeatureStep", nil, secretMounts},
		{"EnvSecretsFeatureStep", nil, secretEnv},
		{"MountVolumesFeatureStep", nil, volumes},
		{"DriverCommandFeatureStep", nil, command},
		{"HadoopConfDriverFeatureStep", checkHadoop, hadoopConf},
		{"KerberosConfDriverFeatureStep", checkKerberos, kerberos},
		{"PodTemplateConfigMapStep", nil, executorTemplate},
		{"LocalDirsFeatureStep", nil, localDirs},
		{"", nil, shimImage}, // ours: no exclusion names it
	}
	executorChain = []step{
		{"BasicExecutorFeatureStep", checkImage, basic},
		{"ExecutorKubernetesCredentialsFeatureStep", nil, serviceAccount},
		{"MountSecretsFeatureStep", nil, secretMounts},
		{"EnvSecretsFeatureStep", nil, secretEnv},
		{"MountVolumesFeatureStep", nil, volumes},
		{"HadoopConfExecutorFeatureStep", nil, hadoopConf},
		{"LocalDirsFeatureStep", nil, localDirs},
	}
)

// UserStepsError says that user steps are to be run by a JVM.
type UserStepsError struct {
	Key     string
	Classes []string // in the order to run
}

func (e *UserStepsError) Error() string {
	return fmt.Sprintf("%s: class %s needs a JVM to build the pod; remove it or use the stock manager (spark.kubespark.enabled=false)",
		e.Key, strings.Join(e.Classes, ", "))
}

// run makes the checks of all steps, then applies those that are not excluded.
func (b *build) run(chain []step) error {
	excluded, err := b.excludedClasses()
	if err != nil {
		return err
	}
	if err := b.checkUserSteps(chain, excluded); err != nil {
		return err
	}
	for _, s := range chain {
		if s.check != nil {
			if err := s.check(b); err != nil {
				return err
			}
		}
	}
	for _, s := range chain {
		if slices.Contains(excluded, classPrefix+s.class) {
			continue
		}
		if err := s.apply(b); err != nil {
			return err
		}
	}
	if b.volcano {
		return volcano(b)
	}
	return nil
}

func (b *build) excludedClasses() ([]string, error) {
	if !b.version.AtLeast(4, 1) {
		return nil, nil
	}
	return b.excluded.Get(b.conf)
}

// checkUserSteps refuses steps of the user's own, which are JVM classes (Volcano's is known here), and warns of exclusions that exclude nothing.
func (b *build) checkUserSteps(chain []step, excluded []string) error {
	users, err := b.roleData.userSteps.Get(b.conf)
	if err != nil {
		return err
	}
	for _, class := range excluded {
		known := slices.ContainsFunc(chain, func(s step) bool { return classPrefix+s.class == class })
		if !known && !slices.Contains(users, class) {
			b.warn("%s: there is no step %s; the entry is ignored", b.excluded.Key(), class)
		}
	}
	users = slices.DeleteFunc(slices.Clone(users), func(c string) bool {
		b.volcano = b.volcano || c == volcanoClass && !slices.Contains(excluded, c)
		return c == volcanoClass || slices.Contains(excluded, c)
	})
	if len(users) == 0 || b.dryRun {
		return nil
	}
	if b.driver != nil {
		return fmt.Errorf("%s: class %s needs a JVM at submission; use spark.kubespark.submit.fallback=spark-submit or remove it",
			b.roleData.userSteps.Key(), users[0])
	}
	if b.executor.RunsUserSteps {
		b.userSteps = users
		return nil
	}
	return &UserStepsError{Key: b.roleData.userSteps.Key(), Classes: users}
}
