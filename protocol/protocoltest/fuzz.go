package protocoltest

import (
	"net/http"
	"strings"
	"testing"
)

// Fuzz sends bodies to a server: every seed in each of a number of kinds of requests, and what the fuzzer makes of
// them. Check looks at the response, which must have the protocol's shape whatever the body is.
func (g *Rig) Fuzz(f *testing.F, kinds int, seeds []string, request func(kind int, body string) Request, check func(t *testing.T, resp *http.Response, body string)) {
	f.Helper()
	for _, seed := range seeds {
		for i := range kinds {
			f.Add(byte(i), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, body []byte) {
		if strings.Contains(string(body), "scenario:slow") {
			t.Skip("it takes seconds")
		}
		resp := request(int(which)%kinds, string(body)).send(&Rig{TB: t}, g.URL)
		defer resp.Body.Close()
		check(t, resp, ReadAll(resp))
	})
}
