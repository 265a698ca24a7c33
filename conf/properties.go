package conf

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// ParseProperties reads text in the grammar of java.util.Properties as Spark does: UTF-8, and values stripped of characters
// up to U+0020 at both ends, except line ends that were written as escapes.
func ParseProperties(text []byte) (map[string]string, error) {
	out := map[string]string{}
	lines := logicalLines(strings.ToValidUTF8(string(text), "\uFFFD"))
	for _, line := range lines {
		rawKey, rawValue := splitProperty(line)
		key, err := unescapeProperty(rawKey)
		if err != nil {
			return nil, err
		}
		value, err := unescapeProperty(rawValue)
		if err != nil {
			return nil, err
		}
		out[key] = strings.TrimFunc(value, func(r rune) bool { return r <= ' ' && r != '\r' && r != '\n' })
	}
	return out, nil
}

func isPropertyBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\f' }

// logicalLines joins lines that end in an odd number of backslashes with the next one, whose leading blanks are dropped,
// and leaves comments and empty lines out.
func logicalLines(text string) []string {
	natural := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\n")
	var out []string
	for i := 0; i < len(natural); i++ {
		line := strings.TrimLeft(natural[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for endsOpen(line) {
			line = line[:len(line)-1]
			if i++; i >= len(natural) {
				break
			}
			line += strings.TrimLeft(natural[i], " \t\f")
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

func endsOpen(line string) bool {
	n := len(line) - len(strings.TrimRight(line, `\`))
	return n%2 == 1
}

// splitProperty cuts a line at the first unescaped =, : or blank; blanks around one = or : belong to it.
func splitProperty(line string) (key, value string) {
	i := 0
	for i < len(line) && line[i] != '=' && line[i] != ':' && !isPropertyBlank(line[i]) {
		if line[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(line))
	key = line[:i]
	rest := strings.TrimLeft(line[i:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	return key, rest
}

var propertyEscapes = map[byte]byte{'t': '\t', 'n': '\n', 'r': '\r', 'f': '\f'}

func unescapeProperty(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out.WriteByte(s[i])
			continue
		}
		if i++; i >= len(s) {
			break
		}
		if s[i] != 'u' {
			c, ok := propertyEscapes[s[i]]
			if !ok {
				c = s[i]
			}
			out.WriteByte(c)
			continue
		}
		unit, err := hexUnit(s[i+1:])
		if err != nil {
			return "", err
		}
		i += 4
		if utf16.IsSurrogate(unit) && strings.HasPrefix(s[i+1:], `\u`) {
			low, err := hexUnit(s[i+3:])
			if pair := utf16.DecodeRune(unit, low); err == nil && pair != '\uFFFD' {
				unit = pair
				i += 6
			}
		}
		out.WriteRune(unit)
	}
	return out.String(), nil
}

func hexUnit(s string) (rune, error) {
	if len(s) >= 4 {
		if n, err := strconv.ParseUint(s[:4], 16, 16); err == nil {
			return rune(n), nil
		}
	}
	return 0, fmt.Errorf(`malformed \uxxxx escape at %q`, `\u`+s[:min(4, len(s))])
}

// FormatProperties writes a properties text: the comment lines, then the properties sorted by key. Only what the grammar
// needs is escaped; other characters stay as they are, in UTF-8.
func FormatProperties(comments []string, props map[string]string) string {
	var out strings.Builder
	for _, c := range comments {
		out.WriteString("#" + c + "\n")
	}
	for _, k := range slices.Sorted(maps.Keys(props)) {
		escapeProperty(&out, k, true)
		out.WriteByte('=')
		escapeProperty(&out, props[k], false)
		out.WriteByte('\n')
	}
	return out.String()
}

func escapeProperty(out *strings.Builder, s string, isKey bool) {
	for i, r := range s {
		switch r {
		case ' ':
			if isKey || i == 0 {
				out.WriteByte('\\')
			}
			out.WriteByte(' ')
		case '\t':
			out.WriteString(`\t`)
		case '\n':
			out.WriteString(`\n`)
		case '\r':
			out.WriteString(`\r`)
		case '\f':
			out.WriteString(`\f`)
		case '\\', '=', ':', '#', '!':
			out.WriteByte('\\')
			out.WriteRune(r)
		default:
			out.WriteRune(r)
		}
	}
}
