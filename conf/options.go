package conf

import (
	"fmt"
	"strings"
)

// SplitOptions cuts a string of JVM options into words as a shell would: blanks separate, quotes of either kind keep
// blanks, a backslash takes the next character as it is (not inside single quotes). Open quotes are an error with the
// launcher's text.
func SplitOptions(text string) ([]string, error) {
	var (
		words   []string
		word    strings.Builder
		inWord  bool
		quote   rune
		escaped bool
	)
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '"' || r == '\'':
			quote, inWord = r, true
		case strings.ContainsRune(" \t\r\n\f\v", r):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("Invalid option string: %s", text) //nolint:staticcheck // the launcher's own text
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// Defines returns the -Dspark.…=… words of a string of JVM options as properties: what a JVM would hold as system
// properties. All other options are left out.
func Defines(options string) (map[string]string, error) {
	words, err := SplitOptions(options)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, w := range words {
		d, ok := strings.CutPrefix(w, "-D")
		if !ok || !strings.HasPrefix(d, "spark.") {
			continue
		}
		k, v, _ := strings.Cut(d, "=")
		out[k] = v
	}
	return out, nil
}
