package submit

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/kubespark/kubespark/internal/feature"
)

// resourceKind says what language a main program is in; text is its resolved URI.
func resourceKind(text string) string {
	switch {
	case strings.HasSuffix(text, ".py"):
		return feature.Python
	case strings.HasSuffix(text, ".R"), strings.HasSuffix(text, ".r"):
		return feature.R
	}
	return feature.Java
}

// The classes that run main programs of other languages.
const (
	pythonRunner = "org.apache.spark.deploy.PythonRunner"
	rRunner      = "org.apache.spark.deploy.RRunner"
)

// mainClass is the class that the driver's spark-submit runs.
func mainClass(kind, given, resource string, env Env) (string, error) {
	switch {
	case kind == feature.Python:
		return pythonRunner, nil
	case kind == feature.R:
		return rRunner, nil
	case given != "":
		return given, nil
	}
	fail := func(cause string) error {
		return sparkError(fmt.Sprintf("Failed to get main class in JAR with error '%s'.  Please specify one with --class.", cause))
	}
	if resource == noResource {
		return "", sparkError("No main class set in JAR; please specify one with --class.")
	}
	var text []byte
	var err error
	switch {
	case isHTTP(resource):
		if text, err = env.fetch(resource, maxJar); err != nil {
			return "", fail(err.Error())
		}
	case !isLocal(resource):
		return "", fail(fmt.Sprintf("No FileSystem for scheme %q", schemeOf(resource)))
	default:
		if text, err = env.Files.ReadFile(localPath(resource)); err != nil {
			return "", fail(fmt.Sprintf("File %s %s", resource, missing(err)))
		}
	}
	class, err := manifestMainClass(text)
	if err != nil {
		return "", fail(err.Error())
	}
	if class == "" {
		return "", sparkError("No main class set in JAR; please specify one with --class.")
	}
	return class, nil
}

// manifestMainClass reads Main-Class of a jar; "" if the manifest has none.
func manifestMainClass(jar []byte) (string, error) {
	z, err := zip.NewReader(bytes.NewReader(jar), int64(len(jar)))
	if err != nil {
		return "", fmt.Errorf("it is no jar: %w", err)
	}
	f, err := z.Open("META-INF/MANIFEST.MF")
	if err != nil {
		return "", nil // as a jar without a manifest
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return "", fmt.Errorf("its manifest cannot be read: %w", err)
	}
	lines := strings.NewReplacer("\r\n ", "", "\n ", "", "\r ", "").Replace(string(text))
	for _, line := range strings.FieldsFunc(lines, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.EqualFold(k, "Main-Class") {
			return strings.TrimSpace(v), nil
		}
	}
	return "", nil
}
