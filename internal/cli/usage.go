package cli

import (
	"fmt"
	"io"
	"strings"
)

// option is one line of the help; the order within a group is the order shown.
type option struct{ name, text string }

type optionGroup struct {
	title   string
	options []option
}

// submitOptions are all options of spark-submit that a Kubernetes user can give, by group.
func submitOptions() []optionGroup {
	return []optionGroup{
		{"Where to run", []option{
			{"--master URL", "k8s://https://host:port; other masters are handed to the real spark-submit (default: local[*])"},
			{"--deploy-mode MODE", "cluster: the driver runs in a pod; client: here, by the real spark-submit (default: client)"},
			{"--remote URL", "Spark Connect server, by the real spark-submit"},
		}},
		{"Application", []option{
			{"--class CLASS", "main class of a Java or Scala application"},
			{"--name NAME", "name of the application"},
			{"--jars LIST", "jars for the class paths of driver and executors, comma separated"},
			{"--py-files LIST", ".zip, .egg or .py files for the PYTHONPATH"},
			{"--files LIST", "files for the working folder of each executor"},
			{"--archives LIST", "archives that are unpacked in the working folder of each executor; NAME.zip#FOLDER names it"},
			{"--packages LIST", "Maven coordinates group:artifact:version, fetched by the driver"},
			{"--exclude-packages LIST", "group:artifact pairs to leave out"},
			{"--repositories LIST", "more repositories for --packages"},
		}},
		{"Configuration", []option{
			{"--conf, -c KEY=VALUE", "a Spark property"},
			{"--properties-file FILE", "file with properties, instead of conf/spark-defaults.conf; - is standard input"},
			{"--load-spark-defaults", "read conf/spark-defaults.conf beside --properties-file, too"},
			{"--extra-properties-file FILE", "file with properties put over the others; may be repeated"},
		}},
		{"Resources", []option{
			{"--driver-memory MEM", "memory of the driver, such as 1000M or 2G (default: 1024M)"},
			{"--driver-cores N", "cores of the driver (default: 1)"},
			{"--executor-memory MEM", "memory of each executor (default: 1G)"},
			{"--executor-cores N", "cores of each executor (default: 1)"},
			{"--num-executors N", "number of executors; with dynamic allocation the initial one (default: 2)"},
			{"--total-executor-cores N", "not used on Kubernetes"},
		}},
		{"Driver", []option{
			{"--driver-java-options OPTIONS", "options for the driver's JVM"},
			{"--driver-library-path PATH", "library path of the driver"},
			{"--driver-class-path PATH", "class path of the driver"},
			{"--driver-default-class-path PATH", "class path put before --driver-class-path"},
			{"--supervise", "not used on Kubernetes"},
			{"--queue NAME", "not used on Kubernetes"},
		}},
		{"Security", []option{
			{"--proxy-user USER", "user to act as"},
			{"--principal PRINCIPAL", "Kerberos principal"},
			{"--keytab FILE", "keytab of the principal"},
		}},
		{"Running applications", []option{
			{"--kill ID", "end the application namespace:driver-pod; a trailing * matches all that begin so"},
			{"--status ID", "print its state"},
			{followOption, "show the driver's log on standard output while it runs, and wait for its end"},
		}},
		{"Other", []option{
			{"--help, -h", "this text"},
			{"--verbose, -v", "more output: the final configuration, causes of errors"},
			{"--version", "the version of Spark that is imitated"},
			{"--usage-error", "this text, as after a refused command line"},
		}},
	}
}

const exitCodes = `Exit codes: 0 success; the driver's own when waiting for it (spark.kubernetes.submission.waitAppCompletion);
1 any error; 255 no arguments at all; 130 and 143 interrupted (the application goes on).`

// writeUsage prints the help of submit. lead replaces the first lines, as the launcher's scripts ask for.
func writeUsage(w io.Writer, name, lead string) {
	if lead == "" {
		lead = fmt.Sprintf(`Usage: %[1]s [options] <app jar | python file | R file> [app arguments]
Usage: %[1]s --kill [submission ID] --master [spark://...]
Usage: %[1]s --status [submission ID] --master [spark://...]
Usage: %[1]s run-example [options] example-class [example args]`, name)
	}
	var b strings.Builder
	b.WriteString(lead + "\n")
	for _, g := range submitOptions() {
		b.WriteString("\n" + g.title + ":\n")
		for _, o := range g.options {
			if o.name == followOption && name == sparkSubmitName {
				continue
			}
			fmt.Fprintf(&b, "  %-34s %s\n", o.name, o.text)
		}
	}
	b.WriteString("\n" + exitCodes + "\n")
	_, _ = io.WriteString(w, b.String()) // stderr: nobody to tell
}
