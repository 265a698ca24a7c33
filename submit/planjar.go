package submit

import (
	"strings"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/feature"
)

// defaultClassPath stands before spark.driver.extraClassPath, which a user's own --driver-class-path replaces.
const defaultClassPath = "spark.driver.defaultExtraClassPath"

// addJar puts the shim first on the driver's class path; a user's own entry follows it.
func (p *planner) addJar() error {
	enabled, err := conf.Enabled.Get(p.conf)
	if err != nil {
		return err
	}
	jar, from := p.conf.Raw(conf.ShimJar.Key(), ""), ""
	settings := map[string]string{}
	if image := p.conf.Raw(conf.ShimImage.Key(), ""); image != "" {
		jar, from = feature.ShimJarPath, " of "+image
		settings[conf.ShimJar.Key()], settings[conf.ManagerPath.Key()] = feature.ShimJarPath, feature.ManagerPath
	}
	switch {
	case jar == "":
		p.manager = "Executors will be managed by the cluster manager of the driver's image: neither " + conf.ShimImage.Key() + " nor " +
			conf.ShimJar.Key() + " is set."
		return nil
	case enabled:
		p.manager = "Executors will be managed by kubespark (" + jar + from + ")."
	default:
		p.manager = "Executors will be managed by Spark's own cluster manager (" + conf.Enabled.Key() + "=false)."
	}
	settings[defaultClassPath] = joinClassPath(jar, p.conf.Raw(defaultClassPath, ""))
	p.conf = p.conf.With(settings)
	return nil
}

func joinClassPath(jar, rest string) string {
	if rest == "" || rest == jar || strings.HasPrefix(rest, jar+":") {
		return jar + strings.TrimPrefix(rest, jar)
	}
	return jar + ":" + rest
}
