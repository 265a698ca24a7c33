package conf

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// S022: system properties of SPARK_SUBMIT_OPTS.
func TestDefines(t *testing.T) {
	got, err := Defines(`-Dspark.x=1 -Dfoo=2 -Xmx1g "-Dspark.y=a b" -Dspark.z='q"' -Dspark.e -Dspark.b=a\ c=d`)
	want := map[string]string{"spark.x": "1", "spark.y": "a b", "spark.z": `q"`, "spark.e": "", "spark.b": "a c=d"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, bad := range []string{`"open`, `it's`, `end\`} {
		if _, err := Defines(bad); errText(err) != "Invalid option string: "+bad {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSplitOptionsKeepsEmptyWords(t *testing.T) {
	got, err := SplitOptions(` a "" 'b c' `)
	if diff := cmp.Diff([]string{"a", "", "b c"}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
