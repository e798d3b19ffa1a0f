package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
)

// codes returns the codes of listed dispatches by run, and the cursor of the next page.
func (g *rig) codes(query string, headers ...string) (map[string]string, string) {
	g.t.Helper()
	page := g.want(200, "GET", "/v1/dispatches"+query, "", headers...)
	out := map[string]string{}
	for _, item := range page["items"].([]any) {
		d := item.(map[string]any)
		out[d["run_id"].(string)] = d["because"].(map[string]any)["code"].(string)
	}
	next, _ := page["next_cursor"].(string)
	return out, next
}

func TestQueue_ExplainsWhatIsInIt(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	dead, err := g.box.Tenant("").Store.Dispatch(t.Context(), g.dead(""))
	if err != nil {
		t.Fatal(err)
	}
	thread, running := g.runs(admin...)
	g.queue(thread, admin...)
	later, err := g.box.Tenant("").Submit(t.Context(), mailbox.Submission{Delay: time.Hour,
		Request: awaken.RunRequest{AgentID: "default", ThreadID: g.id(), Messages: []*llm.Message{llm.UserText("later")}}})
	if err != nil {
		t.Fatal(err)
	}
	behind := g.want(200, "GET", "/v1/threads/"+thread+"/runs?status=created", "", admin...)["items"].([]any)[0].(map[string]any)["run_id"].(string)
	live, _ := g.codes("?status=live", admin...)
	want := map[string]string{running: "running.step", behind: "queued.behind", later.RunID: "queued.delayed"}
	if fmt.Sprint(live) != fmt.Sprint(want) {
		t.Errorf("what is live is explained by %v, want %v", live, want)
	}
	ended, _ := g.codes("?status=DeadLetter", admin...)
	if fmt.Sprint(ended) != fmt.Sprint(map[string]string{dead.RunID: "done.dead_letter"}) {
		t.Errorf("dead letters are explained by %v", ended)
	}
	if text := fmt.Sprint(g.want(200, "GET", "/v1/dispatches?status=DeadLetter", "", admin...)["items"]); !strings.Contains(text, "failures:[map[at:") || strings.Contains(text, "claim_token") {
		t.Errorf("the dead letter is %s, want the errors of its attempts and no token", text)
	}
	all := map[string]string{}
	for cursor := ""; ; {
		page, next := g.codes("?limit=1&cursor="+cursor, admin...)
		for run, code := range page {
			all[run] = code
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if len(all) != 4 {
		t.Errorf("the pages have %v, want 4 dispatches", all)
	}
	if some, _ := g.codes("?agent_id=missing", admin...); len(some) != 1 || some[dead.RunID] == "" {
		t.Errorf("the agent has %v", some)
	}

	q := g.want(200, "GET", "/v1/queue", "", admin...)
	if c := q["counts"].(map[string]any); c["Claimed"] != 1.0 || c["Queued"] != 2.0 || c["DeadLetter"] != 1.0 || c["Superseded"] != 0.0 {
		t.Errorf("counts are %v", c)
	}
	waits := map[string]any{}
	for _, w := range q["waits"].([]any) {
		w := w.(map[string]any)
		waits[w["code"].(string)] = w["count"]
		if o := w["oldest"].(map[string]any)["because"].(map[string]any); o["detail"] == "" || o["since"] == nil {
			t.Errorf("the reason %v has no sentence or time", w)
		}
	}
	if fmt.Sprint(waits) != "map[queued.behind:1 queued.delayed:1 running.step:1]" || q["oldest"] != nil || q["partial"] != false {
		t.Errorf("the queue is %v", q)
	}
	workers := q["workers"].([]any)
	if len(workers) != 1 || workers[0].(map[string]any)["claimed"] != 1.0 || workers[0].(map[string]any)["silent"] != false {
		t.Fatalf("workers are %v", workers)
	}
	name := workers[0].(map[string]any)["worker"].(string)
	if r := workers[0].(map[string]any)["replica"].(string); r == name || !strings.HasPrefix(name, r) {
		t.Errorf("worker %s belongs to replica %s", name, r)
	}
	if mine, _ := g.codes("?worker="+name, admin...); len(mine) != 1 || mine[running] == "" {
		t.Errorf("worker %s has %v", name, mine)
	}

	other := g.keyed(server.Key{ID: "other", Kind: server.AdminKey, Tenant: "b"})
	if some, _ := g.codes("", other...); len(some) > 0 {
		t.Errorf("the admin of another tenant sees %v", some)
	}
	if c := g.want(200, "GET", "/v1/queue", "", other...); fmt.Sprint(c["waits"], c["workers"], c["counts"].(map[string]any)["Queued"]) != "[] [] 0" {
		t.Errorf("the admin of another tenant sees %v", c)
	}
	g.want(400, "GET", "/v1/dispatches?cursor=zzz", "", admin...)
	g.want(400, "GET", "/v1/dispatches?agent=x", "", admin...)
	g.want(403, "GET", "/v1/queue", "", g.keyed(server.Key{ID: "reader", Kind: server.ReadKey})...)
}
