package submit

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/feature"
)

const renewerKey = "spark.hadoop.yarn.resourcemanager.principal"

// buildConf turns options and properties into the configuration of the application, in the order of stock's
// SparkSubmit.prepareSubmitEnvironment.
func (p *planner) buildConf() error {
	s := p.s
	if err := p.checkPackages(); err != nil {
		return err
	}
	if err := p.checkKeytab(); err != nil {
		return err
	}
	jars, err := resolveList("spark.jars", s.Jars, p, &p.log)
	if err != nil {
		return err
	}
	files, err := resolveList("spark.files", s.Files, p, &p.log)
	if err != nil {
		return err
	}
	pyFiles, err := resolveList("spark.submit.pyFiles", s.PyFiles, p, &p.log)
	if err != nil {
		return err
	}
	archives, err := resolveList("spark.archives", s.Archives, p, &p.log)
	if err != nil {
		return err
	}
	props := maps.Clone(s.System)
	maps.Copy(props, s.Props)
	p.applyOptions(props, jars, files, archives)
	if err := p.setRenewer(props); err != nil {
		return err
	}
	delete(props, "spark.driver.host")
	for _, key := range []string{"spark.jars", "spark.files", "spark.archives"} {
		if v, ok := props[key]; ok {
			props[key] = absoluteList(v, p.env.Files)
		}
	}
	props["spark.submit.pyFiles"] = absoluteList(pyFiles, p.env.Files)
	if _, ok := props["spark.app.submitTime"]; !ok {
		props["spark.app.submitTime"] = strconv.FormatInt(p.env.Now().UnixMilli(), 10)
	}
	p.conf = conf.New(props, conf.WithVersion(p.version), conf.WithEnv(p.env.Lookup))
	return nil
}

// applyOptions writes the options over the properties, and the main jar into spark.jars.
func (p *planner) applyOptions(props map[string]string, jars, files, archives string) {
	s := p.s
	for key, value := range map[string]string{
		"spark.master": p.master, "spark.submit.deployMode": "cluster", "spark.app.name": s.Name,
		"spark.jars": jars, "spark.files": files, "spark.archives": archives,
		"spark.jars.packages": s.Packages, "spark.jars.excludes": s.ExcludePackages, "spark.jars.repositories": s.Repositories,
		"spark.driver.memory": s.DriverMemory, "spark.driver.cores": s.DriverCores,
		"spark.executor.memory": s.ExecutorMemory, "spark.executor.cores": s.ExecutorCores, "spark.executor.instances": s.NumExecutors,
		"spark.kerberos.keytab": s.Keytab, "spark.kerberos.principal": s.Principal,
	} {
		if value != "" {
			props[key] = value
		}
	}
	for key, list := range map[string]string{"spark.jars": jars, "spark.files": files, "spark.archives": archives} {
		if _, given := props[key]; given && list == "" { // every item was a pattern without a match
			props[key] = ""
		}
	}
	if p.kind == feature.Java {
		list := conf.SplitList(props["spark.jars"])
		if p.resource != noResource {
			list = append(list, p.resource)
		}
		props["spark.jars"] = strings.Join(list, ",")
	}
}

// setRenewer names whom delegation tokens of Hadoop are renewed by, when its security is on. It answers to
// SparkSubmit.setRMPrincipal. Where rules of Hadoop's map principals to users, the driver, which runs them, is left to do it.
func (p *planner) setRenewer(props map[string]string) error {
	site, err := feature.ReadCoreSite(p.env.Lookup, p.env.Files)
	if err != nil {
		return err
	}
	if rules := site["hadoop.security.auth_to_local"]; !site.Kerberos() || rules != "" && rules != "DEFAULT" {
		return nil
	}
	user := p.env.UserName
	if principal := p.s.Principal; principal != "" {
		if i := strings.IndexAny(principal, "/@"); i >= 0 {
			principal = principal[:i]
		}
		user = principal
	} else if p.s.ProxyUser != "" {
		user = p.s.ProxyUser
	}
	if user != "" {
		p.log.info("SparkSubmit", "Setting "+renewerKey+" to "+user)
		props[renewerKey] = user
	}
	return nil
}

// checkPackages looks at the syntax of coordinates; the driver resolves them.
func (p *planner) checkPackages() error {
	for _, c := range conf.SplitList(p.s.Packages) {
		if parts := strings.Split(strings.ReplaceAll(c, "/", ":"), ":"); len(parts) != 3 {
			return requirement("Provided Maven Coordinates must be in the form 'groupId:artifactId:version'. The coordinate provided is: " + c)
		}
	}
	if f := p.s.Props["spark.jars.ivySettings"]; f != "" && isLocal(f) {
		if _, err := p.env.Files.Stat(localPath(f)); err == nil {
			p.log.warn("SparkSubmit", fmt.Sprintf("spark.jars.ivySettings names %s on this machine: the driver reads a file of that name in its own image", f))
		}
	}
	return nil
}

func (p *planner) checkKeytab() error {
	keytab := p.s.Keytab
	if keytab == "" || p.s.Principal == "" || schemeOf(keytab) == "local" {
		return nil
	}
	if _, err := p.env.Files.Stat(localPath(keytab)); err != nil {
		return requirement("Keytab file: " + keytab + " does not exist")
	}
	return nil
}
