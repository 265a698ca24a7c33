package conf

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestEntryKinds(t *testing.T) {
	c := New(map[string]string{
		"i": " 7 ", "ibad": "5.0", "ibig": "2147483648", "l": "2147483648", "b": " TRUE ", "bbad": "", "f": "0",
		"t": "1500ms", "tbad": "1.5s", "m": "1g", "mbad": "1.5g", "list": "a, b,", "e": "B", "ebad": "b", "s": " x ",
		"small": "0", "smallt": "50", "smallm": "1", "old": "9",
	})
	pos := Check(func(n int) bool { return n > 0 }, "it must be positive")
	tests := []struct {
		name      string
		got, want any
		err       string
	}{
		{name: "int", got: get(c, Int("i")), want: 7},
		{name: "int mismatch", got: get(c, Int("ibad")), err: `[INVALID_CONF_VALUE.TYPE_MISMATCH] The value '5.0' in the config "ibad" is invalid. It should be a/an 'int' value. SQLSTATE: 22022`},
		{name: "int range", got: get(c, Int("ibig")), err: `[INVALID_CONF_VALUE.TYPE_MISMATCH] The value '2147483648' in the config "ibig" is invalid. It should be a/an 'int' value. SQLSTATE: 22022`},
		{name: "long", got: get(c, Long("l")), want: int64(2147483648)},
		{name: "long default", got: get(c, Long("none", Default(3))), want: int64(3)},
		{name: "bool", got: get(c, Bool("b")), want: true},
		{name: "bool mismatch", got: get(c, Bool("bbad")), err: `[INVALID_CONF_VALUE.TYPE_MISMATCH] The value '' in the config "bbad" is invalid. It should be a/an 'boolean' value. SQLSTATE: 22022`},
		{name: "float", got: get(c, Float("f")), want: 0.0},
		{name: "time truncates", got: get(c, Millis("t", time.Second)), want: time.Second},
		{name: "time mismatch", got: get(c, Millis("tbad", time.Second)), err: `[INVALID_CONF_VALUE.TYPE_MISMATCH] The value '1.5s' in the config "tbad" is invalid. It should be a/an 'time in SECONDS' value. SQLSTATE: 22022`},
		{name: "bytes", got: get(c, Bytes("m", MiB)), want: int64(1024)},
		{name: "bytes mismatch", got: get(c, Bytes("mbad", MiB)), err: `[INVALID_CONF_VALUE.TYPE_MISMATCH] The value '1.5g' in the config "mbad" is invalid. It should be a/an 'bytes in MiB' value. SQLSTATE: 22022`},
		{name: "list", got: get(c, List("list")), want: []string{"a", "b"}},
		{name: "enum", got: get(c, Enum("e", []string{"A", "B"})), want: "B"},
		{name: "enum range", got: get(c, Enum("ebad", []string{"A", "B"})), err: `[INVALID_CONF_VALUE.OUT_OF_RANGE_OF_OPTIONS] The value 'b' in the config "ebad" is invalid. It should be one of 'A, B'. SQLSTATE: 22022`},
		{name: "text is not trimmed", got: get(c, String("s")), want: " x "},
		{name: "check", got: get(c, Int("small", pos)), err: `[INVALID_CONF_VALUE.REQUIREMENT] The value '0' in the config "small" is invalid. it must be positive SQLSTATE: 22022`},
		{name: "check of a time", got: get(c, Millis("smallt", time.Second, Check(func(d time.Duration) bool { return d > time.Minute }, "Too short."))),
			err: `[INVALID_CONF_VALUE.REQUIREMENT] The value '50000ms' in the config "smallt" is invalid. Too short. SQLSTATE: 22022`},
		{name: "check of a size", got: get(c, Bytes("smallm", MiB, Check(func(n int64) bool { return n > 1 }, "Too small."))),
			err: `[INVALID_CONF_VALUE.REQUIREMENT] The value '1048576b' in the config "smallm" is invalid. Too small. SQLSTATE: 22022`},
		{name: "check of a double", got: get(c, Float("f", Check(func(f float64) bool { return f > 0 }, "More."))),
			err: `[INVALID_CONF_VALUE.REQUIREMENT] The value '0.0' in the config "f" is invalid. More. SQLSTATE: 22022`},
		{name: "fallback", got: get(c, Int("none", Fallback(Int("i")))), want: 7},
		{name: "fallback to nothing, then default", got: get(c, Int("none", Fallback(Int("none2")), Default(4))), want: 4},
		{name: "old name", got: get(c, Int("new", OldName("old"))), want: 9},
		{name: "default by version", got: get(c, Int("none", DefaultFor(func(v Version) int {
			if v.AtLeast(4, 2) {
				return 20
			}
			return 10
		}))), want: 20},
	}
	for _, tt := range tests {
		r := tt.got.(result)
		if errText(r.err) != tt.err {
			t.Errorf("%s: error %q, want %q", tt.name, errText(r.err), tt.err)
		}
		if tt.err == "" {
			if diff := cmp.Diff(tt.want, r.value); diff != "" {
				t.Errorf("%s: %s", tt.name, diff)
			}
		}
	}
}

