package submit

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kubespark/kubespark/conf"
	"github.com/kubespark/kubespark/internal/upload"
)

var uriScheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*):.`)

// isURI says whether text is a URI in Java's eyes: no blanks or other characters that need encoding.
func isURI(text string) bool {
	for i, r := range text {
		switch {
		case r <= ' ' || r == 0x7f || strings.ContainsRune("\"<>\\^`{|}", r):
			return false
		case r == '%':
			if _, err := url.PathUnescape(text[i:min(i+3, len(text))]); err != nil {
				return false
			}
		}
	}
	return true
}

// resolveURI makes a dependency's text a URI: one with a scheme stays, any other is a path of this machine, made absolute.
// It answers to Utils.resolveURI.
func resolveURI(text string, files Files) string {
	if isURI(text) {
		if uriScheme.MatchString(text) {
			return text
		}
		if path, fragment, ok := strings.Cut(text, "#"); ok {
			if !filepath.IsAbs(path) {
				path = filepath.Join(files.Abs("."), path)
			}
			return "file:" + encodePath(path) + "#" + fragment
		}
	}
	return "file:" + encodePath(files.Abs(text))
}

// encodePath percent-encodes what Java's File.toURI encodes; letters beyond ASCII stay.
func encodePath(path string) string {
	const plain = "-_.!~*'();:@&=+$,/"
	var out strings.Builder
	for _, r := range path {
		switch {
		case r >= 0x80, r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune(plain, r):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, "%%%02X", r)
		}
	}
	return out.String()
}

func schemeOf(uri string) string {
	if m := uriScheme.FindStringSubmatch(uri); m != nil {
		return m[1]
	}
	return ""
}

// isLocal says whether a URI lies on the submitting machine. local: means inside the image.
func isLocal(uri string) bool {
	s := schemeOf(uri)
	return s == "" || s == "file"
}

// localPath is the file that a local URI names, without its fragment.
func localPath(uri string) string {
	base, _, _ := strings.Cut(uri, "#")
	path := strings.TrimPrefix(base, "file:")
	if strings.HasPrefix(path, "//") {
		path = path[2:]
		if i := strings.IndexByte(path, '/'); i > 0 { // file://host/path
			path = path[i:]
		}
	}
	if p, err := url.PathUnescape(path); err == nil {
		return p
	}
	return path
}

// resolveList resolves a comma-separated list of dependencies: URIs, and glob patterns replaced by the files they match.
// It answers to DependencyUtils.resolveGlobPaths.
func resolveList(key, list string, lister lister, log *notices) (string, error) {
	var out []string
	for _, item := range conf.SplitList(list) {
		uri := resolveURI(item, lister.files())
		base, fragment, named := strings.Cut(uri, "#")
		matches, err := expandGlob(key, item, base, lister)
		if err != nil {
			return "", err
		}
		if named && len(matches) > 1 {
			return "", sparkError(fmt.Sprintf("%s resolves ambiguously to multiple files: %s", base, strings.Join(matches, ",")))
		}
		if len(matches) == 0 {
			log.warn("DependencyUtils", fmt.Sprintf("%s: %s names no regular file and is left out", key, item))
		}
		for _, m := range matches {
			if named {
				m += "#" + fragment
			}
			out = append(out, m)
		}
	}
	return strings.Join(out, ","), nil
}

// lister finds the files of a pattern.
type lister interface {
	files() Files
	lists(scheme string) bool // whether remoteGlob knows it
	remoteGlob(pattern string) ([]string, error)
}

func expandGlob(key, item, base string, lister lister) ([]string, error) {
	scheme := schemeOf(base)
	switch scheme {
	case "local", "http", "https", "ftp":
		return []string{base}, nil
	case "file", "":
		return expandLocal(key, item, base, lister.files())
	}
	switch {
	case !upload.HasPattern(base):
		return []string{base}, nil
	case !lister.lists(scheme):
		return nil, sparkError(fmt.Sprintf("%s: the pattern %s cannot be listed by native submission; name the files", key, item))
	}
	found, err := lister.remoteGlob(base)
	if err != nil {
		return nil, &Error{Class: classSpark, Err: err, Text: fmt.Sprintf("%s: the files of %s cannot be listed: %v", key, item, err)}
	}
	return found, nil
}

// expandLocal finds the regular files of this machine behind a path or pattern. A plain path that does not exist stays.
func expandLocal(key, item, base string, files Files) ([]string, error) {
	path := localPath(base)
	if !upload.HasPattern(path) {
		info, err := files.Stat(path)
		if err == nil && !info.Mode().IsRegular() {
			return nil, nil
		}
		if base == "file:"+encodePath(path) {
			return []string{base}, nil
		}
		return []string{"file:" + encodePath(path)}, nil
	}
	// Hadoop's {a,b} cannot occur: the comma has already split the list.
	found, err := files.Glob(strings.NewReplacer("{", "", "}", "", "[!", "[^").Replace(path))
	if err != nil {
		return nil, sparkError(fmt.Sprintf("%s: %s is no file pattern", key, item))
	}
	var out []string
	for _, f := range found {
		if info, err := files.Stat(f); err == nil && info.Mode().IsRegular() && !isChecksum(f) {
			out = append(out, "file:"+encodePath(f))
		}
	}
	return out, nil
}

// isChecksum says whether a file holds the checksum of another: Hadoop writes them beside, and shows none of them.
func isChecksum(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".crc")
}

// absoluteList makes each item of a list a URI.
func absoluteList(list string, files Files) string {
	items := conf.SplitList(list)
	for i, item := range items {
		items[i] = resolveURI(item, files)
	}
	return strings.Join(items, ",")
}

// missing words why a file cannot be used, in half a sentence.
func missing(err error) string {
	switch {
	case os.IsNotExist(err):
		return "does not exist"
	case os.IsPermission(err):
		return "may not be read"
	}
	return "cannot be read: " + err.Error()
}
