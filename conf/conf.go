// Package conf holds Spark configuration: the property map, typed handles for its keys, units, ${…} expansion, loading
// order and redaction. It is the lowest package of the house: everything else reads its settings through it, and it
// imports the standard library only (the Java properties grammar apart).
//
// It answers to Spark's SparkConf and ConfigEntry (org.apache.spark.internal.config).
package conf

import (
	"maps"
	"slices"
	"strings"
)

// Conf is an immutable set of Spark properties together with the Spark version whose defaults apply and the environment
// that ${env:NAME} reads. It answers to SparkConf.
type Conf struct {
	props   map[string]string
	version Version
	env     func(string) (string, bool)
}

// Option changes how New builds a Conf.
type Option func(*Conf)

// WithVersion says whose defaults apply. Default: DefaultVersion.
func WithVersion(v Version) Option { return func(c *Conf) { c.version = v } }

// WithEnv gives the environment for ${env:NAME}. Default: an empty one.
func WithEnv(lookup func(string) (string, bool)) Option { return func(c *Conf) { c.env = lookup } }

// New copies props into a Conf.
func New(props map[string]string, opts ...Option) *Conf {
	c := &Conf{
		props:   maps.Clone(props),
		version: DefaultVersion,
		env:     func(string) (string, bool) { return "", false },
	}
	if c.props == nil {
		c.props = map[string]string{}
	}
	for _, o := range opts {
		o(c)
	}
	return c
}

// Lookup returns the stored text of key, unexpanded: a raw read.
func (c *Conf) Lookup(key string) (string, bool) {
	v, ok := c.props[key]
	return v, ok
}

// Raw returns the stored text of key, or def.
func (c *Conf) Raw(key, def string) string {
	if v, ok := c.props[key]; ok {
		return v
	}
	return def
}

// Version returns the Spark version whose defaults apply.
func (c *Conf) Version() Version { return c.version }

// Keys returns all keys, sorted.
func (c *Conf) Keys() []string { return slices.Sorted(maps.Keys(c.props)) }

// All returns a copy of the properties.
func (c *Conf) All() map[string]string { return maps.Clone(c.props) }

// Family returns the properties below a prefix, keyed by what follows it: SparkConf.getAllWithPrefix. Raw text.
func (c *Conf) Family(prefix string) map[string]string {
	out := map[string]string{}
	for k, v := range c.props {
		if rest, ok := strings.CutPrefix(k, prefix); ok {
			out[rest] = v
		}
	}
	return out
}

// With returns a Conf with the given properties put over these.
func (c *Conf) With(props map[string]string) *Conf {
	n := *c
	n.props = maps.Clone(c.props)
	maps.Copy(n.props, props)
	return &n
}

// Without returns a Conf that lacks the given keys.
func (c *Conf) Without(keys ...string) *Conf {
	n := *c
	n.props = maps.Clone(c.props)
	for _, k := range keys {
		delete(n.props, k)
	}
	return &n
}
