package conf

import (
	"fmt"
	"slices"
	"strings"
)

// Entry is the typed handle of one key: Spark's ConfigEntry[T]. Handles are declared once, as package variables in the
// keys_*.go files, and are read with Get.
type Entry[T any] struct {
	key      string
	oldNames []string
	doc      string
	since    string
	unit     string // shown in docs: "ms", "MiB", …
	parse    func(string) (T, error)
	typeName string // as Spark's error names it: "int", "time in MILLISECONDS", …
	values   []string
	def      func(Version) (T, bool)
	fallback *Entry[T]
	check    func(T) bool
	checkDoc string
	render   func(T) string
	secret   bool
}

// Key returns the property's name.
func (e *Entry[T]) Key() string { return e.key }

// Doc returns the description.
func (e *Entry[T]) Doc() string { return e.doc }

// Since returns the first Spark version with the key, or "".
func (e *Entry[T]) Since() string { return e.since }

// TypeName returns the type as Spark's errors name it.
func (e *Entry[T]) TypeName() string { return e.typeName }

// Unit returns the unit of a bare number, or "".
func (e *Entry[T]) Unit() string { return e.unit }

// Check returns what a value must be, as the error says it, or "".
func (e *Entry[T]) Check() string { return e.checkDoc }

// Values returns the only texts allowed, or nil.
func (e *Entry[T]) Values() []string { return slices.Clone(e.values) }

// OldNames returns former names that are still read.
func (e *Entry[T]) OldNames() []string { return slices.Clone(e.oldNames) }

// FallbackKey returns the key that is read when this one is unset, or "".
func (e *Entry[T]) FallbackKey() string {
	if e.fallback == nil {
		return ""
	}
	return e.fallback.key
}

// IsSecret says that no listing shows the value.
func (e *Entry[T]) IsSecret() bool { return e.secret }

// DefaultText returns the default, or that of the fallback, as Spark writes it.
func (e *Entry[T]) DefaultText(v Version) (string, bool) {
	if d, ok := e.def(v); ok {
		return e.render(d), true
	}
	if e.fallback != nil {
		return e.fallback.DefaultText(v)
	}
	return "", false
}

// IsSet says whether the property itself, or an old name of it, is present, whatever its fallback.
func (e *Entry[T]) IsSet(c *Conf) bool {
	_, _, ok := e.raw(c)
	return ok
}

func (e *Entry[T]) raw(c *Conf) (key, text string, ok bool) {
	if v, ok := c.Lookup(e.key); ok {
		return e.key, v, true
	}
	for _, old := range e.oldNames {
		if v, ok := c.Lookup(old); ok {
			return old, v, true
		}
	}
	return e.key, "", false
}

// Lookup is a typed read: trims, expands ${…}, converts and checks. ok is false when neither the property, nor its
// fallback, nor a default gives a value.
func (e *Entry[T]) Lookup(c *Conf) (value T, ok bool, err error) {
	key, raw, present := e.raw(c)
	if !present {
		if e.fallback != nil {
			value, ok, err = e.fallback.Lookup(c)
			if ok || err != nil {
				return value, ok, err
			}
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
		return value, false, &ValueError{Key: key, Value: text, Kind: "TYPE_MISMATCH",
			Detail: fmt.Sprintf("It should be a/an '%s' value.", e.typeName)}
	}
	if e.values != nil && !slices.Contains(e.values, text) {
		return value, false, &ValueError{Key: key, Value: text, Kind: "OUT_OF_RANGE_OF_OPTIONS",
			Detail: fmt.Sprintf("It should be one of '%s'.", strings.Join(e.values, ", "))}
	}
	if e.check != nil && !e.check(value) {
		return value, false, &ValueError{Key: key, Value: e.render(value), Kind: "REQUIREMENT", Detail: e.checkDoc}
	}
	return value, true, nil
}

// Get is Lookup for keys that have a default; without one the zero value stands for "unset".
func (e *Entry[T]) Get(c *Conf) (T, error) {
	v, _, err := e.Lookup(c)
	return v, err
}

// Validate reads the key and returns what is wrong with its value.
func (e *Entry[T]) Validate(c *Conf) error {
	_, _, err := e.Lookup(c)
	return err
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
