package depcheck

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// goPackage is what `go list -json` says of one package.
type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T, patterns ...string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps"}, patterns...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// ours returns the module's packages among imports, relative to the module.
func ours(imports []string) []string {
	var own []string
	for _, i := range imports {
		if rel, ok := strings.CutPrefix(i, module); ok && rel != "internal/version" {
			own = append(own, rel)
		}
	}
	return own
}

func TestImportsPointOneWay(t *testing.T) {
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(name, "jvm/") || name == "internal/kubetest" {
			continue // tests and their helpers
		}
		rule, ok := allowed[name]
		if !ok {
			t.Errorf("package %s has no row in rules_test.go", name)
			continue
		}
		for _, i := range ours(p.Imports) {
			if !slices.Contains(rule, i) {
				t.Errorf("%s must not import %s", name, i)
			}
		}
	}
}

// The row of a package that is gone is no rule.
func TestNoStaleRows(t *testing.T) {
	exists := map[string]bool{}
	for _, p := range list(t, "./...") {
		exists[strings.TrimPrefix(p.ImportPath, module)] = true
	}
	for name := range allowed {
		if !exists[name] {
			t.Errorf("rules_test.go has a row for %s, which is no package", name)
		}
	}
}

func TestHeavyLibrariesStayOut(t *testing.T) {
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		for prefix, banned := range heavy {
			if name != prefix && prefix != "..." {
				continue
			}
			for _, dep := range p.Deps {
				for _, b := range banned {
					if dep == b || strings.HasPrefix(dep, b+"/") {
						t.Errorf("%s must not depend on %s", name, dep)
					}
				}
			}
		}
	}
}
