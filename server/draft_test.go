package server_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/store/memory"
)

// While there is a draft, both documents can be read: what is live, and what is edited. Without a state it is what is
// edited, as clients of the original expect of what they have saved.
func TestDrafts_LiveAndDraftCanBeRead(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, path := range []string{"/v1/config/agents/d", "/v1/agents/d"} {
		g.ask("DELETE", "/v1/config/agents/d", "", admin...)
		g.want(200, "PUT", "/v1/config/agents/d", `{"id":"d","model_id":"m","system_prompt":"one"}`, admin...)
		if status, text := g.ask("GET", path+"?state=draft", "", admin...); status != 404 {
			t.Errorf("%s: %d %s, want no draft", path, status, text)
		}
		g.want(200, "PUT", "/v1/config/agents/d?publish=false", `{"id":"d","model_id":"m","system_prompt":"two"}`, admin...)
		for query, want := range map[string]string{"": "two", "?state=draft": "two", "?state=live": "one"} {
			if got := g.want(200, "GET", path+query, "", admin...)["system_prompt"]; got != want {
				t.Errorf("%s%s: %v, want %s", path, query, got, want)
			}
		}
		if status, text := g.ask("GET", path+"?state=old", "", admin...); status != 400 || !strings.Contains(text, "live, draft") {
			t.Errorf("%s: %d %s", path, status, text)
		}
		meta := g.want(200, "GET", "/v1/config/agents/d/meta", "", admin...)
		if meta["live"] != true || meta["draft"] != true || meta["base_revision"] != 1.0 || meta["revision"] != 2.0 || meta["updated_by"] != "admin" {
			t.Errorf("meta is %v", meta)
		}
	}
	g.want(200, "PUT", "/v1/config/agents/never?publish=false", `{"id":"never","model_id":"m"}`, admin...)
	if status, _ := g.ask("GET", "/v1/config/agents/never?state=live", "", admin...); status != 404 {
		t.Errorf("a document that was never published is live: %d", status)
	}
	if got := g.want(200, "GET", "/v1/config/tools/ask?state=live", "", admin...)["id"]; got != "ask" {
		t.Errorf("the live tool is %v", got)
	}
}

// A draft can be discarded under a condition, once, and by an admin of the server only.
func TestDrafts_Discard(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.want(200, "PUT", "/v1/config/agents/d", `{"id":"d","model_id":"m","system_prompt":"one"}`, admin...)
	g.want(200, "PUT", "/v1/config/agents/d?publish=false", `{"id":"d","model_id":"m","system_prompt":"two"}`, admin...)
	for _, c := range []struct {
		want    int
		headers []string
	}{{401, nil}, {412, append([]string{"If-Match", `"1"`}, admin...)}, {400, append([]string{"If-Match", "x"}, admin...)}, {204, append([]string{"If-Match", `"2"`}, admin...)}, {404, admin}} {
		if status, text := g.ask("DELETE", "/v1/registry/drafts/agents/d", "", c.headers...); status != c.want {
			t.Errorf("%q: %d %s, want %d", c.headers, status, text, c.want)
		}
	}
	if got := g.want(200, "GET", "/v1/config/agents/d", "", admin...)["system_prompt"]; got != "one" {
		t.Errorf("the document is %v, want what is live", got)
	}
	events := g.want(200, "GET", "/v1/audit-log?resource=agents/d&action=discard", "", admin...)["items"].([]any)
	if len(events) != 1 || events[0].(map[string]any)["actor"] != "admin" {
		t.Errorf("events are %v", events)
	}
}

// A draft that one replica discards is gone on the other, at once: both read the store.
func TestDrafts_DiscardIsSeenByOtherReplicas(t *testing.T) {
	t.Parallel()
	db := memory.NewDB()
	conf := db.Config()
	one := &rig{t: t, db: db, conf: conf, keys: adminKeys(t)}
	one.start()
	two := &rig{t: t, db: db, conf: conf, keys: one.keys}
	two.start()
	one.want(200, "PUT", "/v1/config/agents/d?publish=false", `{"id":"d","model_id":"m"}`, admin...)
	two.want(200, "GET", "/v1/config/agents/d?state=draft", "", admin...)
	if status, text := two.ask("DELETE", "/v1/registry/drafts/agents/d", "", admin...); status != 204 {
		t.Fatalf("%d %s", status, text)
	}
	if status, text := one.ask("GET", "/v1/config/agents/d", "", admin...); status != 404 {
		t.Errorf("%d %s, want it gone", status, text)
	}
}

// Lists of documents and drafts continue after a cursor, whatever was written in between.
func TestDocuments_PagesByCursor(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for i := range 5 {
		g.want(200, "PUT", fmt.Sprintf("/v1/config/agents/page-%d?publish=false", 2*i), fmt.Sprintf(`{"id":"page-%d","model_id":"m"}`, 2*i), admin...)
	}
	for _, path := range []string{"/v1/config/agents", "/v1/registry/drafts", "/v1/agents", "/v1/config/tools"} {
		var got []string
		for query := "?limit=2"; query != ""; {
			page := g.want(200, "GET", path+query, "", admin...)
			for _, item := range page["items"].([]any) {
				got = append(got, item.(map[string]any)["id"].(string))
			}
			query = ""
			if next, ok := page["next_cursor"].(string); ok {
				query = "?limit=2&cursor=" + url.QueryEscape(next)
			}
			if len(got) == 2 { // before what was listed: it must not shift the rest
				g.want(200, "PUT", "/v1/config/agents/0?publish=false", `{"id":"0","model_id":"m"}`, admin...)
			}
		}
		g.ask("DELETE", "/v1/registry/drafts/agents/0", "", admin...)
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) || strings.HasSuffix(path, "drafts") && len(got) != 5 {
			t.Errorf("%s: %q", path, got)
		}
		if status, text := g.ask("GET", path+"?cursor=zzz", "", admin...); status != 400 {
			t.Errorf("%s: %d %s, want a refused cursor", path, status, text)
		}
	}
	reader := server.Key{ID: "reader", Kind: server.ReadKey}
	if err := g.keys.Fix("the-secret-of-a-reader", reader); err != nil {
		t.Fatal(err)
	}
	read := []string{"Authorization", "Bearer the-secret-of-a-reader"}
	first := g.want(200, "GET", "/v1/agents?limit=1", "", read...)
	second := g.want(200, "GET", "/v1/agents?limit=1&cursor="+url.QueryEscape(first["next_cursor"].(string)), "", read...)
	if a, b := first["items"].([]any)[0].(map[string]any)["id"].(string), second["items"].([]any)[0].(map[string]any)["id"].(string); a >= b {
		t.Errorf("pages begin with %s and %s", a, b)
	}
}
