package feature

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/sparkpod"
)

const namespaceKey = "spark.kubernetes.namespace"

// confVolume makes the driver's ConfigMap, with the configuration files and spark.properties, and mounts it. It comes
// after all steps, because it writes down what they decided. It answers to the last part of Client.run.
func confVolume(b *build) error {
	name := sparkpod.DriverConfigMapName(b.driver.Unique())
	data := maps.Clone(b.driver.ConfFiles)
	if data == nil {
		data = map[string]string{}
	}
	if _, shipped := data["spark-env.sh"]; shipped {
		b.warn("spark-env.sh of the configuration directory is shipped to the driver and runs there; it may override %s* settings.",
			b.env)
	}
	data[propertiesFile] = PropertiesText(name, b.properties())
	if err := warnSecrets(b, name); err != nil {
		return err
	}
	mounted := sorted(data)
	data[namespaceKey] = b.driver.Namespace
	cm := configMap(name, data)
	cm.Namespace = b.driver.Namespace
	if err := checkConfigMapSize(b.conf, name, data); err != nil {
		return err
	}
	b.objects = append(b.objects, cm)
	b.addEnv("SPARK_CONF_DIR", confDir)
	b.addMount(b.confVolume, confDir)
	b.addVolume(b.confVolume, configMapVolume(name, mounted))
	return nil
}

// warnSecrets says once which properties look like secrets and can be read by whoever may read the ConfigMap.
func warnSecrets(b *build, name string) error {
	props := b.properties()
	shown, err := b.conf.With(b.props).Redact()
	if err != nil {
		return err
	}
	var keys []string
	for _, k := range sorted(props) {
		if shown[k] != props[k] && props[k] != redacted {
			keys = append(keys, k)
		}
	}
	if len(keys) > 0 {
		b.warn("The ConfigMap %s holds the values of %s in clear text; put secrets into a Secret instead.", name, strings.Join(keys, ", "))
	}
	return nil
}

// PropertiesText writes properties as Spark does into its ConfigMaps, sorted by key. The second line is where
// java.util.Properties has the date: ours is fixed, so that the same input gives the same bytes.
func PropertiesText(configMapName string, props map[string]string) string {
	return conf.FormatProperties([]string{"Java properties built from Kubernetes config map with name: " + configMapName,
		"written by kubespark"}, props)
}

// checkConfigMapSize refuses a ConfigMap that the API would refuse once the driver pod exists.
func checkConfigMapSize(c *conf.Conf, name string, data map[string]string) error {
	limit, err := conf.ConfigMapMaxSize.Get(c)
	if err != nil {
		return err
	}
	total := 0
	for k, v := range data {
		total += len(k) + len(v)
	}
	if int64(total) <= limit {
		return nil
	}
	keys := sorted(data)
	slices.SortStableFunc(keys, func(a, b string) int { return len(data[b]) - len(data[a]) })
	var sizes []string
	for _, k := range keys {
		sizes = append(sizes, fmt.Sprintf("%s %d", k, len(data[k])))
	}
	return fmt.Errorf("the ConfigMap %s would have %d bytes, more than the %d of %s: %s", name, total, limit,
		conf.ConfigMapMaxSize.Key(), strings.Join(sizes, ", "))
}
