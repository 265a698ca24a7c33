package cli

import (
	"strings"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/submit"
)

// parsed is a command line in Spark's grammar.
type parsed struct {
	submit.Args
	help, version, usageError bool
	example                   bool // run-example: the first word is a class of the examples
	follow                    bool // our own option: not under the name spark-submit
	shell                     bool // a shell's main: the real spark-submit's
	badConf                   string
	optionsEnd                int // index in argv of the primary resource, or its length
}

// lineError is a command line that the launcher refuses.
func lineError(text string) error {
	return &submit.Error{Stage: submit.StageLauncher, Class: "java.lang.IllegalArgumentException", Text: text}
}

// Options that are exactly a --conf of their key at their place.
var confOptions = map[string]string{
	"--driver-memory":             "spark.driver.memory",
	"--driver-java-options":       "spark.driver.extraJavaOptions",
	"--driver-library-path":       "spark.driver.extraLibraryPath",
	"--driver-class-path":         "spark.driver.extraClassPath",
	"--driver-default-class-path": "spark.driver.defaultExtraClassPath",
}

// valueOptions returns the setters of the options that take a value.
func (p *parsed) valueOptions() map[string]func(string) {
	field := func(f *string) func(string) { return func(v string) { *f = v } }
	action := func(name string) func(string) {
		return func(id string) { p.Actions, p.SubmissionID = append(p.Actions, name), id }
	}
	m := map[string]func(string){
		"--master": field(&p.Master), "--deploy-mode": field(&p.DeployMode), "--remote": field(&p.Remote),
		"--class": field(&p.MainClass), "--name": field(&p.Name), "--jars": field(&p.Jars), "--files": field(&p.Files),
		"--archives": field(&p.Archives), "--py-files": field(&p.PyFiles), "--packages": field(&p.Packages),
		"--exclude-packages": field(&p.ExcludePackages), "--repositories": field(&p.Repositories),
		"--executor-memory": field(&p.ExecutorMemory), "--executor-cores": field(&p.ExecutorCores),
		"--num-executors": field(&p.NumExecutors), "--total-executor-cores": field(&p.TotalExecutorCores),
		"--principal": field(&p.Principal), "--keytab": field(&p.Keytab), "--proxy-user": field(&p.ProxyUser),
		"--properties-file": field(&p.PropertiesFile),
		"--extra-properties-file": func(v string) {
			p.ExtraPropertiesFiles = append(p.ExtraPropertiesFiles, v)
		},
		"--conf": p.setConf, "-c": p.setConf,
		"--queue": func(string) {}, // another cluster manager's
		"--kill":  action(submit.ActionKill), "--status": action(submit.ActionStatus),
	}
	for name, key := range confOptions {
		m[name] = func(v string) { p.Conf[key] = v }
	}
	return m
}

func (p *parsed) switches() map[string]func() {
	return map[string]func(){
		"--verbose": func() { p.Verbose = true }, "-v": func() { p.Verbose = true },
		"--load-spark-defaults": func() { p.LoadSparkDefaults = true },
		"--supervise":           func() {}, // another cluster manager's
		"--help":                func() { p.help = true }, "-h": func() { p.help = true },
		followOption:    func() { p.follow = true; p.Conf[conf.SubmitFollow.Key()] = "true" },
		"--version":     func() { p.version = true },
		"--usage-error": func() { p.usageError = true },
	}
}

// parse reads a command line in the grammar of spark-submit: options up to the primary resource, everything after it
// belongs to the application.
func parse(argv []string) (*parsed, error) {
	p := &parsed{Args: submit.Args{Conf: map[string]string{}}, optionsEnd: len(argv)}
	values, switches := p.valueOptions(), p.switches()
	driverCores := ""
	values["--driver-cores"] = func(v string) { driverCores = v }
	for i := p.special(argv); i < len(argv); i++ {
		name, value, joined := splitOption(argv[i])
		if set, ok := switches[name]; ok {
			set()
			continue
		}
		set, ok := values[name]
		switch {
		case !ok && strings.HasPrefix(argv[i], "-"):
			return nil, lineError("Unrecognized option: " + argv[i])
		case !ok:
			p.optionsEnd = i
			p.PrimaryResource, p.AppArgs = argv[i], argv[i+1:]
			i = len(argv)
			continue
		case !joined && i+1 >= len(argv):
			return nil, lineError("Missing argument for option '" + name + "'.")
		case !joined:
			i++
			value = argv[i]
		}
		if set(value); p.badConf != "" {
			return nil, lineError("Invalid argument to --conf: " + p.badConf)
		}
	}
	if driverCores != "" { // the option beats --conf, wherever it stands
		p.Conf["spark.driver.cores"] = driverCores
	}
	return p, nil
}

// special reads a first argument that is no option of its own and returns the index of the first option.
func (p *parsed) special(argv []string) int {
	if len(argv) == 0 {
		return 0
	}
	switch argv[0] {
	case "run-example":
		p.example = true
	case "pyspark-shell-main", "sparkr-shell-main":
		p.shell = true
	default:
		return 0
	}
	return 1
}

// setConf is --conf.
func (p *parsed) setConf(value string) {
	k, v, ok := strings.Cut(value, "=")
	if !ok {
		p.badConf = value
	}
	p.Conf[k] = v
}

// splitOption cuts --name=value; the value has at least one character, else the text is no option.
func splitOption(arg string) (name, value string, joined bool) {
	if strings.HasPrefix(arg, "--") {
		if n, v, ok := strings.Cut(arg, "="); ok && len(n) > 2 && v != "" {
			return n, v, true
		}
	}
	return arg, "", false
}
