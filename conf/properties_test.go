package conf

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// S018: the grammar of properties files.
func TestParseProperties(t *testing.T) {
	tests := []struct {
		name, text string
		want       map[string]string
	}{
		{"S018", "spark.a.b   v1  \nspark.c = x\\\n   y\nspark.d=tab\\tend\\n\nspark.bs=a\\\\b\nspark.empty\nspark.u=caf\\u00e9\n",
			map[string]string{"spark.a.b": "v1", "spark.c": "xy", "spark.d": "tab\tend\n", "spark.bs": `a\b`, "spark.empty": "", "spark.u": "café"}},
		{"separators", "a=1\nb:2\nc 3\nd\t=\t4\ne : 5\nf==6\ng= =7\n", map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5", "f": "=6", "g": "=7"}},
		{"escaped separators", `a\ b\=c\:d=e` + "\n", map[string]string{"a b=c:d": "e"}},
		{"comments", "# x=1\n  ! y=2\nz=3#4\n", map[string]string{"z": "3#4"}},
		{"a comment sign in a continuation is text", "a=b\\\n#c\n", map[string]string{"a": "b#c"}},
		{"comments do not continue", "# x\\\ny=2\n", map[string]string{"y": "2"}},
		{"an empty line ends a continuation", "a=b\\\n\nc=d\n", map[string]string{"a": "b", "c": "d"}},
		{"two backslashes at the end do not continue", "a=b\\\\\nc=d\n", map[string]string{"a": `b\`, "c": "d"}},
		{"line ends", "a=1\r\nb=2\rc=3", map[string]string{"a": "1", "b": "2", "c": "3"}},
		{"backslash at the end of the file", `a=b\`, map[string]string{"a": "b"}},
		{"last one wins", "a=1\na=2\n", map[string]string{"a": "2"}},
		{"no expansion", "a=${b}\n", map[string]string{"a": "${b}"}},
		{"raw UTF-8 and a surrogate pair", "a=日本\\ud83d\\ude00é\n", map[string]string{"a": "日本😀é"}},
		{"unknown escape", `a=\q\"` + "\n", map[string]string{"a": `q"`}},
		{"escaped line ends survive at both ends", "a=  \\n x \\r  \n", map[string]string{"a": "\n x \r"}},
		{"empty key", "=v\n", map[string]string{"": "v"}},
	}
	for _, tt := range tests {
		got, err := ParseProperties([]byte(tt.text))
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", tt.name, err, diff)
		}
	}
	if _, err := ParseProperties([]byte(`a=\u00g0`)); errText(err) != `malformed \uxxxx escape at "\\u00g0"` {
		t.Error(err)
	}
}

// S095: what is written is read back.
func TestFormatProperties(t *testing.T) {
	props := map[string]string{
		"spark.a b": " lead and  inner ", "spark.colon": "k8s://h:1#x!y=z", "spark.tab": "a\tb\nc\rd\fe\\f", "spark.é": "é😀", "spark.empty": "",
	}
	text := FormatProperties([]string{"one", "two"}, props)
	want := "#one\n#two\nspark.a\\ b=\\ lead and  inner \nspark.colon=k8s\\://h\\:1\\#x\\!y\\=z\nspark.empty=\nspark.tab=a\\tb\\nc\\rd\\fe\\\\f\nspark.é=é😀\n"
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	back, err := ParseProperties([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	props["spark.a b"] = "lead and  inner" // the driver strips, see S019
	if diff := cmp.Diff(props, back); diff != "" {
		t.Error(diff)
	}
}

func FuzzProperties(f *testing.F) {
	f.Add("spark.a", "b")
	f.Fuzz(func(t *testing.T, key, value string) {
		text := FormatProperties(nil, map[string]string{key: value})
		if _, err := ParseProperties([]byte(text)); err != nil {
			t.Errorf("%q cannot be read back: %v", text, err)
		}
	})
}
