package feature

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// Places inside the containers and names of things there.
const (
	confDir        = "/opt/spark/conf"
	propertiesFile = "spark.properties"
	hadoopConfDir  = "/opt/hadoop/conf"

	credentialsDir    = "/mnt/secrets/spark-kubernetes-credentials"
	keytabDir         = "/mnt/secrets/kerberos-keytab"
	tokenDir          = "/mnt/secrets/hadoop-credentials"
	executorTemplDir  = "/opt/spark/pod-template"
	executorTemplFile = "pod-spec-template.yml"
)

// roleData is what differs between the roles.
type roleData struct {
	role sparkpod.Role

	// prefixes of key families
	labels, annotations, nodeSelector, env, secrets, secretKeyRefs, volumes string

	image         *conf.Entry[string]
	scheduler     *conf.Entry[string]
	escalation    *conf.Entry[bool]
	userSteps     *conf.Entry[[]string]
	excluded      *conf.Entry[[]string]
	confVolume    string
	reserved      []string // label keys that users may not set
	reservedError string   // with the key's place
}

var driverRole = roleData{
	role:          sparkpod.Driver,
	labels:        "spark.kubernetes.driver.label.",
	annotations:   "spark.kubernetes.driver.annotation.",
	nodeSelector:  "spark.kubernetes.driver.node.selector.",
	env:           "spark.kubernetes.driverEnv.",
	secrets:       "spark.kubernetes.driver.secrets.",
	secretKeyRefs: "spark.kubernetes.driver.secretKeyRef.",
	volumes:       "spark.kubernetes.driver.volumes.",
	image:         conf.DriverContainerImage,
	scheduler:     conf.DriverSchedulerName,
	escalation:    conf.DriverAllowPrivilegeEscalation,
	userSteps:     conf.DriverFeatureSteps,
	excluded:      conf.DriverExcludedFeatureSteps,
	confVolume:    "spark-conf-volume-driver",
	reserved: []string{sparkpod.LabelVersion, sparkpod.LabelAppSelector, sparkpod.LabelAppName,
		sparkpod.LabelRole},
	reservedError: "requirement failed: Label with key %s is not allowed as it is reserved for Spark bookkeeping operations.",
}

var executorRole = roleData{
	role:          sparkpod.Executor,
	labels:        "spark.kubernetes.executor.label.",
	annotations:   "spark.kubernetes.executor.annotation.",
	nodeSelector:  "spark.kubernetes.executor.node.selector.",
	env:           "spark.executorEnv.",
	secrets:       "spark.kubernetes.executor.secrets.",
	secretKeyRefs: "spark.kubernetes.executor.secretKeyRef.",
	volumes:       "spark.kubernetes.executor.volumes.",
	image:         conf.ExecutorContainerImage,
	scheduler:     conf.ExecutorSchedulerName,
	escalation:    conf.ExecutorAllowPrivilegeEscalation,
	userSteps:     conf.ExecutorFeatureSteps,
	excluded:      conf.ExecutorExcludedFeatureSteps,
	confVolume:    "spark-conf-volume-exec",
	reserved: []string{sparkpod.LabelVersion, sparkpod.LabelAppSelector, sparkpod.LabelAppName,
		sparkpod.LabelRole, sparkpod.LabelExecutorID, sparkpod.LabelResourceProfile},
	reservedError: "requirement failed: Custom executor labels cannot contain %s as it is reserved for Spark.",
}

// build is one pod under construction: what the steps read, and what they add to.
type build struct {
	*roleData
	conf       *conf.Conf
	version    conf.Version
	appID      string
	prefix     string
	executorID string // empty for the driver
	user       string
	localDirs  string
	dryRun     bool // executors at submission: only the errors count

	driver   *DriverInput   // nil for executors
	executor *ExecutorInput // nil for the driver

	sp         *sparkpod.SparkPod
	props      map[string]string // added to spark.properties
	volcano    bool              // the user names the step of Volcano
	preObjects []runtime.Object  // applied before the pod
	objects    []runtime.Object
	claims     []*corev1.PersistentVolumeClaim
	// userSteps are classes of the user that the caller of BuildExecutor runs.
	userSteps []string
	warnings  []string
	infos     []string
}

func (b *build) warn(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// properties is the configuration as the driver will read it; what only the submitter needs stays here.
func (b *build) properties() map[string]string {
	all := b.conf.All()
	maps.Copy(all, b.props)
	maps.DeleteFunc(all, func(k, _ string) bool { return strings.HasPrefix(k, "spark.kubernetes.authenticate.submission.") })
	return all
}

// placeholders fills {{APP_ID}} and {{EXECUTOR_ID}}.
func (b *build) placeholders(s string) string {
	if !strings.Contains(s, "{{") {
		return s
	}
	return strings.NewReplacer("{{APP_ID}}", b.appID, "{{EXECUTOR_ID}}", b.executorID).Replace(s)
}

// userLabels returns the labels of the role's family.
func (b *build) userLabels() map[string]string { return b.filled(b.labels) }

// filled returns a family with its placeholders filled.
func (b *build) filled(prefix string) map[string]string {
	f := b.conf.Family(prefix)
	for k, v := range f {
		f[k] = b.placeholders(v)
	}
	return f
}

func (b *build) addEnv(name, value string) {
	b.sp.Container.Env = append(b.sp.Container.Env, corev1.EnvVar{Name: name, Value: value})
	if value == "" {
		b.sp.SetInContainer("", "env", len(b.sp.Container.Env)-1, "value")
	}
}

func (b *build) addFieldEnv(name, path string) {
	b.sp.Container.Env = append(b.sp.Container.Env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}})
}

func (b *build) addVolume(name string, source corev1.VolumeSource) {
	b.sp.Pod.Spec.Volumes = append(b.sp.Pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
}

func (b *build) addMount(name, path string) {
	b.sp.Container.VolumeMounts = append(b.sp.Container.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
}

// put sets entries of a map that may be nil.
func put[V any](m *map[string]V, entries map[string]V) {
	if len(entries) == 0 {
		return
	}
	if *m == nil {
		*m = make(map[string]V, len(entries))
	}
	maps.Copy(*m, entries)
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// rawInt reads an integer as SparkConf.getInt does: no trimming, no ${…}.
func rawInt(c *conf.Conf, e *conf.Entry[int]) (int, error) {
	text, ok := c.Lookup(e.Key())
	if !ok {
		return e.Get(c)
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("Illegal value for config key %s: For input string: %q", e.Key(), text) //nolint:staticcheck // Spark's own text
	}
	return int(n), nil
}

// quantity parses the text of a quantity that came from key.
func quantity(key, text string) (resource.Quantity, error) {
	if text == "" {
		return resource.Quantity{}, fmt.Errorf("%s: Invalid quantity string format passed.", key) //nolint:staticcheck // Spark's own text
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return q, fmt.Errorf("%s: %q is not a quantity such as 500m, 2 or 10Gi", key, text)
	}
	return q, nil
}
