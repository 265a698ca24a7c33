package cli

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"strings"
)

// sparkSubmitName is the name under which other tools find us. It is also the word that an installed script puts before its
// own path and the arguments.
const sparkSubmitName = "spark-submit"

// programPath is the package path of this program, as every Go binary records it.
const programPath = "github.com/kubespark/kubespark/cmd/kubespark"

// keptSuffix names the original beside an installed file of ours.
const keptSuffix = ".orig"

// isSubmitName says whether a program of that name has to behave as spark-submit: tools look for all three.
func isSubmitName(name string) bool {
	return name == sparkSubmitName || name == "spark2-submit" || name == "spark3-submit"
}

// scriptText is the installed file: two lines that run the program, with the path they were called by.
func scriptText(program string) string {
	return scriptHead + strings.ReplaceAll(program, "'", `'\''`) + scriptTail
}

const (
	scriptHead = "#!/bin/sh\nexec '"
	scriptTail = "' " + sparkSubmitName + ` "$0" "$@"` + "\n"
)

// isScript says whether a file's beginning is an installed script of any kubespark.
func isScript(text string) bool {
	return strings.HasPrefix(text, scriptHead) && strings.HasSuffix(text, scriptTail) && strings.Count(text, "\n") == 2
}

// maxScript is more than any installed script has.
const maxScript = 8 << 10

// isOurs says whether a file is kubespark in whatever form: this very file (by device and inode), an installed script, or
// another copy of the program.
func (p Process) isOurs(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if self, err := p.Executable(); err == nil {
		if me, err := os.Stat(self); err == nil && os.SameFile(me, info) {
			return true
		}
	}
	if info.Size() <= maxScript {
		text, err := os.ReadFile(path)
		return err == nil && isScript(string(text))
	}
	built, err := buildinfo.ReadFile(path)
	return err == nil && built.Path == programPath
}

// called is where a spark-submit of ours was called from: the installed file, links resolved; "" under our own name.
func (p Process) called() string {
	path := ""
	switch {
	case isSubmitName(filepath.Base(p.Args[0])):
		path, _ = p.Executable() // without it the name alone has to do
	case p.byScript():
		path = p.Args[2]
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && path != "" {
		return real
	}
	return path
}

// byScript says whether an installed script called this program.
func (p Process) byScript() bool { return len(p.Args) > 2 && p.Args[1] == sparkSubmitName }

// homeOf is the Spark distribution that a spark-submit in its bin folder belongs to, as Spark's own script finds it when
// SPARK_HOME is not set; "" if there is none.
func homeOf(installed string) string {
	if installed == "" {
		return ""
	}
	bin := filepath.Dir(installed)
	candidates := []string{filepath.Dir(bin)}
	if _, err := os.Stat(filepath.Join(bin, "find_spark_home.py")); err == nil { // put there by pip
		found, _ := filepath.Glob(filepath.Join(filepath.Dir(bin), "lib", "python3*", "site-packages", "pyspark")) // the pattern is good
		candidates = append(found, candidates...)
	}
	for _, c := range candidates {
		if info, err := os.Stat(filepath.Join(c, "jars")); err == nil && info.IsDir() {
			return c
		}
	}
	return ""
}

// othersCanRun says whether users other than the owner reach and run a program.
func othersCanRun(program string) bool {
	for path := program; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		if path == filepath.Dir(path) {
			return true
		}
	}
}

// withHome sets SPARK_HOME where it is not set, as Spark's own script does.
func withHome(environ []string, home string) []string {
	if given, _ := environment(environ)("SPARK_HOME"); given != "" || home == "" {
		return environ
	}
	return append(environ[:len(environ):len(environ)], "SPARK_HOME="+home)
}
