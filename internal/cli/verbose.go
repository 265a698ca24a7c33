package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/submit"
)

// showPlan is --verbose: the arguments as they were understood, what the driver will be called with, the configuration with
// its secrets covered, and the class path.
func (c *submitCommand) showPlan(s *submit.Settings, plan *submit.Plan) error {
	given, err := conf.New(s.Props).Redact()
	if err != nil {
		return err
	}
	say(c.Stderr, "Parsed arguments:")
	for _, a := range parsedArguments(s) {
		if a.value != "" {
			say(c.Stderr, "  %-23s %s", a.name, a.value)
		}
	}
	say(c.Stderr, "\nSpark properties used, including those specified through\n --conf and those from the properties file %s:", orNone(s.PropertiesFile))
	for _, k := range slices.Sorted(maps.Keys(given)) {
		say(c.Stderr, "  (%s,%s)", k, given[k])
	}
	args := driverArguments(plan)
	if i := slices.Index(args, "--class"); i >= 0 && i+1 < len(args) {
		say(c.Stderr, "\nMain class:\n%s", args[i+1])
	}
	say(c.Stderr, "Arguments:\n%s", strings.Join(args, "\n"))
	shown, err := plan.Conf.Redact()
	if err != nil {
		return err
	}
	say(c.Stderr, "Spark config:")
	for _, k := range plan.Conf.Keys() {
		say(c.Stderr, "(%s,%s)", k, shown[k])
	}
	say(c.Stderr, "Classpath elements:\n%s\n\n", strings.Join(conf.SplitList(plan.Conf.Raw("spark.jars", "")), "\n"))
	return nil
}

type argument struct{ name, value string }

func parsedArguments(s *submit.Settings) []argument {
	return []argument{
		{"master", s.Master}, {"remote", s.Remote}, {"deployMode", s.DeployMode},
		{"executorMemory", s.ExecutorMemory}, {"executorCores", s.ExecutorCores}, {"totalExecutorCores", s.TotalExecutorCores},
		{"propertiesFile", s.PropertiesFile}, {"extraPropertiesFiles", strings.Join(s.ExtraPropertiesFiles, ",")},
		{"driverMemory", s.DriverMemory}, {"driverCores", s.DriverCores}, {"numExecutors", s.NumExecutors},
		{"files", s.Files}, {"pyFiles", s.PyFiles}, {"archives", s.Archives}, {"mainClass", s.MainClass},
		{"primaryResource", s.PrimaryResource}, {"name", s.Name}, {"childArgs", "[" + strings.Join(s.AppArgs, " ") + "]"},
		{"jars", s.Jars}, {"packages", s.Packages}, {"packagesExclusions", s.ExcludePackages}, {"repositories", s.Repositories},
		{"principal", s.Principal}, {"keytab", s.Keytab}, {"proxyUser", s.ProxyUser}, {"verbose", "true"},
	}
}

// driverArguments are the arguments of the Spark container.
func driverArguments(plan *submit.Plan) []string {
	for _, c := range plan.DriverPod().Spec.Containers {
		if c.Name == plan.ContainerName {
			return c.Args
		}
	}
	return nil
}

func orNone(text string) string {
	if text == "" {
		return "(none)"
	}
	return text
}