type result struct {
	value any
	err   error
}

func get[T any](c *Conf, e *Entry[T]) result {
	v, err := e.Get(c)
	return result{v, err}
}

func TestExpand(t *testing.T) {
	c := New(map[string]string{
		"spark.a": "1", "spark.b": "${spark.a}${spark.a}", "spark.loop": "x${spark.loop2}", "spark.loop2": "${spark.loop}", "other": "no",
	}, WithEnv(func(n string) (string, bool) { return "ns", n == "NS" }))
	tests := []struct{ in, want, err string }{
		{in: "plain $ {x}", want: "plain $ {x}"},
		{in: "<${spark.b}>", want: "<11>"},
		{in: "${env:NS}-${env:NONE}", want: "ns-${env:NONE}"},
		{in: "${system:user.home}${other}${none:x}", want: "${system:user.home}${other}${none:x}"},
		{in: "${spark.kubernetes.report.interval}", want: "1000ms"},
		{in: "${spark.loop}", err: "requirement failed: Circular reference in ${spark.loop}: spark.loop"},
	}
	for _, tt := range tests {
		got, err := c.Expand(tt.in)
		if got != tt.want || errText(err) != tt.err {
			t.Errorf("Expand(%q) = %q, %q; want %q, %q", tt.in, got, errText(err), tt.want, tt.err)
		}
	}
}

// TestEveryEntryIsListed finds entries declared in keys_*.go that Keys does not return, and names declared twice.
func TestEveryEntryIsListed(t *testing.T) {
	listed := map[string]bool{}
	for _, k := range Keys() {
		if listed[k.Key()] {
			t.Errorf("%s is listed twice", k.Key())
		}
		if k.Doc() == "" {
			t.Errorf("%s has no description", k.Key())
		}
		listed[k.Key()] = true
	}
	files, err := filepath.Glob("keys_*.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{"String": true, "Int": true, "Long": true, "Bool": true, "Float": true, "Millis": true, "Bytes": true, "List": true, "Enum": true, "Regex": true}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			fun, ok := call.Fun.(*ast.Ident)
			lit, ok2 := call.Args[0].(*ast.BasicLit)
			if !ok || !ok2 || !kinds[fun.Name] {
				return true
			}
			if key := strings.Trim(lit.Value, `"`); !listed[key] {
				t.Errorf("%s: %s is missing in Keys()", name, key)
			}
			return true
		})
	}
}

func ExampleEntry() {
	memory := Bytes("spark.driver.memory", MiB, Default(1024))
	n, err := memory.Get(New(map[string]string{"spark.driver.memory": "2g"}))
	fmt.Println(n, err)
	// Output: 2048 <nil>
}
