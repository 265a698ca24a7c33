package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/submit"
)

// delegate replaces this process by the real spark-submit, with the arguments and the environment that it was given itself;
// the driver of client mode on Kubernetes gets our jar first on its class path. spark.kubespark.submit.fallback hands the
// line over as it is.
func (c *submitCommand) delegate(p *parsed, s *submit.Settings, argv []string) (int, error) {
	list, _ := environment(c.given)(delegatedVariable)
	guard, loop := delegated(list, os.Getpid())
	if loop {
		return exitError, &submit.Error{Text: "the spark-submit that was found is kubespark again: set SPARK_HOME to a Spark distribution"}
	}
	if err := c.checkStreams(); err != nil {
		return exitError, err
	}
	path, err := c.findRealSparkSubmit(c.Environ)
	if err != nil {
		return exitError, err
	}
	switch {
	case submit.IsKubernetes(s.Master) && !s.Native():
		var added []string
		if added, err = c.shimOptions(s); err != nil {
			return exitError, err
		}
		argv = slices.Insert(slices.Clone(argv), p.optionsEnd, added...)
	case s.Native():
		c.log.Info(fmt.Sprintf("Submission is left to %s (%s).", path, conf.SubmitFallback.Key()), "logger", "SparkSubmit")
	}
	argv = withoutFollow(argv, p)
	c.log.Debug("running "+path, "logger", "SparkSubmit")
	environ := slices.DeleteFunc(slices.Clone(c.given), func(kv string) bool { return strings.HasPrefix(kv, delegatedVariable+"=") })
	err = c.Exec(path, append([]string{path}, argv...), append(environ, delegatedVariable+"="+guard))
	return exitError, &submit.Error{Text: fmt.Sprintf("%s cannot be run: %v", path, err), Err: err}
}

// shimOptions are the options that put our jar first on the class path of a driver on this machine. They come after the
// user's own, and hold a value of the user behind ours.
func (c *submitCommand) shimOptions(s *submit.Settings) ([]string, error) {
	jar := s.Props[conf.ShimJar.Key()]
	if jar == "" {
		jar = c.beside("kubespark.jar")
	}
	if jar == "" {
		c.log.Info("Executors will be managed by Spark's own cluster manager: kubespark.jar is not beside the kubespark program, and "+
			conf.ShimJar.Key()+" is not set.", "logger", "SparkSubmit")
		return nil, nil
	}
	if _, err := os.Stat(jar); err != nil {
		return nil, &submit.Error{Text: fmt.Sprintf("%s: %s is not on this machine, where the driver of client mode runs", conf.ShimJar.Key(), jar), Err: err}
	}
	enabled, err := conf.Enabled.Get(conf.New(s.Props))
	if err != nil {
		return nil, err
	}
	path := jar
	if user := s.Props[defaultClassPath]; user != "" && user != jar && !strings.HasPrefix(user, jar+string(os.PathListSeparator)) {
		path += string(os.PathListSeparator) + user
	}
	options := []string{"--conf", defaultClassPath + "=" + path}
	if manager := c.beside("kubespark-manager"); manager != "" && s.Props[conf.ManagerPath.Key()] == "" {
		options = append(options, "--conf", conf.ManagerPath.Key()+"="+manager)
	}
	by := "kubespark (" + jar + ")"
	if !enabled {
		by = "Spark's own cluster manager (" + conf.Enabled.Key() + "=false)"
	}
	c.log.Info("Executors will be managed by "+by+".", "logger", "SparkSubmit")
	return options, nil
}

const defaultClassPath = "spark.driver.defaultExtraClassPath"

// beside is the file of that name in the folder of this program, or "".
func (c *submitCommand) beside(name string) string {
	self, err := c.Executable()
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	file := filepath.Join(filepath.Dir(self), name)
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return file
}
