package submit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// A program that imports conf and submit keeps its process to itself: they end it nowhere, read no environment, write to no
// terminal, and have no state that changes. File access is in the types that a caller can replace.
func TestPackagesKeepToThemselves(t *testing.T) {
	forbidden := map[string]string{
		"os.Exit": "ends the process", "os.Getenv": "reads the environment", "os.LookupEnv": "reads the environment", "os.Environ": "reads the environment",
		"os.Setenv": "changes the environment", "os.Chdir": "changes the process", "os.Stdout": "writes to the terminal", "os.Stderr": "writes to the terminal", "os.Stdin": "reads the terminal",
		"fmt.Print": "writes to the terminal", "fmt.Println": "writes to the terminal", "fmt.Printf": "writes to the terminal",
		"log.Fatal": "ends the process", "log.Fatalf": "ends the process", "log.Print": "writes to the terminal", "log.Printf": "writes to the terminal", "log.Println": "writes to the terminal",
		"slog.Default": "writes to the terminal", "slog.Info": "writes to the terminal", "slog.Warn": "writes to the terminal", "slog.Error": "writes to the terminal", "slog.SetDefault": "changes the process",
		"signal.Notify": "changes the process",
	}
	for _, pattern := range []string{"*.go", "../conf/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 5 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				checkFile(t, file, forbidden)
			}
		}
	}
}

func checkFile(t *testing.T, file string, forbidden map[string]string) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	globals := map[string]bool{}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			t.Errorf("%s registers something at its start", set.Position(fn.Pos()))
		}
		if v, ok := d.(*ast.GenDecl); ok && v.Tok == token.VAR {
			for _, s := range v.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					globals[n.Name] = n.Name != "_"
				}
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && forbidden[x.Name+"."+n.Sel.Name] != "" {
				t.Errorf("%s: %s.%s %s", set.Position(n.Pos()), x.Name, n.Sel.Name, forbidden[x.Name+"."+n.Sel.Name])
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && n.Tok == token.ASSIGN && globals[name.Name] && name.Obj != nil && name.Obj.Pos() < n.Pos() && isGlobal(f, name) {
					t.Errorf("%s changes the package's variable %s", set.Position(n.Pos()), name.Name)
				}
			}
		}
		return true
	})
}

// isGlobal says whether a name that is written to is the package's own variable.
func isGlobal(f *ast.File, name *ast.Ident) bool {
	o := f.Scope.Lookup(name.Name)
	return o != nil && o == name.Obj
}
