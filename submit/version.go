package submit

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kubespark/kubespark/conf"
)

var (
	versionText = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+`)
	coreJar     = regexp.MustCompile(`^spark-core_[0-9.]+-([0-9]+\.[0-9]+\.[0-9]+[^/]*)\.jar$`)
)

// SparkVersion chooses the Spark version whose objects are made: the key, else SPARK_HOME's, else the default.
func SparkVersion(props map[string]string, env Env) (conf.Version, error) {
	env = env.withDefaults()
	text := props[conf.SparkVersion.Key()]
	if text == "" {
		text = homeVersion(env)
	}
	if text == "" {
		return conf.DefaultVersion, nil
	}
	v, err := conf.ParseVersion(text)
	if err != nil {
		return v, &Error{Class: classConf, Text: conf.SparkVersion.Key() + ": " + err.Error()}
	}
	if !v.AtLeast(4, 0) {
		return v, &Error{Class: classSpark, Text: fmt.Sprintf("Spark %s is not supported: kubespark submits to Spark 4.0 and later", v)}
	}
	return v, nil
}

// homeVersion reads the first line of SPARK_HOME's RELEASE file, else the name of the core jar.
func homeVersion(env Env) string {
	home := env.get("SPARK_HOME")
	if home == "" {
		return ""
	}
	if text, err := env.Files.ReadFile(filepath.Join(home, "RELEASE")); err == nil {
		if words := strings.Fields(string(text)); len(words) > 1 && words[0] == "Spark" && versionText.MatchString(words[1]) {
			return words[1]
		}
	}
	names, err := env.Files.Regular(filepath.Join(home, "jars"))
	if err != nil {
		return ""
	}
	for _, n := range names {
		if m := coreJar.FindStringSubmatch(n); m != nil {
			return m[1]
		}
	}
	return ""
}

// tagVersion is the Spark version that the image's tag begins with, if it looks like one. It decides nothing: many tags are
// versions of the application.
func tagVersion(props map[string]string) string {
	for _, k := range []string{conf.DriverContainerImage.Key(), conf.ContainerImage.Key()} {
		image, ok := props[k]
		if !ok {
			continue
		}
		image, _, _ = strings.Cut(image, "@")
		colon := strings.LastIndex(image, ":")
		if colon < 0 || strings.Contains(image[colon:], "/") {
			return ""
		}
		if v := versionText.FindString(image[colon+1:]); v != "" && !strings.HasPrefix(v, "0.") && v[0] >= '4' {
			return v
		}
		return ""
	}
	return ""
}
