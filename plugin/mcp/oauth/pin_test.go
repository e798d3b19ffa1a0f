package oauth

import (
	"bytes"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/memory"
)

// A client secret without an issuer goes to the authorization server that it was first used with, and to no other that the
// MCP server names later.
func TestIssuer_IsPinnedForASecret(t *testing.T) {
	sealer, err := NewSealer(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	values := memory.NewProfile()
	process := func() issuers {
		b, err := New(Config{Values: func(string) profile.Store { return values }, Sealer: sealer, RedirectURL: "http://localhost/callback"})
		if err != nil {
			t.Fatal(err)
		}
		return issuers{b}
	}
	const good, evil = "https://idp.example", "https://evil.example"
	s := &Server{ID: "s", URL: "https://mcp.example", Client: Client{ID: "c", Secret: awaken.NewSecret("shh")}}
	if got, err := process().choose(t.Context(), s, []string{good, evil}); got != good || err != nil {
		t.Fatalf("the first time it is %q, %v", got, err)
	}
	if got, err := process().choose(t.Context(), s, []string{evil, good}); got != good || err != nil {
		t.Errorf("later it is %q, %v", got, err)
	}
	if got, err := process().choose(t.Context(), s, []string{evil}); err == nil || !strings.Contains(err.Error(), `want "https://idp.example" among them`) {
		t.Errorf("another one is %q, %v", got, err)
	}
	public := &Server{ID: "s", URL: "https://mcp.example", Client: Client{ID: "c"}}
	if got, err := process().choose(t.Context(), public, []string{evil}); got != evil || err != nil {
		t.Errorf("without a secret it is %q, %v", got, err)
	}
	named := &Server{ID: "s", URL: "https://mcp.example", Client: Client{ID: "c", Secret: awaken.NewSecret("shh"), Issuer: evil}}
	if got, err := process().choose(t.Context(), named, []string{evil}); got != evil || err != nil {
		t.Errorf("a configured one is %q, %v", got, err)
	}
}
