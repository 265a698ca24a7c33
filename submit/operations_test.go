package submit

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubespark/kubespark/internal/kubetest"
)

// S088, S090: submission ids.
func TestParseSubmissionID(t *testing.T) {
	for id, want := range map[string]Target{
		"p": {Name: "p"}, "ns:p": {Namespace: "ns", Name: "p"}, "a:b:c": {Namespace: "a", Name: "b:c"}, "ns:p*": {Namespace: "ns", Name: "p", Prefix: true},
		"*p": {Name: "*p"}, "*": {Prefix: true},
	} {
		if got, err := ParseSubmissionID(id); err != nil || got != want {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
	for _, id := range []string{"", "ns:"} {
		if _, err := ParseSubmissionID(id); errorText(err) != "Submission ID: {"+id+"} is invalid." {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func pods(s *kubetest.Server, roles map[string]string) {
	for name, role := range roles {
		s.Put("pods", object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name, "namespace": "ns", "labels": object{"spark-role": role}},
			"status": object{"phase": "Running"}})
	}
}

// S084 to S087, K8.
func TestKillAndStatus(t *testing.T) {
	grace := int64(7)
	tests := []struct {
		name   string
		target Target
		kill   bool
		opts   OperationOptions
		fail   *kubetest.Fault
		prints []string
		gone   []string
		err    string
	}{
		{name: "S084", target: Target{Namespace: "ns", Name: "spark-a"}, kill: true, opts: OperationOptions{GraceSeconds: &grace}, gone: []string{"spark-a"}},
		{name: "S085 missing", target: Target{Namespace: "ns", Name: "none"}, kill: true, prints: []string{"Application not found."}, err: "no application was found"},
		{name: "S085 stock", target: Target{Namespace: "ns", Name: "none"}, kill: true, opts: OperationOptions{Stock: true}},
		{name: "K8 a foreign pod", target: Target{Namespace: "ns", Name: "spark-exec"}, kill: true, prints: []string{"Application not found."}, err: "no application was found"},
		{name: "S086", target: Target{Namespace: "ns", Name: "spark-", Prefix: true}, kill: true,
			prints: []string{"Deleting driver pod: spark-a.", "Deleting driver pod: spark-b."}, gone: []string{"spark-a", "spark-b"}},
		{name: "K8 one failure stops no other", target: Target{Namespace: "ns", Name: "spark-", Prefix: true}, kill: true,
			fail:   &kubetest.Fault{Verb: "delete", Name: "spark-a", Status: 403, Reason: "Forbidden", Message: "no"},
			prints: []string{"Deleting driver pod: spark-a.", "Deleting driver pod: spark-b."}, gone: []string{"spark-b"}, err: "deleting the driver pod ns/spark-a failed: no"},
		{name: "S087", target: Target{Namespace: "ns", Name: "spark-a"}, prints: []string{"Application status (driver): \n\t pod name: spark-a"}},
		{name: "S087 missing", target: Target{Namespace: "ns", Name: "none"}, prints: []string{"Application not found."}, err: "no application was found"},
		{name: "S087 none match", target: Target{Namespace: "ns", Name: "x", Prefix: true}, prints: []string{"No applications found."}, err: "no application was found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := kubetest.New()
			pods(s, map[string]string{"spark-a": "driver", "spark-b": "driver", "spark-exec": "executor", "other": "driver"})
			if tt.fail != nil {
				s.Fail(*tt.fail)
			}
			c, _ := newTestClient(t, s)
			var printed []string
			tt.opts.Print = func(l string) {
				l, _, _ = strings.Cut(l, "\n\t namespace")
				printed = append(printed, l)
			}
			f := c.Status
			if tt.kill {
				f = c.Kill
			}
			err := f(t.Context(), tt.target, tt.opts)
			if errorText(err) != tt.err || tt.err == ErrNotFound.Error() && !errors.Is(err, ErrNotFound) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.prints, printed); diff != "" {
				t.Error(diff)
			}
			for _, n := range []string{"spark-a", "spark-b", "spark-exec", "other"} {
				if wantGone := strings.Contains(strings.Join(tt.gone, " "), n); wantGone == (s.Get("pods", "ns", n) != nil) {
					t.Errorf("%s: gone is not %v", n, wantGone)
				}
			}
			if tt.name == "S084" {
				body := s.Calls("delete", "pods")[0].Body
				if !strings.Contains(body, `"gracePeriodSeconds":7`) || !strings.Contains(body, `"propagationPolicy":"Background"`) {
					t.Errorf("body: %s", body)
				}
			}
		})
	}
}
