package kube

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc" // kubeconfig users of auth-provider oidc
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/version"
)

// serviceAccountDir is where a pod finds its own credentials.
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// Options say where the API server is and which credentials to use.
type Options struct {
	Conf      *conf.Conf
	Prefix    string // of the credential keys, such as spark.kubernetes.authenticate.submission
	APIServer string // URL; always replaces the server of the kubeconfig. Empty: the kubeconfig's
	CAFile    string // CA when neither the prefix's caCertFile nor the kubeconfig names one
	Context   string // kubeconfig context; empty: spark.kubernetes.context, else the current one

	ConnectTimeout time.Duration // to connect; 0: none
	RequestTimeout time.Duration // of a request that is no watch; 0: none
	UserAgent      string        // empty: UserAgent("submit")

	// Env is the environment (KUBECONFIG, HOME, KUBERNETES_…); nil: empty.
	Env func(string) (string, bool)
}

// UserAgent is what a part of kubespark (submit, manager) calls itself.
func UserAgent(part string) string {
	return fmt.Sprintf("kubespark-%s/%s (%s/%s)", part, version.Version, runtime.GOOS, runtime.GOARCH)
}

// Config makes the client configuration: the kubeconfig, or without one the pod's service account; then the variables of
// Spark's Kubernetes client library; then the keys below Prefix, which win. Files are read, nothing is sent.
func Config(o Options) (*rest.Config, error) {
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	if err := tokenTwice(o); err != nil {
		return nil, err
	}
	cfg, err := baseConfig(o)
	if err != nil {
		return nil, err
	}
	if o.APIServer != "" {
		if err := checkServer(o.APIServer); err != nil {
			return nil, err
		}
		cfg.Host = o.APIServer
	}
	if cfg.Host == "" {
		return nil, errors.New("no Kubernetes API server is known: give --master k8s://…")
	}
	if p := cfg.AuthProvider; p != nil && p.Name != "oidc" {
		return nil, fmt.Errorf("the kubeconfig user has auth-provider %q, which is no longer supported: use an exec plug-in", p.Name)
	}
	if err := override(cfg, o); err != nil {
		return nil, err
	}
	finish(cfg, o)
	return cfg, nil
}

func tokenTwice(o Options) error {
	_, file := o.Conf.Lookup(o.Prefix + ".oauthTokenFile")
	_, value := o.Conf.Lookup(o.Prefix + ".oauthToken")
	if file && value {
		return fmt.Errorf("requirement failed: Cannot specify OAuth token through both a file %[1]s.oauthTokenFile and a value %[1]s.oauthToken.", o.Prefix) //nolint:staticcheck // Spark's own text
	}
	return nil
}

func checkServer(server string) error {
	u, err := url.Parse(server)
	if err != nil {
		return fmt.Errorf("the Kubernetes master %q is no URL: %w", server, err)
	}
	if u.Hostname() == "" {
		return errors.New("Kubernetes master URL has no host") //nolint:staticcheck // begins with a name
	}
	return nil
}

// loader is the kubeconfig of the environment, or nil when there is no such file.
func loader(o Options) (clientcmd.ClientConfig, error) {
	rules := &clientcmd.ClientConfigLoadingRules{WarnIfAllMissing: false}
	if list, ok := o.Env("KUBECONFIG"); ok && list != "" {
		rules.Precedence = filepath.SplitList(list)
	} else if home, ok := o.Env("HOME"); ok && home != "" {
		rules.Precedence = []string{filepath.Join(home, ".kube", "config")}
	}
	found := false
	for _, f := range rules.Precedence {
		_, err := os.Stat(f)
		found = found || err == nil
	}
	if !found {
		return nil, nil
	}
	name, err := contextName(o)
	if err != nil {
		return nil, err
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: name}), nil
}

func contextName(o Options) (string, error) {
	if o.Context != "" {
		return o.Context, nil
	}
	return conf.KubernetesContext.Get(o.Conf)
}

func baseConfig(o Options) (*rest.Config, error) {
	kubeconfig, err := loader(o)
	if err != nil {
		return nil, err
	}
	if kubeconfig != nil {
		cfg, err := kubeconfig.ClientConfig()
		if clientcmd.IsEmptyConfig(err) {
			return &rest.Config{}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the kubeconfig cannot be used: %w", err)
		}
		return cfg, nil
	}
	return inCluster(o), nil
}

// inCluster takes what the pod's service account offers; each part may be missing.
func inCluster(o Options) *rest.Config {
	cfg := &rest.Config{}
	if file := TokenFile; exists(file) {
		cfg.BearerTokenFile = file
	}
	if file := filepath.Join(serviceAccountDir, "ca.crt"); exists(file) {
		cfg.CAFile = file
	}
	host, ok := o.Env("KUBERNETES_SERVICE_HOST")
	port, ok2 := o.Env("KUBERNETES_SERVICE_PORT")
	if ok && ok2 {
		cfg.Host = "https://" + net.JoinHostPort(host, port)
	}
	return cfg
}

