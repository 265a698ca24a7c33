package feature

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// ExecutorInput is all that an executor pod depends on. Nothing of it is changed.
type ExecutorInput struct {
	Conf          *conf.Conf
	AppID         string
	Namespace     string
	ExecutorID    string // positive integer as text, or EXECID
	PodNamePrefix string
	Profile       sparkpod.Profile
	Driver        *metav1.OwnerReference // nil: no driver pod
	ConfigMapName string                 // executor ConfigMap, empty when disabled
	ConfFiles     []string               // keys of it that are mounted
	Template      *sparkpod.Template     // nil: none
	UserName      string                 // SPARK_USER
	AuthSecret    string                 // _SPARK_AUTH_SECRET, empty: none
	LocalDirs     string                 // SPARK_LOCAL_DIRS of the building process, empty: unset
	RunsUserSteps bool                   // the caller has the user's own steps run on what is built
}

// ExecutorSpec is what BuildExecutor makes: the pod as it is posted, and what goes with it.
type ExecutorSpec struct {
	Pod           *corev1.Pod
	Rest          sparkpod.Rest                   // what the typed pod cannot carry
	ContainerName string                          // of the Spark container, whose state decides the executor's
	Claims        []*corev1.PersistentVolumeClaim // to create beside the pod
	Warnings      []string                        // for the log, as Spark words them
	Infos         []string                        // for the log, once
	UserSteps     []string                        // classes of the user that are to run now, in their order
}

// Body returns the JSON to post. Owner and namespace may be set on Pod before.
func (s ExecutorSpec) Body() ([]byte, error) { return sparkpod.Render(s.Pod, s.Rest) }

// BuildExecutor makes the pod of one executor. It has no effects, changes nothing of its input and may be called from
// several goroutines. User steps (spark.kubernetes.executor.pod.featureSteps) give a *UserStepsError, unless the caller runs
// them.
//
// It answers to KubernetesExecutorBuilder.
func BuildExecutor(in ExecutorInput) (ExecutorSpec, error) { return buildExecutor(in, false) }

// buildExecutor is BuildExecutor; with dryRun it passes over user steps.
func buildExecutor(in ExecutorInput, dryRun bool) (ExecutorSpec, error) {
	b := &build{
		roleData:   &executorRole,
		conf:       in.Conf,
		version:    in.Conf.Version(),
		appID:      in.AppID,
		prefix:     in.PodNamePrefix,
		executorID: in.ExecutorID,
		user:       in.UserName,
		localDirs:  in.LocalDirs,
		dryRun:     dryRun,
		executor:   &in,
		sp:         in.Template.New(),
	}
	if err := b.run(executorChain); err != nil {
		return ExecutorSpec{}, err
	}
	if dryRun && in.Template != nil {
		b.infos = replacedValues("executors' pod template", in.Template.New(), b.sp)
	}
	name := b.sp.Container.Name
	pod, rest := b.sp.Assemble()
	return ExecutorSpec{Pod: pod, Rest: rest, ContainerName: name, Claims: b.claims, Warnings: b.warnings, Infos: b.infos,
		UserSteps: b.userSteps}, nil
}
