package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestConfExplain(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "spark-defaults.conf", "spark.kubernetes.report.interval 5s\nspark.kubernetes.authenticate.driver.oauthToken topsecret\n")
	tests := []struct {
		args []string
		want []string
		not  string
		code int
		err  string
	}{
		{args: []string{"spark.kubernetes.report.interval"}, want: []string{"KEY:       spark.kubernetes.report.interval\n", "DEFAULT:   1s (Spark 4.2.0)\n", "TYPE:      time in MILLISECONDS; a bare number is in ms\n",
			"CHECK:     Logging interval must be a positive time value.\n", "SINCE:     2.3.0\n", "READ BY:   submission\n", "SET TO:    5s (spark-defaults.conf in " + dir + ")\n",
			"\nInterval between reports"}},
		{args: []string{"spark.kubernetes.authenticate.driver.oauthToken"}, want: []string{"SHOWN:     never", "SET TO:    *********(redacted) "}, not: "topsecret"},
		{args: []string{"spark.kubernetes.driver.container.image"}, want: []string{"DEFAULT:   = spark.kubernetes.container.image (Spark 4.2.0)\n"}},
		{args: []string{"--spark-version", "4.3.0", "spark.kubernetes.executor.useDriverPodIP"}, want: []string{"DEFAULT:   true (Spark 4.3.0)\n"}},
		{args: []string{"spark.kubernetes.executor.useDriverPodIP"}, want: []string{"DEFAULT:   false (Spark 4.2.0)\n"}},
		{args: []string{"spark.kubernetes.container.image.pullPolicy"}, want: []string{"VALUES:    Always, Never, IfNotPresent\n"}},
		{args: []string{"spark.yarn.keytab"}, want: []string{"KEY:       spark.kerberos.keytab\n", "OLD NAME:  spark.yarn.keytab\n"}},
		{args: []string{"spark.kubernetes.driver.label.team"}, want: []string{"KEY:       spark.kubernetes.driver.label.[LabelName]\n", "READ BY:   driver pod, Service\n"}},
		{args: []string{"spark.kubespark.jar"}, want: []string{"READ BY:   kubespark\n"}},
		{args: []string{"spark.kubernetes.namspace"}, code: 1, err: "error: kubespark reads no property spark.kubernetes.namspace: did you mean spark.kubernetes.namespace?"},
		{args: []string{"spark.frob"}, code: 1, err: "error: kubespark reads no property spark.frob: see kubespark conf list"},
		{args: nil, code: 2},
		{args: []string{"--spark-version", "x", "spark.jars"}, code: 1, err: `error: spark.kubespark.sparkVersion: "x" is not a Spark version such as 4.2.0`},
	}
	for _, tt := range tests {
		r := &run{environ: []string{"SPARK_CONF_DIR=" + dir}}
		code := r.do(append([]string{"conf", "explain"}, tt.args...)...)
		if code != tt.code || tt.err != "" && r.lastLine() != tt.err {
			t.Errorf("%q: code %d, %s", tt.args, code, r.stderr.String())
		}
		for _, want := range tt.want {
			if !strings.Contains(r.stdout.String(), want) {
				t.Errorf("%q lacks %q:\n%s", tt.args, want, r.stdout.String())
			}
		}
		if tt.not != "" && strings.Contains(r.stdout.String(), tt.not) {
			t.Errorf("%q shows %q", tt.args, tt.not)
		}
	}
}

func TestConfList(t *testing.T) {
	r := &run{}
	if code := r.do("conf", "list", "report.INTERVAL"); code != 0 || r.stdout.String() != "KEY                                DEFAULT   TYPE                   SINCE   READ BY\n"+
		"spark.kubernetes.report.interval   1s        time in MILLISECONDS   2.3.0   submission\n" {
		t.Errorf("%d\n%s%s", code, r.stdout.String(), r.stderr.String())
	}
	r = &run{}
	var list []property
	if code := r.do("conf", "list", "-o", "json"); code != 0 || json.Unmarshal(r.stdout.Bytes(), &list) != nil || len(list) < 240 {
		t.Errorf("%d, %d properties", code, len(list))
	}
	for _, p := range list {
		if p.Doc == "" || p.Type == "" {
			t.Errorf("%+v", p)
		}
	}
	r = &run{}
	if code := r.do("conf", "list", "nothing.like.it"); code != 0 || r.stdout.Len() > 0 || r.lastLine() != `No property holds "nothing.like.it".` {
		t.Errorf("%d, %s", code, r.stderr.String())
	}
	r = &run{}
	if code := r.do("conf", "list", "-o", "yaml"); code != 2 {
		t.Errorf("%d, %s", code, r.stderr.String())
	}
}