// TokenFile is where a pod finds its service account's token, unless its template or account says that it gets none.
const TokenFile = serviceAccountDir + "/token"

// Anonymous says whether a configuration has nothing to log in with.
func Anonymous(cfg *rest.Config) bool {
	return cfg.BearerToken == "" && cfg.BearerTokenFile == "" && cfg.Username == "" && cfg.CertFile == "" && len(cfg.CertData) == 0 &&
		cfg.ExecProvider == nil && cfg.AuthProvider == nil
}

// IsLoginRefused says whether a server refused who asks, or could not be trusted: what happens to a pod without its
// service account's token and CA.
func IsLoginRefused(err error) bool {
	k := Kind(err)
	return k == Unauthorized || k == Forbidden || isTLSRefusal(err)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// override applies the client library's variables and then Spark's keys. A file named in Spark's configuration replaces
// inline data of the kubeconfig.
func override(cfg *rest.Config, o Options) error {
	if v, ok := o.Env("KUBERNETES_AUTH_TOKEN"); ok && v != "" {
		setToken(cfg, v, "")
	}
	if v, ok := o.Env("KUBERNETES_CERTS_CA_FILE"); ok && v != "" {
		cfg.CAFile, cfg.CAData = v, nil
	}
	key := func(name string) (string, bool) { return o.Conf.Lookup(o.Prefix + "." + name) }
	if v, ok := key("oauthToken"); ok {
		setToken(cfg, v, "")
	}
	if file, ok := key("oauthTokenFile"); ok {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("%s.oauthTokenFile: %w", o.Prefix, err)
		}
		setToken(cfg, "", file)
	}
	if file, ok := key("caCertFile"); ok {
		cfg.CAFile, cfg.CAData = file, nil
	} else if cfg.CAFile == "" && cfg.CAData == nil && o.CAFile != "" && exists(o.CAFile) {
		cfg.CAFile = o.CAFile
	}
	if file, ok := key("clientKeyFile"); ok {
		cfg.KeyFile, cfg.KeyData = file, nil
	}
	if file, ok := key("clientCertFile"); ok {
		cfg.CertFile, cfg.CertData = file, nil
	}
	return trust(cfg, o)
}

// trust switches the verification of the server's certificate off where the user asks for it.
func trust(cfg *rest.Config, o Options) error {
	on, err := conf.TrustCertificates.Get(o.Conf)
	if err != nil {
		return err
	}
	if v, ok := o.Env("KUBERNETES_TRUST_CERTIFICATES"); ok && !conf.TrustCertificates.IsSet(o.Conf) {
		on, _ = strconv.ParseBool(v) // anything but a boolean is false, as in Spark's client library
	}
	if on {
		cfg.Insecure, cfg.CAFile, cfg.CAData = true, "", nil
	}
	return nil
}

// setToken replaces every other way of logging in.
func setToken(cfg *rest.Config, token, file string) {
	cfg.BearerToken, cfg.BearerTokenFile = token, file
	cfg.Username, cfg.Password = "", ""
	cfg.ExecProvider, cfg.AuthProvider = nil, nil
}

func finish(cfg *rest.Config, o Options) {
	cfg.UserAgent = o.UserAgent
	if cfg.UserAgent == "" {
		cfg.UserAgent = UserAgent("submit")
	}
	cfg.QPS = -1 // no limit of the client's own: callers bound themselves, the server says when it is too much
	cfg.Timeout = 0
	if o.ConnectTimeout > 0 {
		cfg.Dial = (&net.Dialer{Timeout: o.ConnectTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	if file := cfg.BearerTokenFile; file != "" {
		cfg.Wrap(func(base http.RoundTripper) http.RoundTripper { return &tokenFile{base: base, path: file} })
	}
	Wrap(cfg, o.RequestTimeout)
}

// Namespace is the namespace that the kubeconfig's context, the environment or the service account names, else "default".
func Namespace(o Options) (string, error) {
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	if ns, ok := o.Env("KUBERNETES_NAMESPACE"); ok && ns != "" {
		return ns, nil
	}
	kubeconfig, err := loader(o)
	if err != nil {
		return "", err
	}
	if kubeconfig != nil {
		ns, _, err := kubeconfig.Namespace()
		if err != nil {
			return "", fmt.Errorf("the kubeconfig cannot be used: %w", err)
		}
		return ns, nil
	}
	if b, err := os.ReadFile(filepath.Join(serviceAccountDir, "namespace")); err == nil && len(b) > 0 {
		return string(b), nil
	}
	return "default", nil
}
