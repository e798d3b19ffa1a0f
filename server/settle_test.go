package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/servertest"
)

// unsure are tools that do not know whether they took effect: lost says so, and unclear asks a person.
func unsure(c *registry.Config) {
	c.Tools = append(c.Tools,
		awaken.NewTool(awaken.ToolSpec{ID: "lost"}, func(context.Context, *awaken.ToolCall, struct{}) (*awaken.ToolResult, error) {
			return awaken.InDoubtResult("the connection was lost"), nil
		}),
		awaken.NewTool(awaken.ToolSpec{ID: "unclear"}, func(context.Context, *awaken.ToolCall, struct{}) (*awaken.ToolResult, error) {
			return nil, awaken.Suspend(awaken.Ticket{InDoubt: true, Suspension: awaken.Suspension{Action: awaken.ActionInDoubt, Message: "The connection was lost."}})
		}))
}

// newUnsure returns a rig with these tools, the headers of its key for ada and for bob, and a function that makes a call.
func newUnsure(t *testing.T) (g *rig, ada, bob []string, call func(tool string) (thread, run, call string)) {
	t.Helper()
	g = newRig(t)
	g.stop()
	g.config = unsure
	g.start(func(c *servertest.Config) { c.Users.Header = "X-User" })
	key := g.keyed(server.Key{ID: "k", Kind: server.RunKey})
	ada, bob = append(key[:2:2], "X-User", "ada"), append(key[:2:2], "X-User", "bob")
	return g, ada, bob, func(tool string) (string, string, string) {
		thread := g.id()
		out := g.want(200, "POST", "/v1/runs", runBody("default", thread, "RUN_TOOL "+tool+" {}"), append([]string{"Accept", "application/json"}, ada...)...)
		return thread, out["run_id"].(string), "call_" + tool + "_1"
	}
}

// outcome returns what the timeline says about the only call of a run.
func (g *rig) outcome(run string, headers ...string) string {
	g.t.Helper()
	calls, _ := g.want(200, "GET", "/v1/runs/"+run+"/timeline", "", headers...)["calls"].([]any)
	if len(calls) != 1 {
		g.t.Fatalf("the run has the calls %v", calls)
	}
	return fmt.Sprint(calls[0].(map[string]any)["outcome"])
}

// A call in doubt is settled while its run asks about it, and after the run has ended.
func TestSettle_EndsADoubt(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"unclear", "lost"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			g, ada, bob, start := newUnsure(t)
			thread, run, call := start(tool)
			if got := g.outcome(run, ada...); got != "in_doubt" {
				t.Errorf("the outcome is %s", got)
			}
			path := "/v1/runs/" + run + "/decision"
			made := fmt.Sprintf(`{"tool_call_id":%q,"outcome":"made","payload":{"receipt":7}}`, call)
			g.want(404, "POST", path, made, bob...)
			g.want(400, "POST", path, strings.Replace(made, `"made"`, `"perhaps"`, 1), ada...)
			g.want(202, "POST", path, made, ada...)
			g.want(202, "POST", path, made, ada...)
			if out := g.want(409, "POST", path, fmt.Sprintf(`{"tool_call_id":%q,"outcome":"not_made"}`, call), ada...); out["code"] != "already_decided" {
				t.Errorf("a different settlement gets %v", out)
			}
			g.eventually("done", func() bool {
				return strings.Contains(fmt.Sprint(g.want(200, "GET", "/v1/runs/"+run, "", ada...)["status"]), "done")
			})
			if got := g.outcome(run, ada...); got != "made" {
				t.Errorf("the outcome is %s", got)
			}
			events := fmt.Sprint(g.want(200, "GET", "/v1/audit-log?resource=runs/"+run, "", admin...)["items"])
			if !strings.Contains(events, "action:settle") || strings.Contains(events, "action:approve") || strings.Contains(events, "action:reject") {
				t.Errorf("the audit log has %s", events)
			}
			if n := g.want(200, "GET", "/v1/threads/"+thread+"/runs", "", ada...)["total"]; n != 1.0 {
				t.Errorf("the thread has %v runs: the settlement has woken one", n)
			}
			for _, p := range g.want(200, "GET", "/v1/threads/"+thread+"/pending", "", ada...)["items"].([]any) {
				if _, ok := p.(map[string]any)["messages"].([]any); !ok {
					t.Errorf("the pending item %v has no list of messages", p)
				}
			}
			g.want(200, "POST", "/v1/runs", runBody("default", thread, "hello"), append([]string{"Accept", "application/json"}, ada...)...)
			all := fmt.Sprint(g.want(200, "GET", "/v1/threads/"+thread+"/messages?visibility=all", "", ada...)["messages"])
			if !strings.Contains(all, `receipt`) {
				t.Errorf("the model is not told the result: %s", all)
			}
		})
	}
}

// An outcome of a call that is not in doubt is refused, with what is wrong.
func TestSettle_NeedsADoubt(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, run, ticket := g.waits(admin...)
	for _, outcome := range []string{"made", "not_made"} {
		out := g.want(400, "POST", "/v1/runs/"+run+"/decision", fmt.Sprintf(`{"tool_call_id":%q,"outcome":%q}`, ticket, outcome), admin...)
		if !strings.Contains(fmt.Sprint(out), "outcome is "+outcome+", but the call is not in doubt; want a decision without outcome") {
			t.Errorf("the error is %v", out)
		}
	}
}
