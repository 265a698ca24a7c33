package conf

import (
	"slices"
	"strings"
)

// Key is what all entries have in common, whatever their type.
type Key interface {
	// Key is the property's name.
	Key() string
	// Doc is the description for the reference.
	Doc() string
	// Since is the first Spark version with the key, or "".
	Since() string
	// TypeName is the type as Spark's errors name it, such as int or time in SECONDS.
	TypeName() string
	// Unit is that of a bare number, or "".
	Unit() string
	// Check is what a value must be, as the error says it, or "".
	Check() string
	// Values are the only texts allowed, or nil.
	Values() []string
	// OldNames are former names that are still read.
	OldNames() []string
	// FallbackKey is the key that is read when this one is unset, or "".
	FallbackKey() string
	// IsSecret says that no listing shows the value.
	IsSecret() bool
	// DefaultText is the default as Spark writes it; ok is false without one.
	DefaultText(Version) (text string, ok bool)
	// Validate reads the key from c and returns what is wrong with its value.
	Validate(c *Conf) error
}

// Keys returns every declared entry: the only list. Each keys_*.go file has its part of it, and a test finds entries that
// are missing here.
func Keys() []Key {
	var all []Key
	for _, part := range [][]Key{submitKeys(), applicationKeys(), podKeys(), executorKeys(), redactKeys()} {
		all = append(all, part...)
	}
	return all
}

// SortedKeys returns Keys in the order of their names.
func SortedKeys() []Key {
	return slices.SortedFunc(slices.Values(Keys()), func(a, b Key) int { return strings.Compare(a.Key(), b.Key()) })
}

// describe returns the declared entry of a name, or nil.
func describe(name string) Key {
	for _, k := range Keys() {
		if k.Key() == name {
			return k
		}
	}
	return nil
}
