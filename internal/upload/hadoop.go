package upload

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// hadoopConf is a Hadoop configuration: the site files with the caller's properties over them.
type hadoopConf struct {
	given    map[string]string
	site     map[string]string
	loaded   bool
	env      func(string) (string, bool)
	readFile func(string) ([]byte, error)
	user     string
}

func newHadoopConf(o Options) *hadoopConf {
	h := &hadoopConf{given: o.Props, env: o.Env, readFile: o.ReadFile, user: o.User}
	if h.env == nil {
		h.env = func(string) (string, bool) { return "", false }
	}
	if h.readFile == nil {
		h.readFile = os.ReadFile
	}
	return h
}

// load reads the site files once. Files that are not there are none.
func (h *hadoopConf) load() error {
	if h.loaded {
		return nil
	}
	site := map[string]string{}
	for _, variable := range []string{"YARN_CONF_DIR", "HADOOP_CONF_DIR"} { // the last one wins
		dir := h.getenv(variable)
		if dir == "" {
			continue
		}
		for _, name := range []string{"core-site.xml", "hdfs-site.xml"} {
			if err := h.loadFile(filepath.Join(dir, name), site); err != nil {
				return fmt.Errorf("%s: %w", variable, err)
			}
		}
	}
	h.site, h.loaded = site, true
	return nil
}

func (h *hadoopConf) loadFile(name string, into map[string]string) error {
	text, err := h.readFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	var file struct {
		Properties []struct {
			Name  string `xml:"name"`
			Value string `xml:"value"`
		} `xml:"property"`
	}
	if err := xml.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("%s is no Hadoop configuration: %w", name, err)
	}
	for _, p := range file.Properties {
		into[strings.TrimSpace(p.Name)] = p.Value
	}
	return nil
}

func (h *hadoopConf) getenv(name string) string {
	v, _ := h.env(name)
	return v
}

func (h *hadoopConf) lookup(key string) (string, bool) {
	if v, ok := h.given[key]; ok {
		return v, true
	}
	v, ok := h.site[key]
	return v, ok
}

var reference = regexp.MustCompile(`\$\{[^}$\s]+\}`)

// get returns the first set one of several keys, trimmed and with Hadoop's ${…} replaced; "" if there is none.
func (h *hadoopConf) get(keys ...string) string {
	for _, key := range keys {
		if v, ok := h.lookup(key); ok {
			if v = strings.TrimSpace(h.expand(v)); v != "" {
				return v
			}
		}
	}
	return ""
}

// expand replaces ${key}, ${env.NAME}, ${env.NAME-default} and ${env.NAME:-default}; what is unknown stays.
func (h *hadoopConf) expand(text string) string {
	const depth = 20 // Hadoop's own limit
	for range depth {
		next := reference.ReplaceAllStringFunc(text, func(ref string) string {
			name := ref[2 : len(ref)-1]
			if env, ok := strings.CutPrefix(name, "env."); ok {
				return h.expandEnv(env, ref)
			}
			if v, ok := h.lookup(name); ok {
				return v
			}
			return ref
		})
		if next == text {
			break
		}
		text = next
	}
	return text
}

func (h *hadoopConf) expandEnv(name, ref string) string {
	name, def, hasDef := strings.Cut(name, "-")
	name, emptyToo := strings.CutSuffix(name, ":")
	v, ok := h.env(name)
	switch {
	case ok && (v != "" || !emptyToo):
		return v
	case hasDef:
		return def
	}
	return ref
}

// getBool reads true or false; anything else is def, as in Hadoop.
func (h *hadoopConf) getBool(def bool, keys ...string) bool {
	if b, err := strconv.ParseBool(strings.ToLower(h.get(keys...))); err == nil {
		return b
	}
	return def
}

// credentialFiles refuses a store of secrets that only a JVM can read, when a secret is asked for and found nowhere else.
func (h *hadoopConf) credentialFiles(keys ...string) error {
	for _, k := range append(keys, "hadoop.security.credential.provider.path") {
		if h.get(k) != "" {
			return fmt.Errorf("%s names a credential store that native submission cannot read: give the secret as a property or in the environment, "+
				"or set spark.kubespark.submit.fallback=spark-submit", k)
		}
	}
	return nil
}
