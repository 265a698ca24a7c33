package sparkpod

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Spark reads templates by YAML's JSON schema: yes, on, ~, 0x10 and 012 are texts. Go's readers have other rules, so the
// scalars are resolved here.
var (
	yamlInt   = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	yamlFloat = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
)

// parseYAML returns the one object in a YAML or JSON text as a JSON tree with json.Number for numbers; nil if there is
// nothing in it.
func parseYAML(text []byte) (map[string]any, error) {
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	var docs []any
	for {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, &TemplateError{Reason: fmt.Sprintf("It cannot be parsed: %v.", err), Err: err}
		}
		doc, err := treeOf(&n)
		if err != nil {
			return nil, &TemplateError{Reason: fmt.Sprintf("It cannot be parsed: %v.", err), Err: err}
		}
		if doc != nil {
			docs = append(docs, doc)
		}
	}
	if len(docs) == 0 {
		return nil, nil
	}
	if len(docs) > 1 {
		return nil, &TemplateError{Reason: fmt.Sprintf("It has %d documents instead of one.", len(docs))}
	}
	tree, ok := docs[0].(map[string]any)
	if !ok {
		return nil, &TemplateError{Reason: "It is not a YAML or JSON object."}
	}
	return tree, nil
}

func treeOf(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		return treeOf(n.Content[0])
	case yaml.AliasNode:
		return treeOf(n.Alias)
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("line %d: a key is not a text", k.Line)
			}
			v, err := treeOf(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			m[k.Value] = v
		}
		return m, nil
	case yaml.SequenceNode:
		l := make([]any, 0, len(n.Content))
		for _, e := range n.Content {
			v, err := treeOf(e)
			if err != nil {
				return nil, err
			}
			l = append(l, v)
		}
		return l, nil
	case yaml.ScalarNode:
		return scalar(n), nil
	}
	return nil, nil
}

func scalar(n *yaml.Node) any {
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 || n.Style&yaml.TaggedStyle != 0 && n.Tag == "!!str" {
		return n.Value
	}
	switch {
	case n.Value == "" || n.Value == "null":
		return nil
	case n.Value == "true":
		return true
	case n.Value == "false":
		return false
	case yamlInt.MatchString(n.Value), yamlFloat.MatchString(n.Value):
		return json.Number(n.Value)
	}
	return n.Value
}
