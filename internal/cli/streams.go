package cli

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kubespark/kubespark/submit"
)

// stdinName is the properties file that stands for standard input.
const stdinName = "-"

// env is what a plan depends on, with the properties files that can be read only once.
func (c *submitCommand) env(environ []string) submit.Env {
	e := c.Process.env(environ)
	if len(c.streams) > 0 {
		e.Files = streamFiles{texts: c.streams}
	}
	return e
}

// readStreams reads properties files that are standard input or a pipe: settings of any size, and secrets, without a file
// and without an argument.
func (c *submitCommand) readStreams(p *parsed) error {
	for _, name := range append([]string{p.PropertiesFile}, p.ExtraPropertiesFiles...) {
		if _, done := c.streams[name]; done || name == "" {
			continue
		}
		var text []byte
		var err error
		if name == stdinName {
			text, err = io.ReadAll(c.Stdin)
		} else if info, serr := os.Stat(name); serr != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) == 0 {
			continue
		} else {
			text, err = os.ReadFile(name)
		}
		if err != nil {
			return &submit.Error{Text: "Failed when loading Spark properties from " + name + ": " + err.Error(), Err: err}
		}
		if c.streams == nil {
			c.streams = map[string][]byte{}
		}
		c.streams[name] = text
	}
	return nil
}

// checkStreams refuses to hand over what the real spark-submit cannot read any more.
func (c *submitCommand) checkStreams() error {
	if len(c.streams) == 0 {
		return nil
	}
	names := strings.Join(slices.Sorted(maps.Keys(c.streams)), ", ")
	return &submit.Error{Text: fmt.Sprintf("properties from %s cannot be handed to the real spark-submit, which takes regular files only: write them into one", names)}
}

// streamFiles is the file system with texts that were read before, as regular files.
type streamFiles struct {
	submit.OSFiles
	texts map[string][]byte
}

// ReadFile reads a file.
func (f streamFiles) ReadFile(path string) ([]byte, error) {
	if text, ok := f.texts[path]; ok {
		return text, nil
	}
	return f.OSFiles.ReadFile(path)
}

// Stat describes a file.
func (f streamFiles) Stat(path string) (os.FileInfo, error) {
	if text, ok := f.texts[path]; ok {
		return textInfo{path, len(text)}, nil
	}
	return f.OSFiles.Stat(path)
}

type textInfo struct {
	name string
	size int
}

func (i textInfo) Name() string     { return i.name }
func (i textInfo) Size() int64      { return int64(i.size) }
func (textInfo) Mode() fs.FileMode  { return 0o400 }
func (textInfo) ModTime() time.Time { return time.Time{} }
func (textInfo) IsDir() bool        { return false }
func (textInfo) Sys() any           { return nil }
