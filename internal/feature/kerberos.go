package feature

import (
	"encoding/xml"
	"errors"
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubespark/kubespark/conf"
)

const tokenFileEnv = "HADOOP_TOKEN_FILE_LOCATION"

// kerberosConf is what the Kerberos keys say; empty texts are unset.
type kerberosConf struct {
	krb5Path, krb5Map     string
	keytab, principal     string
	tokenSecret, tokenKey string
}

func readKerberos(b *build) (k kerberosConf, err error) {
	for _, e := range []struct {
		to    *string
		entry *conf.Entry[string]
	}{
		{&k.krb5Path, conf.Krb5Path}, {&k.krb5Map, conf.Krb5ConfigMap}, {&k.keytab, conf.Keytab},
		{&k.principal, conf.Principal}, {&k.tokenSecret, conf.TokenSecretName}, {&k.tokenKey, conf.TokenSecretItemKey},
	} {
		if *e.to, err = e.entry.Get(b.conf); err != nil {
			return k, err
		}
	}
	return k, nil
}

// shipsKeytab says whether the keytab is a file of the submitter.
func (k kerberosConf) shipsKeytab() bool {
	return k.keytab != "" && !strings.HasPrefix(k.keytab, "local:")
}

func checkKerberos(b *build) error {
	k, err := readKerberos(b)
	if err != nil {
		return err
	}
	for _, rule := range []struct {
		broken bool
		text   string
	}{
		{k.krb5Path != "" && k.krb5Map != "", "Do not specify both a Krb5 local file and the ConfigMap as the creation of " +
			"an additional ConfigMap, when one is already specified, is extraneous"},
		{k.keytab != "" && k.principal == "", "If a Kerberos keytab is specified you must also specify a Kerberos principal"},
		{k.keytab == "" && k.principal != "", "If a Kerberos principal is specified you must also specify a Kerberos keytab"},
		{k.tokenSecret != "" && k.tokenKey == "", "If a secret storing a Kerberos Delegation Token is specified you must " +
			"also specify the item-key where the data is stored"},
		{k.tokenSecret == "" && k.tokenKey != "", "If a secret data item-key where the data of the Kerberos Delegation " +
			"Token is specified you must also specify the name of the secret"},
	} {
		if rule.broken {
			return errors.New("requirement failed: " + rule.text)
		}
	}
	if k.krb5Path == "" && k.krb5Map == "" {
		b.infos = append(b.infos, "You have not specified a krb5.conf file locally or via a ConfigMap. "+
			"Make sure that you have the krb5.conf locally on the driver image.")
	}
	return nil
}

// kerberos ships krb5.conf and a keytab or delegation tokens. It answers to KerberosConfDriverFeatureStep.
func kerberos(b *build) error {
	k, err := readKerberos(b)
	if err != nil {
		return err
	}
	if err := krb5(b, k); err != nil {
		return err
	}
	if k.shipsKeytab() {
		return keytab(b, k.keytab)
	}
	return tokens(b, k)
}

func krb5(b *build, k kerberosConf) error {
	var volume *corev1.ConfigMapVolumeSource
	switch {
	case k.krb5Map != "":
		volume = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: k.krb5Map}}
	case k.krb5Path != "":
		content, err := b.readFile(conf.Krb5Path.Key(), k.krb5Path)
		if err != nil {
			return err
		}
		file, name := path.Base(k.krb5Path), b.prefix+"-krb5-file"
		b.objects = append(b.objects, configMap(name, map[string]string{file: string(content)}))
		// The mount looks for krb5.conf, whatever the file is called here.
		volume = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name},
			Items: []corev1.KeyToPath{{Key: file, Path: "krb5.conf"}}}
	default:
		return nil
	}
	b.addVolume("krb5-file", corev1.VolumeSource{ConfigMap: volume})
	b.sp.Container.VolumeMounts = append(b.sp.Container.VolumeMounts,
		corev1.VolumeMount{Name: "krb5-file", MountPath: "/etc/krb5.conf", SubPath: "krb5.conf"})
	return nil
}

func keytab(b *build, file string) error {
	content, err := b.readFile(conf.Keytab.Key(), file)
	if err != nil {
		return fmt.Errorf("Keytab file: %s does not exist (%w)", file, err) //nolint:staticcheck // Spark's own text
	}
	base, name := path.Base(file), b.prefix+"-kerberos-keytab"
	b.objects = append(b.objects, secret(name, map[string][]byte{base: content}))
	b.addVolume("kerberos-keytab", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}})
	b.addMount("kerberos-keytab", keytabDir)
	b.props[conf.Keytab.Key()] = keytabDir + "/" + base
	return nil
}

func tokens(b *build, k kerberosConf) error {
	name, item := k.tokenSecret, k.tokenKey
	if name == "" {
		file, ok := b.driver.Env(tokenFileEnv)
		if k.keytab != "" {
			return nil
		}
		if !ok || file == "" {
			return checkLogin(b)
		}
		content, err := b.readFile(tokenFileEnv, file)
		if err != nil {
			return err
		}
		name, item = b.prefix+"-delegation-tokens", "hadoop-tokens"
		b.objects = append(b.objects, secret(name, map[string][]byte{item: content}))
	}
	b.addVolume("hadoop-secret", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}})
	b.addMount("hadoop-secret", tokenDir)
	b.addEnv(tokenFileEnv, tokenDir+"/"+item)
	return nil
}

// checkLogin refuses a cluster that wants Kerberos when there is nothing to log in with: only a JVM gets tokens itself.
func checkLogin(b *build) error {
	if b.driver.Files == nil {
		return nil
	}
	site, err := ReadCoreSite(b.driver.Env, b.driver.Files)
	if err != nil {
		return err
	}
	if site.Kerberos() {
		return errors.New("Kerberos tokens cannot be obtained by native submission; give --keytab/--principal, " +
			"spark.kubernetes.kerberos.tokenSecret.* or HADOOP_TOKEN_FILE_LOCATION, or set spark.kubespark.submit.fallback=spark-submit")
	}
	return nil
}

// CoreSite is what the submitter's core-site.xml sets.
type CoreSite map[string]string

// ReadCoreSite reads core-site.xml in the folder that HADOOP_CONF_DIR names; without the variable or the file Hadoop's
// defaults apply, and the result is empty.
func ReadCoreSite(env func(string) (string, bool), files Files) (CoreSite, error) {
	dir, ok := env(hadoopConfEnv)
	if !ok {
		return nil, nil
	}
	content, err := files.ReadFile(dir + "/core-site.xml")
	if err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	var site struct {
		Properties []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	if err := xml.Unmarshal(content, &site); err != nil {
		return nil, fmt.Errorf("%s/core-site.xml cannot be parsed: %w", dir, err)
	}
	out := CoreSite{}
	for _, p := range site.Properties {
		out[strings.TrimSpace(p.Name)] = strings.TrimSpace(p.Value)
	}
	return out, nil
}

// Kerberos says whether Hadoop's security is on. It answers to UserGroupInformation.isSecurityEnabled.
func (c CoreSite) Kerberos() bool {
	return strings.EqualFold(c["hadoop.security.authentication"], "kerberos")
}
