package upload

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// HasPattern says whether a path has characters that Hadoop's globbing acts on.
func HasPattern(path string) bool { return strings.ContainsAny(path, "*?[{") }

// glob walks a store along a pattern, one folder level at a time, and only into folders that match so far.
func glob(ctx context.Context, st store, at Location) ([]string, error) {
	level := []string{""}
	parts := strings.Split(at.key(), "/")
	for i, part := range parts {
		last := i == len(parts)-1
		if !last && !HasPattern(part) {
			for j := range level {
				level[j] += "/" + part
			}
			continue
		}
		match, err := compilePattern(part)
		if err != nil {
			return nil, fmt.Errorf("%s is no file pattern: %w", at, err)
		}
		var next []string
		for _, dir := range level {
			names, err := st.list(ctx, at.with(dir+"/"))
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", at.with(dir+"/"), err)
			}
			for _, e := range names {
				if e.folder != last && match.MatchString(e.name) {
					next = append(next, dir+"/"+e.name)
				}
			}
		}
		level = next
	}
	slices.Sort(level)
	found := make([]string, len(level))
	for i, path := range level {
		found[i] = at.with(path).String()
	}
	return found, nil
}

// compilePattern turns one component of a Hadoop pattern into an expression: * ? [abc] [a-c] [^a] [!a] {a,b} and \x.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	t := translator{rest: pattern}
	t.out.WriteString("(?s)^")
	for t.rest != "" {
		t.step()
	}
	t.out.WriteByte('$')
	return regexp.Compile(t.out.String())
}

// translator is the state of compilePattern.
type translator struct {
	rest   string
	out    strings.Builder
	braces int
}

func (t *translator) step() {
	c, rest := t.rest[0], t.rest[1:]
	t.rest = rest
	switch {
	case c == '\\' && rest != "":
		t.out.WriteString(regexp.QuoteMeta(rest[:1]))
		t.rest = rest[1:]
	case c == '[':
		t.class()
	case c == '*':
		t.out.WriteString("[^/]*")
	case c == '?':
		t.out.WriteString("[^/]")
	case c == '{':
		t.braces++
		t.out.WriteString("(?:")
	case c == '}' && t.braces > 0:
		t.braces--
		t.out.WriteByte(')')
	case c == ',' && t.braces > 0:
		t.out.WriteByte('|')
	case c < 0x80:
		t.out.WriteString(regexp.QuoteMeta(string(c)))
	default:
		t.out.WriteByte(c)
	}
}

// class copies what stands in brackets; one that is not closed is the expression's error.
func (t *translator) class() {
	t.out.WriteByte('[')
	if t.rest != "" && strings.IndexByte("!^", t.rest[0]) >= 0 {
		t.out.WriteByte('^')
		t.rest = t.rest[1:]
	}
	inside, after, closed := strings.Cut(t.rest, "]")
	t.out.WriteString(strings.ReplaceAll(inside, "[", `\[`))
	if closed {
		t.out.WriteByte(']')
	}
	t.rest = after
}
