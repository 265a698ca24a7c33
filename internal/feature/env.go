package feature

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/kubespark/kubespark/conf"
)

// env adds the environment of the Spark container.
func env(b *build) error {
	b.addEnv("SPARK_USER", b.user)
	if b.executor != nil {
		return executorEnv(b)
	}
	b.addEnv("SPARK_APPLICATION_ID", b.appID)
	own := b.conf.Family(b.roleData.env)
	for _, k := range sorted(own) {
		b.addEnv(k, own[k])
	}
	b.addFieldEnv("SPARK_DRIVER_BIND_ADDRESS", "status.podIP")
	return nil
}

func executorEnv(b *build) error {
	memory, cores, err := executorSize(b)
	if err != nil {
		return err
	}
	url, err := driverURL(b)
	if err != nil {
		return err
	}
	if cores, err = recoveryCores(b, cores); err != nil {
		return err
	}
	b.addEnv("SPARK_DRIVER_URL", url)
	b.addEnv("SPARK_EXECUTOR_CORES", strconv.FormatInt(cores, 10))
	b.addEnv("SPARK_EXECUTOR_MEMORY", fmt.Sprintf("%dm", memory.Heap))
	b.addEnv("SPARK_APPLICATION_ID", b.appID)
	b.addEnv("SPARK_CONF_DIR", confDir)
	b.addEnv("SPARK_EXECUTOR_ID", b.executorID)
	b.addEnv("SPARK_RESOURCE_PROFILE_ID", strconv.Itoa(b.executor.Profile.ID))
	if conf.ExecutorLogURL.IsSet(b.conf) {
		b.addEnv("SPARK_EXECUTOR_ATTRIBUTE_APP_ID", b.appID)
		b.addEnv("SPARK_EXECUTOR_ATTRIBUTE_EXECUTOR_ID", b.executorID)
	}
	userEnv(b)
	if err := authEnv(b); err != nil {
		return err
	}
	if err := pathEnv(b); err != nil {
		return err
	}
	if err := javaOptionEnv(b); err != nil {
		return err
	}
	b.addFieldEnv("SPARK_EXECUTOR_POD_IP", "status.podIP")
	b.addFieldEnv("SPARK_EXECUTOR_POD_NAME", "metadata.name")
	return nil
}

// driverURL is where executors register.
func driverURL(b *build) (string, error) {
	host := b.conf.Raw(conf.DriverHost.Key(), "")
	usePodIP := false
	if b.version.AtLeast(4, 1) {
		var err error
		if usePodIP, err = conf.UseDriverPodIP.Get(b.conf); err != nil {
			return "", err
		}
	}
	if usePodIP {
		ip, ok, err := conf.DriverBindAddress.Lookup(b.conf)
		if err != nil {
			return "", err
		}
		if ok {
			host = ip
		}
	}
	rpc, err := rawInt(b.conf, conf.DriverPort)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("spark://CoarseGrainedScheduler@%s:%d", host, rpc), nil
}

// recoveryCores leaves room for one task only once executors have run out of memory (4.2).
func recoveryCores(b *build, cores int64) (int64, error) {
	if !b.version.AtLeast(4, 2) {
		return cores, nil
	}
	on, err := conf.RecoveryMode.Get(b.conf)
	if err != nil || !on {
		return cores, err
	}
	cpus, err := conf.TaskCPUs.Get(b.conf)
	return int64(max(1, math.Ceil(cpus))), err
}

const envNamePattern = "[-._a-zA-Z][-._a-zA-Z0-9]*"

var envName = regexp.MustCompile("^" + envNamePattern + "$")

func userEnv(b *build) {
	own := b.conf.Family(b.roleData.env)
	for _, k := range sorted(own) {
		if !envName.MatchString(k) {
			b.warn("Invalid key: %s, a valid environment variable name must consist of alphabetic characters, digits, '_', "+
				"'-', or '.', and must not start with a digit. Regex used for validation is '%s'", k, envNamePattern)
			continue
		}
		v := own[k]
		if k == "SPARK_EXECUTOR_DIRS" {
			v = strings.NewReplacer("SPARK_APPLICATION_ID", b.appID, "SPARK_EXECUTOR_ID", b.executorID).Replace(v)
		}
		b.addEnv(k, v)
	}
}

func authEnv(b *build) error {
	on, err := conf.Authenticate.Get(b.conf)
	if err != nil || !on || b.executor.AuthSecret == "" {
		return err
	}
	if _, fromFile, err := conf.ExecutorAuthSecretFile.Lookup(b.conf); fromFile || err != nil {
		return err
	}
	b.addEnv("_SPARK_AUTH_SECRET", b.executor.AuthSecret)
	return nil
}

func pathEnv(b *build) error {
	classPath, err := joined(b.conf, conf.ExecutorDefaultClassPath, conf.ExecutorExtraClassPath, ":")
	if err != nil {
		return err
	}
	if classPath != "" {
		b.addEnv("SPARK_CLASSPATH", classPath)
	}
	if !b.version.AtLeast(4, 3) {
		return nil
	}
	libraries, ok, err := conf.ExecutorExtraLibraryPath.Lookup(b.conf)
	if ok {
		b.addEnv("SPARK_EXECUTOR_LIBRARY_PATH", libraries)
	}
	return err
}

// joined is a default setting with the user's own behind it.
func joined(c *conf.Conf, first, second *conf.Entry[string], separator string) (string, error) {
	var parts []string
	for _, e := range []*conf.Entry[string]{first, second} {
		v, err := e.Get(c)
		if err != nil {
			return "", err
		}
		if v != "" {
			parts = append(parts, v)
		}
	}
	return strings.Join(parts, separator), nil
}

func javaOptionEnv(b *build) error {
	text, err := joined(b.conf, conf.ExecutorDefaultJavaOptions, conf.ExecutorExtraJavaOptions, " ")
	if err != nil {
		return err
	}
	words := SplitCommand(b.placeholders(text))
	for _, k := range b.conf.Keys() {
		if isStartupKey(k) {
			words = append(words, "-D"+k+"="+b.conf.Raw(k, ""))
		}
	}
	for i, w := range words {
		b.addEnv("SPARK_JAVA_OPT_"+strconv.Itoa(i), w)
	}
	return nil
}

// isStartupKey says whether an executor needs the property before it can ask the driver for the others:
// SparkConf.isExecutorStartupConf.
func isStartupKey(k string) bool {
	switch {
	case strings.HasPrefix(k, "spark.auth"):
		return k != "spark.authenticate.secret"
	case strings.HasPrefix(k, "spark.rpc"), strings.HasPrefix(k, "spark.network"), strings.HasPrefix(k, "spark.port."):
		return true
	case strings.HasPrefix(k, "spark.ssl"):
		return !strings.Contains(k, "Password")
	}
	return strings.HasPrefix(k, "spark.") && strings.HasSuffix(k, ".port")
}

// SplitCommand splits a text into words: blanks separate, single quotes keep all, in double quotes a backslash keeps the
// next character; outside them it is a character like others. It answers to Utils.splitCommandString.
func SplitCommand(s string) []string {
	var words []string
	var word strings.Builder
	inWord := false
	var quote rune
	escaped := false
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case quote == '"' && r == '\\':
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && strings.ContainsRune(`'"`, r):
			quote, inWord = r, true
		case quote == 0 && strings.ContainsRune(" \t\n\r\f\v", r):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}
