package conf

import (
	"fmt"
	"strings"
)

// Entry is the typed handle of one key: Spark's ConfigEntry[T]. Handles are declared once, as package variables in the
// keys_*.go files, and are read with Get.
type Entry[T any] struct {
	key      string
	doc      string
	since    string
	unit     string // shown in docs: "ms", "MiB", …
	parse    func(string) (T, error)
	typeName string // as Spark's error names it: "int", "time in MILLISECONDS", …
	def      func(Version) (T, bool)
	defText  string
	fallback *Entry[T]
	check    func(T) bool
	checkDoc string
	render   func(T) string
	secret   bool
}

// Key returns the property's name.
func (e *Entry[T]) Key() string { return e.key }

// IsSet says whether the property itself is present, whatever its fallback.
func (e *Entry[T]) IsSet(c *Conf) bool {
	_, ok := c.Lookup(e.key)
	return ok
}

// Lookup is a typed read: trims, expands ${…}, converts and checks. ok is false when neither the property, nor its
// fallback, nor a default gives a value.
func (e *Entry[T]) Lookup(c *Conf) (value T, ok bool, err error) {
	raw, present := c.Lookup(e.key)
	if !present {
		if e.fallback != nil {
			return e.fallback.Lookup(c)
		}
		value, ok = e.def(c.version)
		return value, ok, nil
	}
	text, err := c.Expand(raw)
	if err != nil {
		return value, false, err
	}
	value, err = e.parse(text)
	if err != nil {
		return value, false, &ValueError{Key: e.key, Value: text, Kind: "TYPE_MISMATCH",
			Detail: fmt.Sprintf("It should be a/an '%s' value.", e.typeName)}
	}
	if e.check != nil && !e.check(value) {
		return value, false, &ValueError{Key: e.key, Value: e.render(value), Kind: "REQUIREMENT", Detail: e.checkDoc}
	}
	return value, true, nil
}

// Get is Lookup for keys that have a default; without one the zero value stands for "unset".
func (e *Entry[T]) Get(c *Conf) (T, error) {
	v, _, err := e.Lookup(c)
	return v, err
}

// ValueError is a property whose text cannot be used. Its message is Spark's own (error class INVALID_CONF_VALUE).
type ValueError struct {
	Key, Value   string
	Kind, Detail string
}

func (e *ValueError) Error() string {
	detail := e.Detail
	if !strings.HasSuffix(detail, ".") && e.Kind != "REQUIREMENT" {
		detail += "."
	}
	return fmt.Sprintf("[INVALID_CONF_VALUE.%s] The value '%s' in the config \"%s\" is invalid. %s SQLSTATE: 22022",
		e.Kind, e.Value, e.Key, detail)
}
