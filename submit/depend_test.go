package submit

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/feature"
)

// S032.
func TestResolveURI(t *testing.T) {
	dir := t.TempDir()
	f := OSFiles{Dir: dir}
	for in, want := range map[string]string{
		"/jar1": "file:/jar1", "rel.py": "file:" + dir + "/rel.py", "hdfs:/f": "hdfs:/f", "f#alias": "file:" + dir + "/f#alias", "s3a://b/x": "s3a://b/x",
		"/a b.jar": "file:/a%20b.jar", "/x/../y": "file:/y", "/100%": "file:/100%25", "local:///a": "local:///a", "/é": "file:/é",
	} {
		if got := resolveURI(in, f); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	if got := localPath("file:/a%20b.jar#x"); got != "/a b.jar" {
		t.Error(got)
	}
	if got := localPath("file:///a/b"); got != "/a/b" {
		t.Error(got)
	}
}

// S033 to S035.
func TestResolveList(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"d/a.txt": "", "d/b.txt": "", "d/c.zip": "", "e/1.zip": "", "e/2.zip": "", "f/a.txt": "", "f/b.txt": "", "f/.a.txt.crc": ""})
	f := fakeLister{OSFiles{Dir: dir}, map[string][]string{"s3a://b/*.jar": {"s3a://b/1.jar", "s3a://b/2.jar"}, "s3a://b/2*": {"s3a://b/2.jar"}, "gs://b/no*": nil}}
	tests := []struct{ in, want, warn, err string }{
		{in: "d/*.txt,d,https://h/z#zz", want: "file:" + dir + "/d/a.txt,file:" + dir + "/d/b.txt,https://h/z#zz", warn: "spark.files: d names no regular file and is left out"},
		{in: "d/*.zip#x", want: "file:" + dir + "/d/c.zip#x"},
		{in: "e/*.zip#x", err: "file:" + dir + "/e/*.zip resolves ambiguously to multiple files: file:" + dir + "/e/1.zip,file:" + dir + "/e/2.zip"},
		{in: "s3a://b/k.jar", want: "s3a://b/k.jar"},
		{in: "s3a://b/*.jar,x", want: "s3a://b/1.jar,s3a://b/2.jar,file:" + dir + "/x"},
		{in: "s3a://b/2*#two.jar", want: "s3a://b/2.jar#two.jar"},
		{in: "s3a://b/*.jar#x", err: "s3a://b/*.jar resolves ambiguously to multiple files: s3a://b/1.jar,s3a://b/2.jar"},
		{in: "gs://b/no*", warn: "spark.files: gs://b/no* names no regular file and is left out"},
		{in: "s3a://down/*.jar", err: "spark.files: the files of s3a://down/*.jar cannot be listed: no such pattern"},
		{in: "cosn://b/*.jar", err: "spark.files: the pattern cosn://b/*.jar cannot be listed by native submission; name the files"},
		{in: "cosn://b/k.jar", want: "cosn://b/k.jar"},
		{in: "f/[!b].txt", want: "file:" + dir + "/f/a.txt"},
		{in: "f/*", want: "file:" + dir + "/f/a.txt,file:" + dir + "/f/b.txt"},
		{in: "none.txt", want: "file:" + dir + "/none.txt"},
		{in: "no*.txt", warn: "spark.files: no*.txt names no regular file and is left out"},
		{in: "local:///x/*.jar", want: "local:///x/*.jar"},
	}
	for _, tt := range tests {
		var log notices
		got, err := resolveList("spark.files", tt.in, f, &log)
		got = strings.ReplaceAll(got, "%2A", "*")
		if e := strings.ReplaceAll(errorText(err), "%2A", "*"); got != tt.want || e != tt.err {
			t.Errorf("%s: %q, %q; want %q, %q", tt.in, got, e, tt.want, tt.err)
		}
		warn := ""
		if len(log) > 0 {
			warn = log[0].Text
		}
		if warn != tt.warn {
			t.Errorf("%s: warning %q, want %q", tt.in, warn, tt.warn)
		}
	}
}

