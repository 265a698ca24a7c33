package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// scenario is one row of the list.
type scenario struct{ id, title string }

var idText = regexp.MustCompile(`^[PSEC][0-9]{3}$`)

// readList reads the rows id, TAB, title; lines with # are comments.
func readList(file string) ([]scenario, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []scenario
	seen := map[string]bool{}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		id, title, ok := strings.Cut(line, "\t")
		if !ok || !idText.MatchString(id) || title == "" || seen[id] {
			return nil, fmt.Errorf("%s:%d: not a new id, a tab and a title: %q", file, i+1, line)
		}
		seen[id] = true
		list = append(list, scenario{id, title})
	}
	return list, nil
}

// readReasons reads the rows of the table "Not tested": ids, and why.
func readReasons(file string, list []scenario) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	_, section, ok := strings.Cut(string(text), "\n## Not tested\n")
	if !ok {
		return nil, nil
	}
	section, _, _ = strings.Cut(section, "\n## ")
	reasons := map[string]string{}
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		ids := idsIn(cells[0])
		if len(cells) != 2 || len(ids) == 0 {
			continue
		}
		for _, id := range ids {
			if !slices.ContainsFunc(list, func(s scenario) bool { return s.id == id }) {
				return nil, fmt.Errorf("%s: %s is in the table \"Not tested\", but not in docs/scenarios.tsv", file, id)
			}
			reasons[id] = strings.TrimSpace(cells[1])
		}
	}
	return reasons, nil
}

var ids = regexp.MustCompile(`\b([PSEC])([0-9]{3})(?:(?: to |-|–)([PSEC])?([0-9]{3}))?\b`)

// idsIn returns the scenarios that a text names, ranges such as "S033 to S035" as all that are in them.
func idsIn(text string) []string {
	var out []string
	for _, m := range ids.FindAllStringSubmatch(text, -1) {
		first, _ := strconv.Atoi(m[2]) // three digits
		last := first
		if m[4] != "" && (m[3] == "" || m[3] == m[1]) {
			last, _ = strconv.Atoi(m[4])
		} else if m[4] != "" {
			out = append(out, m[3]+m[4])
		}
		for n := first; n <= last; n++ {
			out = append(out, fmt.Sprintf("%s%03d", m[1], n))
		}
	}
	return out
}

// findTests maps each scenario to the tests that name it, as "TestName (folder)": in their comment or their body. A test
// that is no Go is named by its file.
func findTests(root string) (map[string][]string, error) {
	tests := map[string][]string{}
	add := func(name, text string) {
		for _, id := range idsIn(text) {
			if !slices.Contains(tests[id], name) {
				tests[id] = append(tests[id], name)
			}
		}
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata" || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir(), !isTest(path), strings.Contains(filepath.ToSlash(path), "hack/scenarios/"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if filepath.Ext(path) != ".go" {
			add(filepath.ToSlash(rel), string(text))
			return nil
		}
		return goTests(filepath.ToSlash(rel), text, add)
	})
	return tests, err
}

// isTest says whether a file holds tests, by its name.
func isTest(path string) bool {
	name := filepath.Base(path)
	return strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "Test.scala") || strings.HasSuffix(name, "Suite.scala")
}

// goTests reports the text of each test function, its comment included. Tables and helpers outside of functions count for
// the file.
func goTests(path string, text []byte, add func(name, text string)) error {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	offset := func(p token.Pos) int { return files.Position(p).Offset }
	rest := 0
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		from, to := offset(fn.Pos()), offset(fn.End())
		if fn.Doc != nil {
			from = offset(fn.Doc.Pos())
		}
		add(path, string(text[rest:from]))
		rest = to
		// A comment behind the opening line belongs to the function: its text is inside from and to.
		name := path
		if strings.HasPrefix(fn.Name.Name, "Test") || strings.HasPrefix(fn.Name.Name, "Example") || strings.HasPrefix(fn.Name.Name, "Fuzz") {
			name = fn.Name.Name + " (" + filepath.ToSlash(filepath.Dir(path)) + ")"
		}
		add(name, string(text[from:to]))
	}
	add(path, string(text[rest:]))
	return nil
}
