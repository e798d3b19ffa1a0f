package server_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server"
)

// approvals returns the runs of all pages of a list of approvals, in order, and checks the total.
func (g *rig) approvals(query string, headers ...string) []string {
	g.t.Helper()
	out := []string{}
	for cursor := ""; ; {
		page := g.want(200, "GET", "/v1/approvals?limit=2&"+query+"&cursor="+cursor, "", headers...)
		for _, item := range page["items"].([]any) {
			out = append(out, item.(map[string]any)["run_id"].(string))
		}
		next, more := page["next_cursor"].(string)
		if page["has_more"] != more {
			g.t.Errorf("page %v has the cursor %q", page["has_more"], next)
		}
		if !more {
			if page["total"] != float64(len(out)) || page["partial"] != false {
				g.t.Errorf("%s: total is %v, partial %v, and the pages have %d", query, page["total"], page["partial"], len(out))
			}
			return out
		}
		cursor = next
	}
}

// Every question is on one page, whatever is asked meanwhile; a decided one is on none.
func TestApprovals_PagesAreOfQuestions(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	var runs []string
	var last string
	for range 5 {
		_, run, ticket := g.waits(admin...)
		runs, last = append(runs, run), ticket
	}
	poor := g.poor(admin...)
	if got := g.approvals("", admin...); len(got) != 6 {
		t.Errorf("the list has %v, want 6", got)
	}
	first := g.want(200, "GET", "/v1/approvals?limit=3&order=oldest", "", admin...)
	g.waits(admin...)
	rest := g.want(200, "GET", "/v1/approvals?order=oldest&cursor="+first["next_cursor"].(string), "", admin...)
	seen := map[any]bool{}
	for _, item := range slices.Concat(first["items"].([]any), rest["items"].([]any)) {
		id := item.(map[string]any)["run_id"]
		if seen[id] {
			t.Errorf("run %v is on two pages", id)
		}
		seen[id] = true
	}
	if len(seen) != 7 || rest["total"] != 7.0 {
		t.Errorf("the pages have %v, total %v", seen, rest["total"])
	}
	if got := g.approvals("reason=budget_exhausted", admin...); !slices.Equal(got, []string{poor}) {
		t.Errorf("%v wait for budget, want %s", got, poor)
	}
	item := g.want(200, "GET", "/v1/approvals?reason=budget_exhausted", "", admin...)["items"].([]any)[0].(map[string]any)
	if item["ticket_id"] != "" || item["budget"] == nil || item["root_run_id"] != poor || item["requested_at"].(float64) < 1e12 {
		t.Errorf("what waits for budget is %v", item)
	}
	g.want(202, "POST", "/v1/approvals/"+runs[4]+"/"+last, `{"action":"cancel"}`, admin...)
	if got := g.approvals("", admin...); slices.Contains(got, runs[4]) || len(got) != 6 {
		t.Errorf("after a decision the list has %v", got)
	}
	g.want(400, "GET", "/v1/approvals?cursor=zzz", "", admin...)
	g.want(400, "GET", "/v1/approvals?reason=odd", "", admin...)
}

// A question has what a person needs to answer for it.
func TestApprovals_QuestionsHaveTheirContext(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread := g.id()
	g.want(200, "POST", "/v1/runs", runBody("default", thread, "hello there"), append([]string{"Accept", "application/json"}, admin...)...)
	body := g.want(200, "POST", "/v1/runs", runBody("default", thread, "RUN_TOOL ask {}"), append([]string{"Accept", "application/json"}, admin...)...)
	run := body["run_id"].(string)
	item := g.want(200, "GET", "/v1/approvals?tool=ask", "", admin...)["items"].([]any)[0].(map[string]any)
	if item["run_id"] != run || item["root_run_id"] != run || item["effect"] == nil || item["version"] == "" {
		t.Errorf("the question is %v", item)
	}
	var texts []any
	for _, m := range item["context"].([]any) {
		texts = append(texts, m.(map[string]any)["role"], m.(map[string]any)["text"])
	}
	if len(texts) != 6 || texts[1] != "hello there" || texts[4] != "user" || texts[5] != "RUN_TOOL ask {}" {
		t.Errorf("the context is %v", texts)
	}
	if c := g.want(200, "GET", "/v1/approvals?context=0", "", admin...)["items"].([]any)[0].(map[string]any)["context"]; fmt.Sprint(c) != "[]" {
		t.Errorf("without context there is %v", c)
	}
	for query, want := range map[string]int{"agent_id=default": 1, "agent_id=other": 0, "tool=other": 0, "reason=tool_permission&tool=ask": 1, "reason=pin_unavailable": 0} {
		if got := g.approvals(query, admin...); len(got) != want {
			t.Errorf("%s selects %v, want %d", query, got, want)
		}
	}
	other := g.keyed(server.Key{ID: "other", Kind: server.ReadKey, Tenant: "b"})
	if got := g.approvals("", other...); len(got) != 0 {
		t.Errorf("another tenant sees %v", got)
	}
}

// What a delegate's budget holds up is one question, not one of each run above it.
func TestApprovals_ADelegatesBudgetIsListedOnce(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	tn := g.box.Tenant("")
	put := func(run, parent string) {
		t.Helper()
		r, err := tn.Submit(t.Context(), mailbox.Submission{Delay: 1 << 40, Request: awaken.RunRequest{RunID: run, ThreadID: "t-" + run, ParentRunID: parent, Messages: []*llm.Message{llm.UserText("x")}}})
		if err != nil {
			t.Fatal(err)
		}
		cp, err := tn.Store.Acquire(t.Context(), r.ThreadID)
		if err != nil {
			t.Fatal(err)
		}
		if err := tn.Store.Commit(t.Context(), &awaken.Commit{ThreadID: r.ThreadID, Fence: cp.Fence, Number: 1, Time: 1, Run: awaken.Run{RunID: run, ThreadID: r.ThreadID, ParentRunID: parent, AgentID: "default", Origin: "user", CreatedAt: 1,
			Status: awaken.RunWaiting, Waiting: &awaken.Waiting{Reason: awaken.WaitBudget, TicketIDs: []string{}, Tickets: []awaken.WaitingTicket{}}}}); err != nil {
			t.Fatal(err)
		}
	}
	put("top", "")
	put("kid", "top")
	if got := g.approvals("", admin...); !slices.Equal(got, []string{"kid"}) {
		t.Errorf("the list has %v, want the delegate", got)
	}
	if item := g.want(200, "GET", "/v1/approvals", "", admin...)["items"].([]any)[0].(map[string]any); item["root_run_id"] != "top" {
		t.Errorf("the root of the delegate is %v", item["root_run_id"])
	}
}
