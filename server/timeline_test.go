package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/server"
)

// column returns the values of a field in a list of objects.
func column(list any, field string) (out []any) {
	for _, row := range list.([]any) {
		out = append(out, row.(map[string]any)[field])
	}
	return out
}

func TestTimeline_TellsOfCommitsOwnersAndDecisions(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, run, ticket := g.waits(admin...)
	path := "/v1/runs/" + run + "/timeline"
	before := g.want(200, "GET", path, "", admin...)
	if w := before["waits"].([]any); len(w) != 1 || w[0].(map[string]any)["until"] != nil || before["status"] != "waiting" {
		t.Errorf("waits are %v", w)
	}
	g.want(202, "POST", "/v1/approvals/"+run+"/"+ticket, `{"action":"resume","reason":"fine"}`, admin...)
	g.eventually("the run is done", func() bool { return g.want(200, "GET", "/v1/runs/"+run, "", admin...)["status"] == "done" })

	whole := g.want(200, "GET", path+"?limit=200", "", admin...)
	if got := fmt.Sprint(column(whole["activations"], "outcome")); got != "[suspended natural_end]" || len(whole["takeovers"].([]any)) != 0 {
		t.Errorf("activations are %v", whole["activations"])
	}
	call := whole["calls"].([]any)[0].(map[string]any)
	if call["status"] != "succeeded" || call["key"] != run+"/0/0" || call["queued_at"] == nil || call["ended_at"] == nil || call["question"].(map[string]any)["ticket_id"] != ticket {
		t.Errorf("the call is %v", call)
	}
	if by := call["decisions"].([]any)[0].(map[string]any)["actor"]; by.(map[string]any)["key_id"] != "admin" {
		t.Errorf("%v decided, want admin", by)
	}
	// What happened since is behind the cursor of what was the last page, and pages are the whole.
	later := g.want(200, "GET", path+"?cursor="+url.QueryEscape(before["next_cursor"].(string)), "", admin...)
	if diff := cmp.Diff(whole["commits"], append(before["commits"].([]any), later["commits"].([]any)...)); diff != "" {
		t.Errorf("pages differ (-whole +pages):\n%s", diff)
	}
	if later["waits"].([]any)[0].(map[string]any)["until"] == nil {
		t.Errorf("the wait is not over: %v", later["waits"])
	}
	end := g.want(200, "GET", path+"?cursor="+later["next_cursor"].(string), "", admin...)
	if len(end["commits"].([]any)) != 0 || end["has_more"] != false || end["next_cursor"] != later["next_cursor"] {
		t.Errorf("behind the end there is %v", end)
	}

	_, other, _ := g.waits(admin...)
	g.want(400, "GET", "/v1/runs/"+other+"/timeline?cursor="+later["next_cursor"].(string), "", admin...)
	g.want(400, "GET", path+"?cursor=x", "", admin...)
	g.want(400, "GET", path+"?offset=1", "", admin...)
	g.want(404, "GET", "/v1/runs/none/timeline", "", admin...)
	g.want(404, "GET", path, "", g.keyed(server.Key{ID: "other", Kind: server.ReadKey, Tenant: "b"})...)
}

// The prompt of an agent is in its document, which only admins of the server may read. So is what the model was shown.
func TestShown_HasThePromptOnlyForAdminsOfTheServer(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	ann := g.keyed(server.Key{ID: "ann", Kind: server.RunKey, User: "ann"})
	_, run, _ := g.waits(ann...)
	got := g.want(200, "GET", "/v1/runs/"+run+"/steps/0/request", "", admin...)
	if m := got["messages"].([]any); len(m) != 1 || m[0].(map[string]any)["role"] != "user" || got["model"] == "" || len(got["tools"].([]any)) == 0 || got["unrecorded"] == nil {
		t.Errorf("the model was shown %v", got)
	}
	for _, key := range []server.Key{{ID: "read", Kind: server.ReadKey}, {ID: "run", Kind: server.RunKey}, {ID: "operator", Kind: server.RunKey, Operator: true}, {ID: "theirs", Kind: server.AdminKey, Tenant: "b"}} {
		g.want(403, "GET", "/v1/runs/"+run+"/steps/0/request", "", g.keyed(key)...)
	}
	g.want(403, "GET", "/v1/runs/"+run+"/steps/0/request", "", ann...)
	for _, step := range []string{"1", "-1", "x", "99999999999999999999"} {
		g.want(404, "GET", "/v1/runs/"+run+"/steps/"+step+"/request", "", admin...)
	}
	g.want(404, "GET", "/v1/runs/none/steps/0/request", "", admin...)
	_, theirs, _ := g.waits(g.keyed(server.Key{ID: "other", Kind: server.RunKey, Tenant: "b"})...)
	g.want(404, "GET", "/v1/runs/"+theirs+"/steps/0/request", "", admin...)
	g.want(200, "GET", "/v1/runs/"+theirs+"/steps/0/request", "", append([]string{"X-Awaken-Tenant", "b"}, admin...)...)
}

// A run that has not begun has an empty timeline.
func TestTimeline_OfARunInTheQueueIsEmpty(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread, _ := g.runs(admin...)
	g.queue(thread, admin...)
	run := g.want(200, "GET", "/v1/runs?status=created", "", admin...)["items"].([]any)[0].(map[string]any)["run_id"].(string)
	if got := g.want(200, "GET", "/v1/runs/"+run+"/timeline", "", admin...); len(got["commits"].([]any)) != 0 || got["has_more"] != false {
		t.Errorf("it has %v", got)
	}
}

// Whatever a client sends as cursor, the response is a page or says that the cursor is wrong.
func FuzzTimelineCursor(f *testing.F) {
	g := newRig(f)
	_, run, _ := g.waits(admin...)
	page := g.want(200, "GET", "/v1/runs/"+run+"/timeline?limit=1", "", admin...)
	f.Add(page["next_cursor"].(string))
	f.Add("tml_e30")
	f.Add("tml_eyJyIjoiIiwicCI6eyJ0IjotMX19")
	f.Fuzz(func(t *testing.T, cursor string) {
		req, err := http.NewRequestWithContext(context.Background(), "GET", g.http.URL+"/v1/runs/"+run+"/timeline?cursor="+url.QueryEscape(cursor), nil)
		if err != nil {
			t.Skip()
		}
		req.Header.Set(admin[0], admin[1])
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != 200 && resp.StatusCode != 400 {
			t.Errorf("cursor %q: %s", cursor, resp.Status)
		}
	})
}
