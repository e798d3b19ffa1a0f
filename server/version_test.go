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
