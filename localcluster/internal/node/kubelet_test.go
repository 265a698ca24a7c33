package node

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A request for a terminal and stderr is one for a terminal; any other goes on as it is, and the command keeps its order.
func TestOneOutputOnATerminal(t *testing.T) {
	for query, want := range map[string]string{
		"command=b&command=a&error=1&input=1&output=1&tty=1": "command=b&command=a&input=1&output=1&tty=1",
		"command=b&command=a&error=1&input=1&output=1":       "command=b&command=a&error=1&input=1&output=1",
		"command=env&error=1&output=1&tty=0":                 "command=env&error=1&output=1&tty=0",
		"command=env&output=1&tty=1":                         "command=env&output=1&tty=1",
	} {
		var got string
		h := oneOutput(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.URL.RawQuery }))
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/exec/default/p/c?"+query, nil))
		if got != want {
			t.Errorf("%s: the library is asked %s", query, got)
		}
	}
}