// S030.
func TestResourceKind(t *testing.T) {
	for in, want := range map[string]string{"x.py": feature.Python, "x.R": feature.R, "x.r": feature.R, "x.jar": feature.Java, "x": feature.Java} {
		if got := resourceKind(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}

// S029.
func TestMainClass(t *testing.T) {
	dir := t.TempDir()
	jar := func(manifest string) string {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		if w, err := z.Create("META-INF/MANIFEST.MF"); err == nil {
			fmt.Fprint(w, manifest)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	write(t, dir, map[string]string{"a.jar": jar("Manifest-Version: 1.0\r\nMain-Class: org.example.Ma\r\n in\r\n"), "b.jar": jar("Manifest-Version: 1.0\r\n"), "c.jar": "no zip"})
	f := OSFiles{Dir: dir}
	tests := []struct{ kind, given, resource, want, err string }{
		{feature.Java, "", "local:///a.jar", "", `Failed to get main class in JAR with error 'No FileSystem for scheme "local"'.  Please specify one with --class.`},
		{feature.Java, "", "file:" + dir + "/a.jar", "org.example.Main", ""},
		{feature.Java, "", "file:" + dir + "/b.jar", "", "No main class set in JAR; please specify one with --class."},
		{feature.Java, "", "file:" + dir + "/c.jar", "", "Failed to get main class in JAR with error 'it is no jar: zip: not a valid zip file'.  Please specify one with --class."},
		{feature.Java, "", "file:/nope.jar", "", "Failed to get main class in JAR with error 'File file:/nope.jar does not exist'.  Please specify one with --class."},
		{feature.Java, "a.B", "file:/nope.jar", "a.B", ""},
		{feature.Java, "", "spark-internal", "", "No main class set in JAR; please specify one with --class."},
		{feature.Python, "", "x.py", "org.apache.spark.deploy.PythonRunner", ""},
		{feature.R, "x.Y", "x.R", "org.apache.spark.deploy.RRunner", ""},
	}
	for _, tt := range tests {
		if got, err := mainClass(tt.kind, tt.given, tt.resource, Env{Files: f}); got != tt.want || errorText(err) != tt.err {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
	}
}

// S031, S036 to S042, C029, C030: what is uploaded where, and what the driver is told.
func TestUploadPlan(t *testing.T) {
	env := testEnv(t, nil)
	dir := env.Files.(OSFiles).Dir
	write(t, dir, map[string]string{"a.jar": "A", "c.jar": "C", "sub/a.jar": "A2", "env.zip": "Z", "f.txt": "F", "main.py": "M", "lib.py": "L", "main.R": ""})
	up := dir + "/up"
	uuid := "spark-upload-abababab-abab-4bab-abab-abababababab"
	withPath := func(path string, more map[string]string) map[string]string {
		m := map[string]string{"spark.kubernetes.file.upload.path": path}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	tests := []struct {
		name  string
		main  string
		props map[string]string
		want  map[string]string
		res   string
		err   string
	}{
		{name: "S036", props: map[string]string{"spark.jars": "a.jar"},
			err: "Please specify spark.kubernetes.file.upload.path property. It is needed for file:" + dir + "/a.jar of spark.jars; use local:// for a file inside the image"},
		{name: "S037", props: withPath(up, map[string]string{"spark.jars": "a.jar,http://h/r.jar,c.jar,local:///x.jar"}),
			want: map[string]string{"spark.jars": up + "/" + uuid + "/a.jar," + up + "/" + uuid + "/c.jar,http://h/r.jar,local:///x.jar"}},
		{name: "S038 a slash at the end", props: withPath(up+"/", map[string]string{"spark.files": "f.txt"}), want: map[string]string{"spark.files": up + "//" + uuid + "/f.txt"}},
		{name: "S039", props: withPath("file://"+up, map[string]string{"spark.archives": "env.zip#environment", "spark.files": "f.txt"}),
			want: map[string]string{"spark.archives": "file:" + up + "/" + uuid + "/env.zip#environment", "spark.files": "file://" + up + "/" + uuid + "/f.txt"}},
		{name: "S040", main: "main.py", props: withPath(up, map[string]string{"spark.submit.pyFiles": "lib.py"}),
			want: map[string]string{"spark.submit.pyFiles": up + "/" + uuid + "/lib.py"}, res: up + "/" + uuid + "/main.py"},
		{name: "S041", props: withPath(up, map[string]string{"spark.files": "nope"}),
			err: "Uploading file " + dir + "/nope failed... It does not exist on this machine (spark.files); use local:// for a file inside the image"},
		{name: "a missing application file", main: "nope.py",
			err: "Uploading file " + dir + "/nope.py failed... It does not exist on this machine (the main application file); use local:// for a file inside the image"},
		{name: "S042", props: withPath("cosn://bucket/p", map[string]string{"spark.files": "f.txt"}),
			err: "spark.kubernetes.file.upload.path: scheme 'cosn' is not supported by native submission; set spark.kubespark.submit.fallback=spark-submit to use the JVM"},
		{name: "S031", main: "main.R", props: withPath(up, nil),
			err: "The R program file:" + dir + "/main.R lies on this machine, and Spark does not ship it; use local:// for a file inside the image, or a remote URI"},
		{name: "S071 the image comes first", props: map[string]string{"spark.kubernetes.container.image": "", "spark.files": "nope"}, err: "Must specify the driver container image"},
		{name: "S044 and S011 a jar given twice is uploaded twice", main: "a.jar", props: withPath(up, map[string]string{"spark.jars": "a.jar"}),
			want: map[string]string{"spark.jars": up + "/" + uuid + "/a.jar," + up + "/" + uuid + "/a.jar"}, res: "spark-internal"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := piArgs(tt.props)
			a.MainClass = "a.B"
			if tt.main != "" {
				a.PrimaryResource = tt.main
			}
			p, err := NewPlan(a, env)
			if errorText(err) != tt.err {
				t.Fatalf("error %q, want %q", errorText(err), tt.err)
			}
			if err != nil {
				return
			}
			for k, v := range tt.want {
				if got := p.driver.Properties[k]; got != v {
					t.Errorf("%s: %s, want %s", k, got, v)
				}
			}
			args := p.driver.Pod.Spec.Containers[0].Args
			if tt.res != "" && args[len(args)-1] != tt.res {
				t.Errorf("resource %s, want %s", args[len(args)-1], tt.res)
			}
			if _, err := os.Stat(up); err == nil {
				t.Error("the plan wrote something")
			}
		})
	}
}

// S038, S041: uploads are made before the first call, keep their sources, and go when the submission fails.
func TestUploadsAreTakenBack(t *testing.T) {
	env := testEnv(t, nil)
	env.Random = nil
	dir := env.Files.(OSFiles).Dir
	write(t, dir, map[string]string{"a.jar": "A", "sub/a.jar": "A2"})
	p := mustPlan(t, piArgs(map[string]string{"spark.jars": "a.jar,sub/a.jar", "spark.kubernetes.file.upload.path": "file://" + dir + "/up"}), env)
	var steps []UploadProgress
	j := &creation{c: &Client{log: slogTo(&lines{}), progress: func(u UploadProgress) { steps = append(steps, u) }}, p: p}
	if err := j.upload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if first, last := steps[0], steps[len(steps)-1]; first != (UploadProgress{Files: 2, Bytes: 3}) || last != (UploadProgress{2, 2, 3, 3}) {
		t.Errorf("progress from %+v to %+v", first, last)
	}
	copies, err := filepath.Glob(dir + "/up/*/a.jar")
	if err != nil || len(copies) != 2 {
		t.Fatalf("%q, %v", copies, err)
	}
	var texts []string
	for _, f := range copies {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(b))
	}
	if a, b := texts[0], texts[1]; a+b != "AA2" && a+b != "A2A" {
		t.Errorf("%q", texts)
	}
	j.cleanUp(t.Context())
	if left, _ := filepath.Glob(dir + "/up/*"); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
	if _, err := os.Stat(dir + "/a.jar"); err != nil {
		t.Error(err)
	}
}

// S092 to S094, C028.
func TestConfFiles(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"test.txt": "t", "z12.zip": "", "rere.jar": "", "spark.jar": "", "_test": "", "sample.conf": "s", "binary-file.conf": "\xff\xfe",
		"spark-env.sh": "e", "spark-env.sh.template": "", "spark.properties": "", "spark-defaults.conf": "", "sparkly.conf": "", "x.gz": "", "sub/y": "y"}
	write(t, dir, files)
	var log notices
	got, err := confFiles(conf.New(nil), dir, OSFiles{}, &log)
	if diff := cmp.Diff(map[string]string{"test.txt": "t", "_test": "", "sample.conf": "s", "spark-env.sh": "e"}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if len(log) != 2 || log[0].Text != "Unable to read a non UTF-8 encoded file "+dir+"/binary-file.conf. Skipping..." ||
		log[1].Text != "Spark configuration files loaded from Some("+dir+") : _test,test.txt,sample.conf,spark-env.sh" {
		t.Errorf("%q", log)
	}
	sized := t.TempDir()
	for i := 1; i <= 9; i++ {
		write(t, sized, map[string]string{fmt.Sprintf("testConf.%d", i): "0123456789"})
	}
	log = nil
	got, err = confFiles(conf.New(map[string]string{"spark.kubernetes.configMap.maxSize": "80"}), sized, OSFiles{}, &log)
	if err != nil || len(got) != 3 || got["testConf.3"] == "" {
		t.Errorf("%v, %v", got, err)
	}
	if want := "Skipped conf file(s) testConf.4,testConf.5,testConf.6,testConf.7,testConf.8,testConf.9, due to size constraint. Please see, config: " +
		"`spark.kubernetes.configMap.maxSize` for more details."; log[1].Text != want {
		t.Errorf("%q", log[1].Text)
	}
}
