package upload

import (
	"fmt"
	"strings"
	"time"
)

// removeTime bounds what is done after a failure.
const removeTime = 10 * time.Second

// answerError is a store's refusal.
type answerError struct {
	store, of  string
	code, text string
	err        error
}

func (e *answerError) Error() string {
	text := strings.TrimSuffix(strings.Join(strings.Fields(e.text), " "), ".")
	switch {
	case text == "" || text == e.code:
		return fmt.Sprintf("%s refused it (%s): %s", e.store, e.of, e.code)
	case e.code == "":
		return fmt.Sprintf("%s refused it (%s): %s", e.store, e.of, text)
	}
	return fmt.Sprintf("%s refused it (%s): %s (%s)", e.store, e.of, text, e.code)
}

func (e *answerError) Unwrap() error { return e.err }
