package submit

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kubespark/kubespark/conf"
)

var notShipped = regexp.MustCompile(`^(.*\.template|spark.*(conf|properties)|.*\.(gz|zip|jar|tar))$`)

// confFiles reads the files of the configuration folder that go into the driver's ConfigMap: small ones first, as long as
// they fit. It answers to KubernetesClientUtils.loadSparkConfDirFiles.
func confFiles(c *conf.Conf, dir string, files Files, log *notices) (map[string]string, error) {
	limit, err := conf.ConfigMapMaxSize.Get(c)
	if err != nil {
		return nil, err
	}
	if dir == "" {
		if home, ok := c.Lookup("spark.home"); ok {
			dir = filepath.Join(home, "conf")
		}
	}
	if dir == "" {
		return nil, nil
	}
	candidates := shippable(dir, files, limit)
	taken := map[string]string{}
	var names, skipped []string
	total := int64(0)
	for _, f := range candidates {
		path := filepath.Join(dir, f.name)
		text, err := files.ReadFile(path)
		switch {
		case err != nil:
			return nil, sparkError(fmt.Sprintf("The configuration file %s %s", path, missing(err)))
		case !utf8.Valid(text):
			log.warn("KubernetesClientUtils", fmt.Sprintf("Unable to read a non UTF-8 encoded file %s. Skipping...", path))
			continue
		}
		size := int64(len(f.name)) + utf16Len(string(text))
		if total+size >= limit {
			skipped = append(skipped, f.name)
			continue
		}
		total += size
		taken[f.name] = string(text)
		names = append(names, f.name)
	}
	if len(names) > 0 {
		log.info("KubernetesClientUtils", fmt.Sprintf("Spark configuration files loaded from Some(%s) : %s", dir, strings.Join(names, ",")))
	}
	if len(skipped) > 0 {
		log.warn("KubernetesClientUtils", fmt.Sprintf("Skipped conf file(s) %s, due to size constraint. Please see, config: "+
			"`spark.kubernetes.configMap.maxSize` for more details.", strings.Join(skipped, ",")))
	}
	return taken, nil
}

type confFile struct {
	name string
	size int64
}

func shippable(dir string, files Files, limit int64) []confFile {
	names, err := files.Regular(dir)
	if err != nil { // no folder, no files: as in stock
		return nil
	}
	var out []confFile
	for _, n := range names {
		if notShipped.MatchString(n) {
			continue
		}
		info, err := files.Stat(filepath.Join(dir, n))
		if err != nil {
			continue
		}
		if size := info.Size() + int64(len(n)); size <= limit {
			out = append(out, confFile{n, size})
		}
	}
	slices.SortFunc(out, func(a, b confFile) int {
		return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.name, b.name))
	})
	return out
}

// utf16Len is the length of a text in Java.
func utf16Len(s string) int64 {
	n := int64(0)
	for _, r := range s {
		n += int64(utf16.RuneLen(r))
	}
	return n
}
