package server_test

import (
	"fmt"
	"testing"

	"github.com/awaken-go/awaken/server"
)

func TestSearch_FindsThreadsRunsAndAgents(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread, run := g.done(admin...)
	g.want(200, "PATCH", "/v1/threads/"+thread, `{"title":"The Trip to Lisbon"}`, admin...)
	g.done(admin...)
	found := func(query string, headers ...string) (out []string) {
		t.Helper()
		for _, item := range g.want(200, "GET", "/v1/search?"+query, "", headers...)["items"].([]any) {
			i := item.(map[string]any)
			out = append(out, fmt.Sprint(i["kind"], " ", i["id"]))
		}
		return out
	}
	for query, want := range map[string]string{"q=lisbon": "[thread " + thread + "]", "q=" + run: "[run " + run + "]", "q=nothing+like+this": "[]"} {
		if got := fmt.Sprint(found(query, admin...)); got != want {
			t.Errorf("%s finds %s, want %s", query, got, want)
		}
	}
	if got := found("q=defaul", admin...); len(got) == 0 || got[0] != "agent default" {
		t.Errorf("an agent is found as %v", got)
	}
	if got := found("limit=1", admin...); len(got) != 3 {
		t.Errorf("one of each kind is %v", got)
	}
	other := g.keyed(server.Key{ID: "other", Kind: server.ReadKey, Tenant: "b"})
	for _, q := range []string{"q=lisbon", "q=" + run, "q=" + thread} {
		if got := found(q, other...); len(got) > 0 {
			t.Errorf("another tenant finds %v with %s", got, q)
		}
	}
	g.want(400, "GET", "/v1/search?query=x", "", admin...)
}
