package feature

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/conf"
)

// redacted stands in spark.properties where a token was.
const redacted = "<present_but_redacted>"

// credential is one of the driver's API credentials: where the submitter has it, and where the driver finds it.
type credential struct {
	source  *conf.Entry[string]
	what    string // as the error for a missing file names it; empty: the value itself, no file
	item    string // key in the Secret
	mounted string // property that the driver reads
}

var driverCredentials = []credential{
	{conf.DriverOAuthToken, "", "oauth-token", "spark.kubernetes.authenticate.driver.mounted.oauthTokenFile"},
	{conf.DriverCACertFile, "CA cert", "ca-cert", "spark.kubernetes.authenticate.driver.mounted.caCertFile"},
	{conf.DriverClientKeyFile, "client key", "client-key", "spark.kubernetes.authenticate.driver.mounted.clientKeyFile"},
	{conf.DriverClientCertFile, "client cert", "client-cert", "spark.kubernetes.authenticate.driver.mounted.clientCertFile"},
}

// readCredentials returns the content of the Secret, empty without credentials.
func readCredentials(b *build) (map[string][]byte, error) {
	data := map[string][]byte{}
	for _, c := range driverCredentials {
		value, ok := b.conf.Lookup(c.source.Key())
		switch {
		case !ok:
		case c.what == "":
			data[c.item] = []byte(value)
		default:
			content, err := b.readFile(c.source.Key(), value)
			if err != nil {
				return nil, fmt.Errorf("requirement failed: Driver %s file provided at %s does not exist or is not a file.", //nolint:staticcheck // Spark's own text
					c.what, b.driver.Files.Abs(value))
			}
			data[c.item] = content
		}
	}
	return data, nil
}

func checkCredentials(b *build) error {
	_, err := readCredentials(b)
	return err
}

// credentials ships the driver's API credentials as a Secret, and sets its service account. It answers to
// DriverKubernetesCredentialsFeatureStep.
func credentials(b *build) error {
	for _, k := range b.conf.Keys() {
		if strings.HasSuffix(k, "oauthToken") {
			b.props[k] = redacted
		}
	}
	data, err := readCredentials(b)
	if err != nil {
		return err
	}
	if len(data) == 0 || !conf.IsStock(b.conf, "service-account") {
		if err := serviceAccount(b); err != nil {
			return err
		}
	}
	if len(data) == 0 {
		return nil
	}
	const volume = "kubernetes-credentials"
	name := b.prefix + "-kubernetes-credentials"
	b.objects = append(b.objects, secret(name, data))
	b.addVolume(volume, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}})
	b.addMount(volume, credentialsDir)
	for _, c := range driverCredentials {
		if _, made := data[c.item]; !made {
			continue
		}
		if _, set := b.conf.Lookup(c.mounted); !set {
			b.props[c.mounted] = credentialsDir + "/" + c.item
		}
	}
	return nil
}

// serviceAccount sets the pod's service account: the driver's setting goes over its template, an executor's under. It
// answers to ExecutorKubernetesCredentialsFeatureStep.
func serviceAccount(b *build) error {
	spec := &b.sp.Pod.Spec
	entry := conf.DriverServiceAccount
	if b.executor != nil {
		entry = conf.ExecutorServiceAccount
		for _, own := range []string{spec.DeprecatedServiceAccount, spec.ServiceAccountName} {
			if own != "" {
				spec.DeprecatedServiceAccount, spec.ServiceAccountName = own, own
				return nil
			}
		}
	}
	name, ok, err := entry.Lookup(b.conf)
	if ok {
		spec.DeprecatedServiceAccount, spec.ServiceAccountName = name, name
	}
	return err
}

// readFile reads one of the submitter's files for a property.
func (b *build) readFile(key, path string) ([]byte, error) {
	if b.driver.Files == nil {
		return nil, fmt.Errorf("%s names the file %s, but this plan has no access to files", key, path)
	}
	content, err := b.driver.Files.ReadFile(strings.TrimPrefix(path, "file://"))
	if err != nil {
		return nil, fmt.Errorf("%s: %s cannot be read: %w", key, path, err)
	}
	return content, nil
}
