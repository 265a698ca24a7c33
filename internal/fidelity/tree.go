package fidelity

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Stock writes these in an order, or with parts, that differ from run to run.
var (
	appID      = regexp.MustCompile(`spark-[0-9a-f]{32}`)
	uuid       = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	unique     = regexp.MustCompile(`\b[0-9a-fx][0-9a-f]{15}\b`)
	claimIndex = regexp.MustCompile(`-pvc-[0-9]+`) // a volume's place in stock's hash order
	millis     = regexp.MustCompile(`^(spark\.app\.(?:submit|start)Time=)[0-9]+$`)
)

// fields flattens an object: path of each leaf, and its value as JSON. Elements with a name stand under it; their order is
// a field of its own, without those whose order is a hash order in stock.
type fields map[string]string

func flatten(object map[string]any, hashed func(string) bool) fields {
	out := fields{}
	out.add("", object, hashed)
	return out
}

func (f fields) add(path string, v any, hashed func(string) bool) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			f[path] = "{}"
		}
		for k, e := range v {
			sep := "."
			if path == "" {
				sep = ""
			}
			if text, ok := e.(string); ok && k == "spark.properties" {
				f.properties(path+sep+k, text)
				continue
			}
			f.add(path+sep+k, e, hashed)
		}
	case []any:
		f.list(path, v, hashed)
	default:
		text, err := json.Marshal(v)
		if err != nil {
			text = fmt.Append(nil, v)
		}
		f[path] = string(text)
	}
}

func (f fields) list(path string, l []any, hashed func(string) bool) {
	if len(l) == 0 {
		f[path] = "[]"
	}
	if strings.HasSuffix(path, ".env") {
		numberJavaOptions(l)
	}
	seen := map[string]int{}
	var order []string
	for i, e := range l {
		m, _ := e.(map[string]any)
		name, named := m["name"].(string)
		if !named {
			f.add(fmt.Sprintf("%s[%d]", path, i), e, hashed)
			continue
		}
		seen[name]++
		if n := seen[name]; n > 1 {
			name = fmt.Sprintf("%s#%d", name, n)
		}
		f.add(path+"["+name+"]", e, hashed)
		if !hashed(name) {
			order = append(order, name)
		}
	}
	if len(order) > 1 {
		f[path+" order"] = strings.Join(order, " ")
	}
}

// properties compares the text of a properties file line by line: the first, which names the ConfigMap, and the settings,
// whose order is free. The line with the date is left out.
func (f fields) properties(path, text string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 2 {
		f[path] = text
		return
	}
	f[path+" heading"] = lines[0]
	for _, l := range lines[2:] {
		l = millis.ReplaceAllString(l, "${1}TIME")
		key, value := cutProperty(l)
		f[path+" "+key] = value
	}
}

// cutProperty splits a line at its first = without a backslash.
func cutProperty(line string) (key, value string) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '=':
			return line[:i], line[i:]
		}
	}
	return line, ""
}

// numberJavaOptions sorts the -D options after the user's, which stock numbers in hash order.
func numberJavaOptions(env []any) {
	var at []map[string]any
	var values []string
	for _, e := range env {
		m, _ := e.(map[string]any)
		name, _ := m["name"].(string)
		value, _ := m["value"].(string)
		if strings.HasPrefix(name, "SPARK_JAVA_OPT_") && strings.HasPrefix(value, "-Dspark.") {
			at, values = append(at, m), append(values, value)
		}
	}
	slices.Sort(values)
	number := func(m map[string]any) int {
		n, err := strconv.Atoi(strings.TrimPrefix(fmt.Sprint(m["name"]), "SPARK_JAVA_OPT_"))
		if err != nil {
			return -1 // a user's variable
		}
		return n
	}
	slices.SortStableFunc(at, func(a, b map[string]any) int { return cmp.Compare(number(a), number(b)) })
	for i, m := range at {
		m["value"] = values[i]
	}
}

// anonymous puts numbered words in place of generated parts, in the order in which they appear: so a part must be used
// in the same places on both sides.
func anonymous(objects []fields) {
	words := map[string]string{}
	counts := map[string]int{}
	number := func(kind string) func(string) string {
		return func(found string) string {
			if _, ok := words[found]; !ok {
				counts[kind]++
				words[found] = fmt.Sprintf("<%s %d>", kind, counts[kind])
			}
			return words[found]
		}
	}
	for _, o := range objects {
		for _, path := range slices.Sorted(maps.Keys(o)) {
			v := appID.ReplaceAllStringFunc(o[path], number("application"))
			v = uuid.ReplaceAllStringFunc(v, number("uuid"))
			v = unique.ReplaceAllStringFunc(v, number("unique"))
			o[path] = claimIndex.ReplaceAllString(v, "-pvc-<n>")
		}
	}
}
