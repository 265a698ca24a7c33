package sparkpod

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestUnique(t *testing.T) { // N2
	now := time.UnixMilli(0x19a2400b7c1)
	if got := Unique([3]byte{0x3f, 0xa2, 0xc1}, now); got != "3fa2c19a2400b7c1" {
		t.Errorf("Unique = %s", got)
	}
	if got := Unique([3]byte{0, 0, 1}, time.UnixMilli(1<<40+5)); got != "0000015" {
		t.Errorf("Unique keeps leading zeros of the time: %s", got)
	}
}

func TestNamePrefixAndLabel(t *testing.T) { // N3, N4, P079
	const u = "3fa2c19a2400b7c1"
	for _, tc := range []struct{ name, prefix, label string }{
		{"Spark Pi", "spark-pi-" + u, "spark-pi"},
		{" Job+Spark-Pi 2021", "job-spark-pi-2021-" + u, "job-spark-pi-2021"},
		{"1abc", "xabc-" + u, "1abc"},
		{"12", "x2-" + u, "12"},
		{"-hello-", "hello-" + u, "hello"},
		{"1-Ünï cödé--X_y", "x-n-c-d-x-y-" + u, "1-n-c-d-x-y"},
		{"", "x" + u[1:], ""},
		{"---", "x" + u[1:], ""},
		{"日本", "x" + u[1:], ""},
		{"\u0130x", "i-x-" + u, "i-x"},
		{"xyz.abc _i_am_a_app_name_w/_some_abbrs", "xyz-abc-i-am-a-app-name-w-some-abbrs-" + u, "xyz-abc-i-am-a-app-name-w-some-abbrs"},
	} {
		if got := NamePrefix(tc.name, u); got != tc.prefix {
			t.Errorf("NamePrefix(%q) = %s, want %s", tc.name, got, tc.prefix)
		}
		if got := AppNameLabel(tc.name); got != tc.label {
			t.Errorf("AppNameLabel(%q) = %s, want %s", tc.name, got, tc.label)
		}
	}
}

func TestNamesFit(t *testing.T) { // N4, N8
	const u = "3fa2c19a2400b7c1"
	for n := 1; n < 400; n++ {
		name := strings.Repeat("a-b", n)
		p := NamePrefix(name, u)
		if len(p+"-driver-podspec-conf-map") > MaxName || !strings.HasSuffix(p, "-"+u) || strings.Contains(p, "--") {
			t.Fatalf("NamePrefix of %d characters = %s", len(name), p)
		}
		if l := AppNameLabel(name); len(l) > MaxLabel || strings.HasSuffix(l, "-") {
			t.Fatalf("AppNameLabel of %d characters = %s", len(name), l)
		}
	}
}

func TestServiceName(t *testing.T) { // N6, P045
	fresh := func() string { return "fresh" }
	fits := strings.Repeat("a", 52)
	if name, warning := ServiceName(fits, fresh); name != fits+"-driver-svc" || warning != "" {
		t.Errorf("ServiceName(52) = %s, %q", name, warning)
	}
	name, warning := ServiceName(fits+"a", fresh)
	if name != "spark-fresh-driver-svc" {
		t.Errorf("ServiceName(53) = %s", name)
	}
	want := "Driver's hostname would preferably be " + fits + "a-driver-svc, but this is too long (must be <= 63 characters). " +
		"Falling back to use spark-fresh-driver-svc as the driver service's name."
	if warning != want {
		t.Errorf("warning %q, want %q", warning, want)
	}
}

func TestHostname(t *testing.T) { // PE1, P077, E015
	valid := regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}$`)
	for _, tc := range []struct{ pod, want string }{
		{"p-exec-1", "p-exec-1"},
		{strings.Repeat("x", 17) + strings.Repeat("y", 63), strings.Repeat("y", 63)},
		{"abc" + strings.Repeat("-", 50) + "-exec-1", "abc" + strings.Repeat("-", 50) + "-exec-1"},
		{strings.Repeat("a", 60) + strings.Repeat("-", 60) + "exec-1", "exec-1"},
		{"a.b..c-exec-1", "a-b-c-exec-1"},
	} {
		got := Hostname(tc.pod)
		if got != tc.want || !valid.MatchString(got) {
			t.Errorf("Hostname(%s) = %s, want %s", tc.pod, got, tc.want)
		}
	}
}

func TestDNSLabel(t *testing.T) {
	for s, want := range map[string]bool{"a": true, "a-1": true, "-a": false, "a-": false, "A": false, "a.b": false,
		"": false, strings.Repeat("a", 63): true, strings.Repeat("a", 64): false} {
		if IsDNSLabel(s) != want {
			t.Errorf("IsDNSLabel(%q) = %v", s, !want)
		}
	}
}
