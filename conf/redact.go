package conf

import (
	"regexp"
	"strings"
)

// Redacted stands for a value that is not shown.
const Redacted = "*********(redacted)"

// RedactionRegex finds what must not be shown, in keys and in values.
var RedactionRegex = Regex("spark.redaction.regex", Since("2.1.2"),
	DefaultFor(func(v Version) *regexp.Regexp {
		if v.AtLeast(4, 3) {
			return redaction43
		}
		return redaction
	}),
	Doc("Properties whose key or value matches are shown as redacted."))

var (
	redaction   = regexp.MustCompile(`(?i)secret|password|token|access[.]?key`)
	redaction43 = regexp.MustCompile(`(?i)secret|password|token|access[.]?key|credential`)
)

func redactKeys() []Key { return []Key{RedactionRegex} }

// Redact returns the properties as they may be shown: values whose key or text the redaction expression matches, and
// those of declared secrets, are replaced. An expression that cannot be used is an error, so that nothing is shown.
func (c *Conf) Redact() (map[string]string, error) {
	pattern, err := RedactionRegex.Get(c)
	if err != nil {
		return nil, err
	}
	secret := map[string]bool{}
	for _, k := range Keys() {
		secret[k.Key()] = k.IsSecret()
	}
	out := make(map[string]string, len(c.props))
	for k, v := range c.props {
		if secret[k] || pattern.MatchString(k) || pattern.MatchString(v) || strings.HasSuffix(k, "oauthToken") {
			v = Redacted
		}
		out[k] = v
	}
	return out, nil
}
