package conf

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedact(t *testing.T) {
	props := map[string]string{"spark.a": "x", "spark.hadoop.fs.s3a.secret.key": "s", "spark.b": "my password", "spark.c.Access.Key": "k",
		"spark.my.credential": "c", "spark.kubernetes.authenticate.submission.oauthToken": "t"}
	got, err := New(props).Redact()
	want := map[string]string{"spark.a": "x", "spark.hadoop.fs.s3a.secret.key": Redacted, "spark.b": Redacted, "spark.c.Access.Key": Redacted,
		"spark.my.credential": "c", "spark.kubernetes.authenticate.submission.oauthToken": Redacted}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	v, _ := ParseVersion("4.3.0")
	got, err = New(props, WithVersion(v)).Redact()
	if err != nil || got["spark.my.credential"] != Redacted {
		t.Error(err, got)
	}
	props["spark.redaction.regex"] = "("
	if got, err := New(props).Redact(); err == nil || got != nil {
		t.Errorf("a broken expression showed %v", got)
	}
}
