package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/executor/api"
	"github.com/kubespark/kubespark/internal/executor/snapshot"
	"github.com/kubespark/kubespark/internal/feature"
	"github.com/kubespark/kubespark/internal/kube"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

// Session is what the driver says when it opens the manager: who the application is and where its cluster.
type Session struct {
	SparkVersion  string
	AppID         string
	Namespace     string
	ClientMode    bool
	APIServer     string
	AuthPrefix    string
	CAFile        string
	DriverPodName string // empty: none
	PodNamePrefix string
	ConfigMapName string
	UserName      string
	AuthSecret    string
	ConfDir       string
	Template      string
	Conf          map[string]string
	Resume        *Resume
}

// Resume is what only the driver's JVM knows after a restart of the manager.
type Resume struct {
	Totals    map[int]int
	Profiles  []sparkpod.Profile
	NextID    int64
	Executors map[int64]time.Time
	Reported  []int64
	Denied    []int64
	Failures  []time.Time
	// PodsCreated: an executor pod of the application existed once, so refusals no longer end it.
	PodsCreated bool
}

// FallbackError says that this manager cannot run the application and that nothing was written: the stock manager may.
type FallbackError struct{ Text string }

func (e *FallbackError) Error() string { return e.Text }

// Open takes the session and checks everything that can be checked without a write: settings, credentials, the template, the
// driver pod. The answer is the UID of the driver pod, empty when there is none. An error ends the session.
func (m *Manager) Open(s Session, reply func(driverUID string, err error)) {
	m.post(func() {
		if m.phase != fresh {
			reply("", errors.New("the session is open already"))
			return
		}
		if err := m.prepare(s); err != nil {
			reply("", err)
			return
		}
		m.phase = opened
		if r := s.Resume; r != nil {
			for id, at := range r.Executors {
				m.known[id] = at
				m.registered.Add(id)
			}
		}
		m.log("INFO", managerLogger, fmt.Sprintf("kubespark-manager %s (pid %d) manages the executors of application %s in "+
			"namespace %s of %s.", m.env.Version, m.env.PID, s.AppID, s.Namespace, s.APIServer))
		ctx := m.ctx
		go func() {
			owner, err := m.findDriver(ctx)
			m.post(func() {
				m.owner = owner
				uid := ""
				if owner != nil {
					uid = string(owner.UID)
				}
				reply(uid, err)
			})
		}()
	})
}

func (m *Manager) prepare(s Session) error {
	version, err := conf.ParseVersion(s.SparkVersion)
	if err != nil {
		return err
	}
	m.session = s
	if err := m.configure(s.Conf, version); err != nil {
		return err
	}
	if err := m.chooseAllocator(); err != nil {
		return err
	}
	if m.template, err = m.loadTemplate(); err != nil {
		return err
	}
	connect := m.env.Connect
	if connect == nil {
		connect = kube.Config
	}
	cfg, err := connect(m.options())
	if err != nil {
		return err
	}
	return m.connect(cfg)
}

func (m *Manager) configure(props map[string]string, version conf.Version) error {
	c := conf.New(props, conf.WithVersion(version), conf.WithEnv(m.env.Getenv))
	set, err := readSettings(c)
	if err != nil {
		return err
	}
	if prefix := m.session.PodNamePrefix; prefix != "" {
		if _, err := conf.ExecutorPodNamePrefix.Get(c.With(map[string]string{conf.ExecutorPodNamePrefix.Key(): prefix})); err != nil {
			return err
		}
	}
	m.conf, m.set = c, set
	return nil
}

func (m *Manager) options() kube.Options {
	return kube.Options{Conf: m.conf, Prefix: m.session.AuthPrefix, APIServer: m.session.APIServer, CAFile: m.session.CAFile,
		ConnectTimeout: m.set.connectTimeout, RequestTimeout: m.set.requestTimeout, UserAgent: kube.UserAgent("manager"),
		Env: m.env.Getenv}
}

func (m *Manager) connect(cfg *rest.Config) error {
	client, err := kube.NewClient(cfg)
	if err != nil {
		return err
	}
	m.anonymous = kube.Anonymous(cfg)
	m.api = api.New(client, m.session.Namespace, m.session.AppID)
	return nil
}

// loadTemplate reads the template once for all executors (M6).
func (m *Manager) loadTemplate() (*sparkpod.Template, error) {
	if m.session.Template == "" {
		return nil, nil
	}
	t, warnings, err := sparkpod.LoadTemplate([]byte(m.session.Template), m.set.templateContainer)
	for _, w := range warnings {
		m.log("WARN", managerLogger, w)
	}
	return t, err
}

// findDriver reads the driver pod for the owner references of what the manager creates (8.1).
func (m *Manager) findDriver(ctx context.Context) (*metav1.OwnerReference, error) {
	name := m.session.DriverPodName
	if name == "" {
		m.log("WARN", managerLogger, "No driver pod is named (spark.kubernetes.driver.pod.name): executor pods will have no owner "+
			"and stay if the driver is killed.")
		return nil, nil
	}
	var pod *snapshot.Wire
	patient := kube.Backoff{First: 200 * time.Millisecond, Factor: 2, Max: 5 * time.Second, Tries: 12}
	err := kube.Retry(ctx, patient, func(ctx context.Context) (err error) {
		pod, err = m.api.GetPod(ctx, name)
		return err
	})
	if m.anonymous && kube.IsLoginRefused(err) {
		return nil, fmt.Errorf("no Kubernetes credentials: the token file %s is missing, and no setting %s.* names another; let the driver pod have its "+
			"service account's token (automountServiceAccountToken) or set one: %w", kube.TokenFile, m.session.AuthPrefix, err)
	}
	switch kube.Kind(err) {
	case kube.None:
	case kube.NotFound:
		return nil, fmt.Errorf("No pod was found named %s in the cluster in the namespace %s (this was supposed to be the driver pod.).", //nolint:staticcheck // Spark's own text
			name, m.session.Namespace)
	case kube.Forbidden:
		return nil, fmt.Errorf("the driver's service account may not get pods in namespace %s: allow it the verbs get, list, "+
			"watch, create, delete, deletecollection and patch on pods: %w", m.session.Namespace, err)
	default:
		return nil, fmt.Errorf("the driver pod %s cannot be read: %w", name, err)
	}
	if m.session.ClientMode && m.env.Hostname != sparkpod.Hostname(name) {
		m.log("WARN", managerLogger, "spark.kubernetes.driver.pod.name names the pod "+name+", but this driver does not run in it: "+
			"executors will be deleted with that pod.")
	}
	m.post(func() { m.driverClaims = pod.Claims() })
	return &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: name, UID: types.UID(pod.Metadata.UID), Controller: new(true)}, nil
}

// input is what an executor pod is built from.
func (m *Manager) input(id string, profile sparkpod.Profile) feature.ExecutorInput {
	in := feature.ExecutorInput{Conf: m.conf, AppID: m.session.AppID, Namespace: m.session.Namespace, ExecutorID: id,
		PodNamePrefix: m.session.PodNamePrefix, Profile: profile, Driver: m.owner, Template: m.template,
		RunsUserSteps: true, UserName: m.session.UserName, AuthSecret: m.session.AuthSecret, ConfFiles: m.conffile}
	if m.set.configMap {
		in.ConfigMapName = m.session.ConfigMapName
	}
	in.LocalDirs, _ = m.env.Getenv("SPARK_LOCAL_DIRS")
	return in
}
