package feature

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// Files reads the submitter's files. Paths are as the user wrote them.
type Files interface {
	// ReadFile returns the bytes of a regular file.
	ReadFile(path string) ([]byte, error)
	// Abs returns the absolute form of a path, for messages.
	Abs(path string) string
	// Regular returns the names of the regular files in a directory, links followed, sorted.
	Regular(dir string) ([]string, error)
}

// The kinds of main program, values of spark.kubernetes.resource.type.
const (
	Java   = "java"
	Python = "python"
	R      = "r"
)

// DriverInput is all that the driver pod and its companions depend on. Nothing of it is changed.
type DriverInput struct {
	Conf                 *conf.Conf // after all steps of submission
	AppID                string
	Namespace            string
	Prefix               string        // of the objects' names: sparkpod.NamePrefix
	Unique               func() string // a fresh unique text on each call: sparkpod.Unique
	MainClass            string
	Resource             string // main program as the driver gets it; empty: spark-internal
	ResourceType         string // Java, Python or R
	Args                 []string
	ProxyUser            string
	Template             *sparkpod.Template // nil: none
	ExecutorTemplateText string             // of the file of spark.kubernetes.executor.podTemplateFile
	UserName             string             // SPARK_USER
	Env                  func(string) (string, bool)
	Files                Files
	ConfFiles            map[string]string // files of the conf directory to ship, by name
	Uploaded             map[string]string // spark.jars and the like after the upload; empty: nothing was uploaded
}

// DriverSpec is what BuildDriver makes. Objects have neither owner nor (where Spark leaves it out) namespace yet.
type DriverSpec struct {
	Pod           *corev1.Pod
	Rest          sparkpod.Rest // what the typed pod cannot carry
	ContainerName string        // of the Spark container
	PreObjects    []runtime.Object
	Objects       []runtime.Object  // in creation order, the driver's ConfigMap last
	Properties    map[string]string // of spark.properties
	Warnings      []string          // for the log, as Spark words them
	Infos         []string
}

// Body returns the JSON of the pod to post. Owner and namespace may be set on Pod before.
func (s DriverSpec) Body() ([]byte, error) { return sparkpod.Render(s.Pod, s.Rest) }

// BuildDriver makes the driver pod and the objects beside it, after the checks that need no cluster. Its only effects are
// the reads through in.Files.
//
// It answers to KubernetesDriverBuilder and to Client's conf volume.
func BuildDriver(in DriverInput) (DriverSpec, error) {
	if in.Env == nil {
		in.Env = func(string) (string, bool) { return "", false }
	}
	localDirs, _ := in.Env("SPARK_LOCAL_DIRS")
	b := &build{
		roleData:  &driverRole,
		conf:      in.Conf,
		version:   in.Conf.Version(),
		appID:     in.AppID,
		prefix:    in.Prefix,
		user:      in.UserName,
		localDirs: localDirs,
		driver:    &in,
		sp:        in.Template.New(),
		props:     map[string]string{},
	}
	if _, err := parseVolumes(in.Conf, executorRole.volumes); err != nil {
		return DriverSpec{}, err
	}
	if err := b.run(driverChain); err != nil {
		return DriverSpec{}, err
	}
	if err := b.checkHostNetwork(sparkpod.Driver, b.sp.Pod, b.conf); err != nil {
		return DriverSpec{}, err
	}
	if err := checkExecutor(b); err != nil {
		return DriverSpec{}, err
	}
	if err := confVolume(b); err != nil {
		return DriverSpec{}, err
	}
	if in.Template != nil {
		b.infos = append(b.infos, replacedValues("pod template", in.Template.New(), b.sp)...)
	}
	name := b.sp.Container.Name
	pod, rest := b.sp.Assemble()
	return DriverSpec{
		Pod: pod, Rest: rest, ContainerName: name, PreObjects: b.preObjects, Objects: b.objects,
		Properties: b.properties(), Warnings: b.warnings, Infos: b.infos,
	}, nil
}
