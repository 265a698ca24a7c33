package node

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
)

// A request for a terminal and stderr is one for a terminal; any other goes on as it is, and the command keeps its order.
func TestOneOutputOnATerminal(t *testing.T) {
	for query, want := range map[string]string{
		"command=b&command=a&input=1&output=1&error=1&tty=1": "command=b&command=a&input=1&output=1&tty=1",
		"command=b&command=a&input=1&output=1&error=1":       "command=b&command=a&input=1&output=1&error=1",
		"command=env&output=1&error=1&tty=0":                 "command=env&output=1&error=1&tty=0",
		"command=env&output=1&tty=1":                         "command=env&output=1&tty=1",
	} {
		var got url.Values
		h := oneOutput(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.URL.Query() }))
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/exec/default/p/c?"+query, nil))
		expected, _ := url.ParseQuery(want)
		if got.Encode() != expected.Encode() || !slices.Equal(got["command"], expected["command"]) {
			t.Errorf("%s: the library is asked %s", query, got.Encode())
		}
	}
}
