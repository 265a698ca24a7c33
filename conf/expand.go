package conf

import (
	"fmt"
	"regexp"
	"strings"
)

// reference is ${name} or ${prefix:name}; it answers to ConfigReader's pattern.
var reference = regexp.MustCompile(`\$\{(?:(\w+?):)?(\S+?)\}`)

// Expand replaces ${spark.key} by that property, or by the default of a declared entry, and ${env:NAME} by the
// environment. What does not resolve stays as text, ${system:name} among it: there is no JVM here. A cycle is an error.
func (c *Conf) Expand(text string) (string, error) {
	return c.expand(text, nil)
}

func (c *Conf) expand(text string, used []string) (string, error) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	var out strings.Builder
	last := 0
	for _, m := range reference.FindAllStringSubmatchIndex(text, -1) {
		whole, name := text[m[0]:m[1]], text[m[4]:m[5]]
		prefix, ref := "", name
		if m[2] >= 0 {
			prefix = text[m[2]:m[3]]
			ref = prefix + ":" + name
		}
		for _, u := range used {
			if u == ref {
				return "", fmt.Errorf("requirement failed: Circular reference in %s: %s", text, ref)
			}
		}
		out.WriteString(text[last:m[0]])
		last = m[1]
		value, ok := c.resolve(prefix, name)
		if !ok {
			out.WriteString(whole)
			continue
		}
		value, err := c.expand(value, append(used[:len(used):len(used)], ref))
		if err != nil {
			return "", err
		}
		out.WriteString(value)
	}
	out.WriteString(text[last:])
	return out.String(), nil
}

func (c *Conf) resolve(prefix, name string) (string, bool) {
	switch {
	case prefix == "env":
		return c.env(name)
	case prefix != "" || !strings.HasPrefix(name, "spark."):
		return "", false
	}
	if v, ok := c.props[name]; ok {
		return v, true
	}
	if d := describe(name); d != nil {
		return d.DefaultText(c.version)
	}
	return "", false
}
