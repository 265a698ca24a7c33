package submit

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubespark/kubespark/conf"
)

// Settings are the arguments of a submission joined with all sources of configuration, before anything is derived from
// them: Spark's SparkSubmitArguments after its second pass.
type Settings struct {
	Args
	// Props are --conf and the properties files merged, keys that are not Spark's left out.
	Props map[string]string
	// System are the JVM's system properties (SPARK_SUBMIT_OPTS): they fill what nothing else sets.
	System map[string]string
	// ConfDir is SPARK_CONF_DIR, else conf below SPARK_HOME; "" without either.
	ConfDir string

	DriverMemory, DriverCores string
	// DynamicAllocation is spark.dynamicAllocation.enabled.
	DynamicAllocation bool
	Notices           []Notice
}

// Resolve reads the properties files and fills absent options from properties and environment. The only errors are files
// that cannot be used; Check does the rest.
func Resolve(args Args, env Env) (*Settings, error) {
	env = env.withDefaults()
	s := &Settings{Args: args, Props: maps.Clone(args.Properties), ConfDir: confDir(env)}
	if s.Props == nil {
		s.Props = map[string]string{}
	}
	if err := s.readFiles(env); err != nil {
		return nil, err
	}
	maps.Copy(s.Props, args.Conf)
	s.dropForeign()
	if err := s.readSystem(env); err != nil {
		return nil, err
	}
	s.fill(env)
	return s, nil
}

func confDir(env Env) string {
	if d := env.get("SPARK_CONF_DIR"); d != "" {
		return d
	}
	if h := env.get("SPARK_HOME"); h != "" {
		return filepath.Join(h, "conf")
	}
	return ""
}

// readFiles puts the files over one another, the later the stronger: defaults, the properties file, the extra ones.
func (s *Settings) readFiles(env Env) error {
	if s.ConfDir != "" && (s.PropertiesFile == "" || s.LoadSparkDefaults) {
		file := filepath.Join(s.ConfDir, "spark-defaults.conf")
		err := s.readFile(env, file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if s.PropertiesFile != "" {
		if info, err := env.Files.Stat(s.PropertiesFile); err != nil || !info.Mode().IsRegular() {
			return launcherError("Invalid properties file '" + s.PropertiesFile + "'.")
		}
		if err := s.readFile(env, s.PropertiesFile); err != nil {
			return err
		}
	}
	for _, f := range s.ExtraPropertiesFiles {
		info, err := env.Files.Stat(f)
		if err != nil {
			return requirement("Properties file " + f + " does not exist")
		}
		if !info.Mode().IsRegular() {
			return requirement("Properties file " + f + " is not a normal file")
		}
		if err := s.readFile(env, f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Settings) readFile(env Env, file string) error {
	text, err := env.Files.ReadFile(file)
	if err != nil {
		return &Error{Class: classSpark, Text: "Failed when loading Spark properties from " + file + ": " + err.Error(), Err: err}
	}
	props, err := conf.ParseProperties(text)
	if err != nil {
		return &Error{Class: classSpark, Text: "Failed when loading Spark properties from " + file + ": " + err.Error(), Err: err}
	}
	maps.Copy(s.Props, props)
	return nil
}

func (s *Settings) dropForeign() {
	var log notices
	for _, k := range slices.Sorted(maps.Keys(s.Props)) {
		if !strings.HasPrefix(k, "spark.") {
			delete(s.Props, k)
			log.warn("SparkSubmit", "Warning: Ignoring non-Spark config property: "+k)
		}
	}
	s.Notices = append(s.Notices, log...)
}

func (s *Settings) readSystem(env Env) error {
	s.System = map[string]string{}
	texts := []string{env.get("SPARK_SUBMIT_OPTS")}
	if s.ConfDir != "" {
		text, err := env.Files.ReadFile(filepath.Join(s.ConfDir, "java-opts"))
		if err == nil {
			texts = append(texts, string(text))
		}
	}
	for _, t := range texts {
		d, err := conf.Defines(t)
		if err != nil {
			return launcherError(err.Error())
		}
		maps.Copy(s.System, d)
	}
	return nil
}

// fill gives absent options their fall-backs: a property, then the environment.
func (s *Settings) fill(env Env) {
	first := func(field *string, keys ...string) {
		for _, k := range keys {
			if *field != "" {
				return
			}
			if name, ok := strings.CutPrefix(k, "env:"); ok {
				*field = env.get(name)
			} else {
				*field = s.Props[k]
			}
		}
	}
	first(&s.Master, "spark.master", "env:MASTER")
	first(&s.Remote, "spark.remote", "env:SPARK_REMOTE")
	if s.Master == "" && s.Remote == "" {
		s.Master = "local[*]"
	}
	first(&s.DeployMode, "spark.submit.deployMode", "env:DEPLOY_MODE")
	first(&s.DriverMemory, "spark.driver.memory", "env:SPARK_DRIVER_MEMORY")
	first(&s.DriverCores, "spark.driver.cores")
	first(&s.ExecutorMemory, "spark.executor.memory", "env:SPARK_EXECUTOR_MEMORY")
	first(&s.ExecutorCores, "spark.executor.cores", "env:SPARK_EXECUTOR_CORES")
	first(&s.TotalExecutorCores, "spark.cores.max")
	first(&s.NumExecutors, "spark.executor.instances")
	first(&s.Name, "spark.app.name")
	first(&s.Jars, "spark.jars")
	first(&s.Files, "spark.files")
	first(&s.Archives, "spark.archives")
	first(&s.PyFiles, "spark.submit.pyFiles")
	first(&s.Packages, "spark.jars.packages")
	first(&s.ExcludePackages, "spark.jars.excludes")
	first(&s.Repositories, "spark.jars.repositories")
	first(&s.Keytab, "spark.kerberos.keytab", "spark.yarn.keytab")
	first(&s.Principal, "spark.kerberos.principal", "spark.yarn.principal")
	s.DynamicAllocation = strings.EqualFold(s.Props["spark.dynamicAllocation.enabled"], "true")
	if s.Name == "" {
		s.Name = s.MainClass
	}
	if s.Name == "" && s.PrimaryResource != "" {
		s.Name = filepath.Base(s.PrimaryResource)
	}
}

// IsCluster says whether the deploy mode is cluster.
func (s *Settings) IsCluster() bool { return s.DeployMode == "cluster" }

// Native says whether this package handles the submission itself. Client mode and other masters are the real
// spark-submit's.
func (s *Settings) Native() bool {
	return IsKubernetes(s.Master) && (s.IsCluster() || len(s.Actions) > 0)
}
