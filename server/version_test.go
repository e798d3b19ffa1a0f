package server_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/store/memory"
)

// Documents of versions can be read and compared, and a version says how many runs still have it.
func TestVersions_ReadAndCompare(t *testing.T) {
	t.Parallel()
	db := memory.NewDB()
	g := &rig{t: t, db: db, conf: db.Config(), keys: adminKeys(t)} // runs and versions are in one database
	g.start()
	number := func(prompt string) float64 {
		g.want(200, "PUT", "/v1/config/agents/v", `{"id":"v","model_id":"m","system_prompt":"`+prompt+`"}`, admin...)
		return g.want(200, "GET", "/v1/registry/versions?limit=1", "", admin...)["live"].(float64)
	}
	number("one")
	old := g.want(200, "GET", "/v1/registry/versions?limit=1", "", admin...)["items"].([]any)[0].(map[string]any)["number"]
	path := func(rest string) string { return strings.ReplaceAll("/v1/registry/"+rest, "OLD", fmt.Sprint(old)) }
	_, run, ticket := g.waits()
	if n := g.want(200, "GET", path("versions/OLD"), "", admin...)["open_runs"]; n != 1.0 {
		t.Errorf("open_runs is %v, want the run that waits", n)
	}
	number("two")
	if got := g.want(200, "GET", path("versions/OLD/agents/v"), "", admin...)["system_prompt"]; got != "one" {
		t.Errorf("the document of the old version is %v", got)
	}
	for path, want := range map[string]int{"versions/OLD/agents/none": 404, "versions/OLD/others/v": 404, "versions/99999/agents/v": 404, "versions/x/agents/v": 404} {
		if status, text := g.ask("GET", strings.ReplaceAll("/v1/registry/"+path, "OLD", fmt.Sprint(old)), "", admin...); status != want {
			t.Errorf("%s: %d %s, want %d", path, status, text, want)
		}
	}
	diff := g.want(200, "GET", path("diff?from=OLD&to=live"), "", admin...)
	item := diff["items"].([]any)[0].(map[string]any)
	change := item["changes"].([]any)[0].(map[string]any)
	if item["id"] != "v" || item["op"] != "replace" || change["path"] != "/system_prompt" || change["before"] != "one" || change["after"] != "two" {
		t.Errorf("diff is %v", diff)
	}
	g.want(202, "POST", "/v1/approvals/"+run+"/"+ticket, `{"action":"cancel"}`)
	g.ends(run)
	if n := g.want(200, "GET", path("versions/OLD"), "", admin...)["open_runs"]; n != 0.0 {
		t.Errorf("open_runs is %v when the run is done", n)
	}
	page := g.want(200, "GET", path("diff?from=1&to=live&limit=1"), "", admin...)
	if next, ok := page["next_cursor"].(string); ok {
		if status, text := g.ask("GET", path("diff?from=1&to=draft&limit=1&cursor="+url.QueryEscape(next)), "", admin...); status != 400 {
			t.Errorf("the cursor of another diff: %d %s", status, text)
		}
	}
}

// A secret that is planted in every kind of document is in no answer about versions, drafts, differences, previews and
// mistakes.
func TestVersions_HaveNoSecrets(t *testing.T) {
	t.Parallel()
	const planted = "planted-secret-c0ffee"
	g := newRig(t)
	write := func(query, path, doc string) {
		t.Helper()
		g.want(200, "PUT", "/v1/config/"+path+query, doc, admin...)
	}
	for i, query := range []string{"", "", "?publish=false"} {
		secret := fmt.Sprint(planted, i)
		write(query, fmt.Sprint("providers/p", i/2), fmt.Sprintf(`{"id":"p%d","adapter":"scripted","api_key":%q,"adapter_options":{"headers":{"X-Key-%d":%q}}}`, i/2, secret, i, secret))
		write(query, fmt.Sprint("a2a-servers/s", i/2), fmt.Sprintf(`{"id":"s%d","base_url":"https://h%d.example","auth":{"type":"bearer","token":%q}}`, i/2, i, secret))
		write(query, fmt.Sprint("agents/a", i/2), fmt.Sprintf(`{"id":"a%d","model_id":"m","sections":{"x":{"api_key":%q,"n":%d}}}`, i/2, secret, i))
	}
	paths := []string{"GET /v1/registry/drafts", "GET /v1/registry/versions", "GET /v1/registry/diff", "GET /v1/registry/diff?from=1&to=draft", "GET /v1/registry/diff?from=draft&to=1",
		"GET /v1/config/agents/a0/removal-preview", "GET /v1/config/providers/p0/removal-preview", "GET /v1/config/agents/meta", "GET /v1/config/agents/a1?state=draft", "GET /v1/config/agents/a0?state=live",
		"GET /v1/config/providers", "DELETE /v1/registry/drafts/agents/a1", "GET /v1/audit-log"}
	live := int(g.want(200, "GET", "/v1/registry/versions?limit=1", "", admin...)["live"].(float64))
	for n := 1; n <= live; n++ {
		for _, doc := range []string{"providers/p0", "a2a-servers/s0", "agents/a0"} {
			paths = append(paths, fmt.Sprintf("GET /v1/registry/versions/%d/%s", n, doc))
		}
	}
	seen := 0
	for _, p := range paths {
		method, path, _ := strings.Cut(p, " ")
		status, text := g.ask(method, path, "", admin...)
		if status < 300 {
			seen++
		}
		if strings.Contains(text, planted) || strings.Contains(text, "$secret") && !strings.HasPrefix(path, "/v1/audit-log") {
			t.Errorf("%s: %d %s has a secret", p, status, text)
		}
	}
	if seen < 18 {
		t.Errorf("only %d requests succeeded", seen)
	}
	for _, body := range []string{`{"id":"new","model_id":"none","sections":{"x":{"api_key":"` + planted + `"}}}`, `{"id":"new","model_id":"m","endpoint":{"base_url":"https://h?token=` + planted + `"},"extra":1}`} {
		for _, p := range []string{"/v1/config/agents/validate", "/v1/agents/permission-preview"} {
			text := body
			if strings.HasSuffix(p, "preview") {
				text = `{"agent":` + body + `,"calls":[{"tool":"x"}]}`
			}
			if status, answer := g.ask("POST", p, text, admin...); status != 400 || strings.Contains(answer, planted) {
				t.Errorf("%s: %d %s", p, status, answer)
			}
		}
	}
}
