package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/submit"
)

// S002, S009 to S011: the grammar.
func TestParse(t *testing.T) {
	conf := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	tests := []struct {
		line []string
		want submit.Args
		err  string
	}{
		{line: []string{"--name=n", "--conf=k.x=v", "-c", "spark.a=b", "--jars", "a", "--jars", "b", "x.jar"},
			want: submit.Args{Name: "n", Jars: "b", Conf: conf("k.x", "v", "spark.a", "b"), PrimaryResource: "x.jar"}},
		{line: []string{"--name="}, err: "Unrecognized option: --name="},
		{line: []string{"--name", "--class", "x.jar"}, want: submit.Args{Name: "--class", Conf: conf(), PrimaryResource: "x.jar"}},
		{line: []string{"--frob", "x"}, err: "Unrecognized option: --frob"},
		{line: []string{"-x"}, err: "Unrecognized option: -x"},
		{line: []string{"--master"}, err: "Missing argument for option '--master'."},
		{line: []string{"--conf", "foo", "a.jar"}, err: "Invalid argument to --conf: foo"},
		{line: []string{"--conf", "foo", "--frob"}, err: "Invalid argument to --conf: foo"},
		{line: []string{"--verbose=x", "--supervise", "--queue", "q", "a.jar"}, want: submit.Args{Verbose: true, Conf: conf(), PrimaryResource: "a.jar"}},
		{line: []string{"-v", "--conf", "spark.e= a=b ", "--conf", "spark.n=", "a.jar", "--", "a b", "", "--conf", "日本", "-h"},
			want: submit.Args{Verbose: true, Conf: conf("spark.e", " a=b ", "spark.n", ""), PrimaryResource: "a.jar", AppArgs: []string{"--", "a b", "", "--conf", "日本", "-h"}}},
		{line: []string{"--driver-memory", "1g", "--conf", "spark.driver.memory=2g", "a.jar"}, want: submit.Args{Conf: conf("spark.driver.memory", "2g"), PrimaryResource: "a.jar"}},
		{line: []string{"--conf", "spark.driver.memory=2g", "--driver-memory", "1g", "a.jar"}, want: submit.Args{Conf: conf("spark.driver.memory", "1g"), PrimaryResource: "a.jar"}},
		{line: []string{"--driver-cores", "3", "--conf", "spark.driver.cores=5", "a.jar"}, want: submit.Args{Conf: conf("spark.driver.cores", "3"), PrimaryResource: "a.jar"}},
		{line: []string{"--executor-memory", "5g", "--conf", "spark.executor.memory=9g", "a.jar"},
			want: submit.Args{ExecutorMemory: "5g", Conf: conf("spark.executor.memory", "9g"), PrimaryResource: "a.jar"}},
		{line: []string{"--kill", "a", "--status", "b"}, want: submit.Args{Actions: []string{"KILL", "REQUEST_STATUS"}, SubmissionID: "b", Conf: conf()}},
		{line: []string{"--extra-properties-file", "a", "--extra-properties-file=b", "--load-spark-defaults", "--properties-file", "p", "a.jar"},
			want: submit.Args{ExtraPropertiesFiles: []string{"a", "b"}, LoadSparkDefaults: true, PropertiesFile: "p", Conf: conf(), PrimaryResource: "a.jar"}},
		{line: strings.Fields("--master m --deploy-mode d --remote r --class c --files f --archives z --py-files y --packages k --exclude-packages x --repositories o" +
			" --executor-cores 1 --num-executors 2 --total-executor-cores 3 --principal p --keytab t --proxy-user u --driver-java-options j --driver-library-path l" +
			" --driver-class-path q --driver-default-class-path w spark-internal"),
			want: submit.Args{Master: "m", DeployMode: "d", Remote: "r", MainClass: "c", Files: "f", Archives: "z", PyFiles: "y", Packages: "k", ExcludePackages: "x",
				Repositories: "o", ExecutorCores: "1", NumExecutors: "2", TotalExecutorCores: "3", Principal: "p", Keytab: "t", ProxyUser: "u", PrimaryResource: "spark-internal",
				Conf: conf("spark.driver.extraJavaOptions", "j", "spark.driver.extraLibraryPath", "l", "spark.driver.extraClassPath", "q", "spark.driver.defaultExtraClassPath", "w")}},
	}
	for _, tt := range tests {
		p, err := parse(tt.line)
		if err != nil || tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%q: %v, want %q", tt.line, err, tt.err)
			}
			continue
		}
		if len(p.AppArgs) == 0 {
			p.AppArgs = nil
		}
		if diff := cmp.Diff(tt.want, p.Args); diff != "" {
			t.Errorf("%q: %s", tt.line, diff)
		}
	}
}

// Every option of the help is one that is understood.
func TestHelpMatchesTheGrammar(t *testing.T) {
	for _, g := range submitOptions() {
		for _, o := range g.options {
			name := strings.Fields(strings.ReplaceAll(o.name, ",", ""))[0]
			_, err := parse([]string{name, "a=b", "x"})
			if err != nil {
				t.Errorf("%s: %v", o.name, err)
			}
		}
	}
}
