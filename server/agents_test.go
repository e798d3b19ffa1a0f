package server_test

import (
	"strings"
	"testing"
)

// Clients that may only read or run learn which agents there are, and nothing of their prompts, tools or
// plugins. Admins of the server see documents.
func TestAgents_AreListedToEveryKey(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.says(201, "", "POST", "/v1/config/agents", `{"id":"poet","model_id":"m","description":"Writes verse.","system_prompt":"PRIVATE"}`)
	for _, kind := range []string{`{"kind":"read"}`, `{"kind":"run","tenant":"acme","user":"ada"}`, `{"kind":"admin","tenant":"acme"}`, ""} {
		var key []string
		if kind != "" {
			key = []string{"Authorization", "Bearer " + g.want(201, "POST", "/v1/keys", kind, admin...)["secret"].(string)}
		}
		status, text := g.ask("GET", "/v1/agents", "", key...)
		if status != 200 || !strings.Contains(text, `{"id":"poet","description":"Writes verse.","model_id":"m"}`) || strings.Contains(text, "PRIVATE") || strings.Contains(text, `"__`) {
			t.Errorf("%s: %d %s", kind, status, text)
		}
		all := g.want(200, "GET", "/v1/agents", "", key...)["items"].([]any)
		page := g.want(200, "GET", "/v1/agents?offset=1&limit=1", "", key...)["items"].([]any)
		if len(page) != 1 || page[0].(map[string]any)["id"] != all[1].(map[string]any)["id"] {
			t.Errorf("%s: page 2 is %v of %v", kind, page, all)
		}
		if rest := g.want(200, "GET", "/v1/agents?offset=99", "", key...)["items"].([]any); len(rest) != 0 {
			t.Errorf("%s: beyond the end there is %v", kind, rest)
		}
	}
	g.says(200, "PRIVATE", "GET", "/v1/agents", "")
}
