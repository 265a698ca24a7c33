package conf

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// EntryOption describes an entry beyond its key and type.
type EntryOption func(*entryOptions)

type entryOptions struct {
	doc, since string
	secret     bool
	oldNames   []string
	def        any // T
	defFor     any // func(Version) T
	fallback   any // *Entry[T]
	check      any // func(T) bool
	checkDoc   string
}

// Default is the value of an unset key. A plain number fits integer, size and float entries alike.
func Default[T any](v T) EntryOption { return func(o *entryOptions) { o.def = v } }

// DefaultFor is a default that depends on the Spark version imitated.
func DefaultFor[T any](f func(Version) T) EntryOption { return func(o *entryOptions) { o.defFor = f } }

// Fallback names the entry that is read when the key itself is unset.
func Fallback[T any](e *Entry[T]) EntryOption { return func(o *entryOptions) { o.fallback = e } }

// Check is run on each read of a set value; text is what the error says when it fails.
func Check[T any](ok func(T) bool, text string) EntryOption {
	return func(o *entryOptions) { o.check, o.checkDoc = ok, text }
}

// Doc is the one-paragraph description shown in the reference.
func Doc(text string) EntryOption { return func(o *entryOptions) { o.doc = text } }

// Since is the first Spark version with the key.
func Since(version string) EntryOption { return func(o *entryOptions) { o.since = version } }

// Secret marks a value that no listing shows.
func Secret() EntryOption { return func(o *entryOptions) { o.secret = true } }

// OldName is a former name of the key that is still read when the key itself is unset: SparkConf's alternatives.
func OldName(key string) EntryOption {
	return func(o *entryOptions) { o.oldNames = append(o.oldNames, key) }
}

// newEntry joins a kind's parser and renderer with the options of one key. Options of another type than the entry's are
// a mistake in this package and stop the program at its start.
func newEntry[T any](key, typeName, unit string, parse func(string) (T, error), render func(T) string, opts []EntryOption) *Entry[T] {
	var o entryOptions
	for _, opt := range opts {
		opt(&o)
	}
	e := &Entry[T]{
		key: key, doc: o.doc, since: o.since, secret: o.secret, oldNames: o.oldNames, unit: unit,
		parse: parse, typeName: typeName, render: render, checkDoc: o.checkDoc,
		def: func(Version) (T, bool) { var zero T; return zero, false },
	}
	switch {
	case o.defFor != nil:
		f := optionValue[func(Version) T](key, o.defFor)
		e.def = func(v Version) (T, bool) { return f(v), true }
	case o.def != nil:
		v := optionValue[T](key, widen[T](o.def))
		e.def = func(Version) (T, bool) { return v, true }
	}
	if o.fallback != nil {
		e.fallback = optionValue[*Entry[T]](key, o.fallback)
	}
	if o.check != nil {
		e.check = optionValue[func(T) bool](key, o.check)
	}
	return e
}

func optionValue[T any](key string, v any) T {
	t, ok := v.(T)
	if !ok {
		panic(fmt.Sprintf("conf: an option of %s has type %T, want %T", key, v, t))
	}
	return t
}

// widen lets Default(1) stand for an int64 or a float64.
func widen[T any](v any) any {
	n, ok := v.(int)
	if !ok {
		return v
	}
	var t T
	switch any(t).(type) {
	case int64:
		return int64(n)
	case float64:
		return float64(n)
	}
	return v
}

// errNotParsed only says that a parser failed; Lookup words the error.
var errNotParsed = errors.New("not a value of this type")

// String is a text entry. Text is not trimmed.
func String(key string, opts ...EntryOption) *Entry[string] {
	return newEntry(key, "string", "", func(s string) (string, error) { return s, nil },
		func(s string) string { return s }, opts)
}

// Int is a 32-bit decimal integer, as Java's int.
func Int(key string, opts ...EntryOption) *Entry[int] {
	return newEntry(key, "int", "", func(s string) (int, error) {
		n, err := strconv.ParseInt(javaTrim(s), 10, 32)
		return int(n), err
	}, strconv.Itoa, opts)
}

// Long is a 64-bit decimal integer, as Java's long.
func Long(key string, opts ...EntryOption) *Entry[int64] {
	return newEntry(key, "long", "", func(s string) (int64, error) {
		return strconv.ParseInt(javaTrim(s), 10, 64)
	}, func(n int64) string { return strconv.FormatInt(n, 10) }, opts)
}

// Bool is true or false in any case.
func Bool(key string, opts ...EntryOption) *Entry[bool] {
	return newEntry(key, "boolean", "", func(s string) (bool, error) {
		switch strings.ToLower(javaTrim(s)) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return false, errNotParsed
	}, strconv.FormatBool, opts)
}

// Float is a number in the syntax of Java's Double.parseDouble.
func Float(key string, opts ...EntryOption) *Entry[float64] {
	return newEntry(key, "double", "", ParseDouble, FormatDouble, opts)
}

// Millis is a time entry: Spark's timeConf. unit (time.Millisecond, time.Second or time.Minute) is that of a bare number,
// and values are truncated to it.
func Millis(key string, unit time.Duration, opts ...EntryOption) *Entry[time.Duration] {
	return newEntry(key, "time in "+timeUnitName(unit), timeUnitShort(unit), func(s string) (time.Duration, error) {
		d, err := ParseTime(s, unit)
		return d.Truncate(unit), err
	}, func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" }, opts)
}

// Bytes is a size entry: Spark's bytesConf. unit is that of a bare number and of the value read, so a key in MiB gives
// 1024 for "1g". Conversion rounds down.
func Bytes(key string, unit ByteUnit, opts ...EntryOption) *Entry[int64] {
	return newEntry(key, "bytes in "+unit.String(), unit.short(), func(s string) (int64, error) {
		return ParseBytes(s, unit)
	}, func(n int64) string { return strconv.FormatInt(n*int64(unit), 10) + "b" }, opts)
}

// List is a comma-separated list: items trimmed, empty ones dropped.
func List(key string, opts ...EntryOption) *Entry[[]string] {
	return newEntry(key, "string", "", func(s string) ([]string, error) { return SplitList(s), nil },
		func(l []string) string { return strings.Join(l, ",") }, opts)
}

// Enum is one word out of a set, case-sensitive and not trimmed.
func Enum(key string, values []string, opts ...EntryOption) *Entry[string] {
	e := String(key, opts...)
	e.values = slices.Clone(values)
	return e
}

// Regex is a regular expression. Java and Go agree on the syntax people use in these keys; what Go lacks is an error.
func Regex(key string, opts ...EntryOption) *Entry[*regexp.Regexp] {
	return newEntry(key, "regex", "", regexp.Compile, func(r *regexp.Regexp) string { return r.String() }, opts)
}
