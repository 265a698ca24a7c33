// Package fidelity compares the objects that we build with those of stock Spark. A case is what a user gives; hack/fidelity
// records what stock Spark sends to an API server for it; Compare builds the same case with our code and compares every
// field. Differences that are meant stand in wanted.go, nowhere else.
package fidelity

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The roles of a case.
const (
	Driver   = "driver"   // a submission in cluster mode
	Executor = "executor" // what a driver sends for its executors
)

// The Spark versions that are recorded.
const (
	MainVersion = "4.2.0" // every case
	Older       = "4.1.1" // the cases with Every set
	Newer       = "4.3.0" // the cases with Every set
)

// Dir stands in cases and recordings for the case's own folder.
const Dir = "${DIR}"

// Server is the address of the API server in recordings.
const Server = "127.0.0.1:6443"

// Case is one input.
type Case struct {
	Name  string
	Role  string
	What  string // what it covers, in a few words
	Every bool   // recorded with each version
	// Args are options of the command line of a driver case, before --conf.
	Args []string
	// Conf are properties: --conf of a driver case, a driver's configuration for executors. The value Unset removes one that
	// all cases have.
	Conf map[string]string
	// Main is the main program and its arguments; empty: a jar in the image.
	Main []string
	// Env is set beside what all cases have. Cases with an environment run alone, by bin/spark-submit.
	Env map[string]string
	// Files are written below Dir before the run, those in conf/ into the configuration folder. A text that begins with
	// "manifest:" becomes a jar with that manifest.
	Files map[string]string
	// Profile is the resource profile of executors: "name": amount, or amount:vendor. Empty: the default profile.
	Profile map[string]string
	// Pods is how many pods (or controllers) an executor case waits for; zero: one.
	Pods int
}

// Unset removes a property or variable that all cases have.
const Unset = "\x00unset"

// Versions are those that the case is recorded with.
func (c Case) Versions() []string {
	if c.Every {
		return []string{Older, MainVersion, Newer}
	}
	return []string{MainVersion}
}

// Claims is how many claims a driver makes for an executor of the case.
func (c Case) Claims() int {
	n := 0
	for k := range c.Conf {
		if strings.HasPrefix(k, "spark.kubernetes.executor.volumes.") && strings.HasSuffix(k, ".options.storageClass") {
			n++
		}
	}
	if _, set := c.Conf["spark.kubernetes.allocation.pods.allocator"]; set {
		return 0 // they are templates of the set
	}
	return n
}

// OwnEnvironment says whether the case needs a JVM of its own.
func (c Case) OwnEnvironment() bool {
	return len(c.Env) > 0 || slices.ContainsFunc(slices.Collect(maps.Keys(c.Files)), isConfFile)
}

func isConfFile(name string) bool { return strings.HasPrefix(name, "conf/") }

// Hash changes with the input, so that a recording of another input is noticed.
func (c Case) Hash() string {
	input := []any{c.Env, c.Files, c.Profile, c.Pods}
	if c.Role == Driver {
		input = append(input, c.CommandLine(Server, Dir))
	} else {
		input = append(input, c.DriverConf(Server, Dir))
	}
	text, err := json.Marshal(input)
	if err != nil {
		panic(err) // texts and maps of texts only
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// properties are the case's with those of all cases below them.
func (c Case) properties(base map[string]string) map[string]string {
	p := maps.Clone(base)
	maps.Copy(p, c.Conf)
	maps.DeleteFunc(p, func(_, v string) bool { return v == Unset })
	return p
}

// CommandLine is spark-submit's, with the folder of the case in place of Dir.
func (c Case) CommandLine(server, dir string) []string {
	line := []string{"--master", "k8s://http://" + server, "--deploy-mode", "cluster"}
	main := c.Main
	if len(main) == 0 {
		main = []string{"local:///opt/spark/examples/jars/spark-examples.jar"}
	}
	if strings.HasSuffix(main[0], ".jar") && !slices.Contains(c.Args, "--class") && !strings.HasPrefix(main[0], Dir+"/manifest") {
		line = append(line, "--class", "org.apache.spark.examples.SparkPi")
	}
	if !slices.Contains(c.Args, "--name") {
		line = append(line, "--name", "fidelity")
	}
	line = append(line, c.Args...)
	props := c.properties(map[string]string{
		"spark.kubernetes.container.image":              "example/spark:1",
		"spark.kubernetes.submission.waitAppCompletion": "false",
	})
	for _, k := range slices.Sorted(maps.Keys(props)) {
		line = append(line, "--conf", k+"="+props[k])
	}
	line = append(line, main...)
	for i := range line {
		line[i] = strings.ReplaceAll(line[i], Dir, dir)
	}
	return line
}

// DriverConf is the configuration of a driver whose executors are recorded.
func (c Case) DriverConf(server, dir string) map[string]string {
	props := c.properties(map[string]string{
		"spark.master": "k8s://http://" + server, "spark.app.name": "fidelity", "spark.submit.deployMode": "client",
		"spark.kubernetes.container.image": "example/spark:1", "spark.kubernetes.executor.podNamePrefix": "fidelity-x",
		"spark.driver.host": "driver.example", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.port": "27078",
		"spark.ui.enabled": "false", "spark.executor.instances": "1", "spark.kubernetes.allocation.batch.delay": "101ms",
		"spark.kubernetes.allocation.driver.readinessTimeout": "1s", "spark.scheduler.minRegisteredResourcesRatio": "0",
	})
	for k, v := range props {
		props[k] = strings.ReplaceAll(v, Dir, dir)
	}
	return props
}

// Environment is the one that the case runs in, without PATH and what finds Java and Spark.
func (c Case) Environment(dir string) map[string]string {
	env := map[string]string{"SPARK_USER": "analyst", "SPARK_CONF_DIR": dir + "/conf"}
	for k, v := range c.Env {
		env[k] = strings.ReplaceAll(v, Dir, dir)
	}
	maps.DeleteFunc(env, func(_, v string) bool { return v == Unset })
	return env
}

// WriteFiles makes the case's folder.
func (c Case) WriteFiles(dir string) error {
	files := map[string]string{"conf/log4j2.properties": logConf, "up/.keep": ""}
	maps.Copy(files, c.Files)
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("case %s: %w", c.Name, err)
		}
		content := []byte(text)
		if manifest, ok := strings.CutPrefix(text, "manifest:"); ok {
			var err error
			if content, err = jar(manifest); err != nil {
				return fmt.Errorf("case %s: %s: %w", c.Name, name, err)
			}
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return fmt.Errorf("case %s: %w", c.Name, err)
		}
	}
	return nil
}

// logConf is the configuration file that all cases ship; it keeps the recorder's own output short.
const logConf = "rootLogger.level = warn\nrootLogger.appenderRef.stderr.ref = console\nappender.console.type = Console\n" +
	"appender.console.name = console\nappender.console.target = SYSTEM_ERR\nappender.console.layout.type = PatternLayout\n" +
	"appender.console.layout.pattern = %p %c{1}: %m%n\n"

func jar(manifest string) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("META-INF/MANIFEST.MF")
	if err != nil {
		return nil, err
	}
	if _, err := w.Write([]byte(manifest)); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}
