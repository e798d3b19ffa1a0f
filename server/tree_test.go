package server_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/server"
)

// child commits a run that another one started, and that cost something.
func (g *rig) child(id, parent, user string, usd float64) {
	g.t.Helper()
	s := g.box.Tenant("").Store
	cp, err := s.Acquire(g.t.Context(), id)
	if err != nil {
		g.t.Fatal(err)
	}
	up, err := s.LoadRun(g.t.Context(), parent)
	if err != nil {
		g.t.Fatal(err)
	}
	run := awaken.Run{RunID: id, ThreadID: id, AgentID: "default", Origin: "internal", ParentRunID: parent, ParentThreadID: up.ThreadID, ParentToolCallID: "call_" + id, UserID: user,
		Status: awaken.RunDone, Termination: awaken.Termination{Type: awaken.NaturalEnd}, CreatedAt: 1, StartedAt: 1, FinishedAt: 2, CostUSD: usd}
	if err := s.Commit(g.t.Context(), &awaken.Commit{ThreadID: id, Fence: cp.Fence, Number: 1, Time: 1000, Run: run, ParentThreadID: up.ThreadID}); err != nil {
		g.t.Fatal(err)
	}
}

// shape writes the ids of a tree with what those below them cost.
func shape(n map[string]any) string {
	out := fmt.Sprintf("%v=%.6f", n["run_id"], n["total_usd"].(float64)-n["cost_usd"].(float64))
	for _, c := range n["children"].([]any) {
		out += "(" + shape(c.(map[string]any)) + ")"
	}
	return out
}

func TestTree_HasTheRunsBelowWithTheirCost(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, run, _ := g.waits(admin...)
	_, other, _ := g.waits(admin...)
	g.child("a", run, "", 0.25)
	g.child("b", run, "", 0.5)
	g.child("a1", "a", "", 0.125)
	g.child("x", other, "", 7)
	tree := g.want(200, "GET", "/v1/runs/"+run+"/tree", "", admin...)
	if got, want := shape(tree["run"].(map[string]any)), run+"=0.875000(a=0.125000(a1=0.000000))(b=0.000000)"; got != want || tree["truncated"] != false {
		t.Errorf("the tree is %s, want %s", got, want)
	}
	if got := g.want(200, "GET", "/v1/runs/a/tree", "", admin...); shape(got["run"].(map[string]any)) != "a=0.125000(a1=0.000000)" {
		t.Errorf("the tree of a child is %v", got["run"])
	}
	budget := tree["budget"].(map[string]any)
	if diff := cmp.Diff([]any{"run", "thread", "agent", "tenant"}, column(budget["balances"], "scope")); diff != "" || budget["enabled"] != true {
		t.Errorf("balances (-want +got):\n%s", diff)
	}
	g.want(404, "GET", "/v1/runs/none/tree", "", admin...)
	g.want(404, "GET", "/v1/runs/"+run+"/tree", "", g.keyed(server.Key{ID: "other", Kind: server.ReadKey, Tenant: "b"})...)
}

// A client that is confined to a user sees neither runs of others nor what all users spend.
func TestTree_OfAUserHasOnlyWhatIsTheirs(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	ann := g.keyed(server.Key{ID: "ann", Kind: server.RunKey, User: "ann"})
	_, run, _ := g.waits(ann...)
	g.child("hers", run, "ann", 1)
	g.child("his", run, "bob", 2)
	tree := g.want(200, "GET", "/v1/runs/"+run+"/tree", "", ann...)
	if got, want := shape(tree["run"].(map[string]any)), run+"=1.000000(hers=0.000000)"; got != want {
		t.Errorf("the tree is %s, want %s", got, want)
	}
	if diff := cmp.Diff([]any{"run", "thread"}, column(tree["budget"].(map[string]any)["balances"], "scope")); diff != "" {
		t.Errorf("balances (-want +got):\n%s", diff)
	}
}

func TestTree_SaysThatRunsAreLeftOut(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	_, run, _ := g.waits(admin...)
	for i := range 501 {
		g.child(fmt.Sprintf("c%03d", i), run, "", 0)
	}
	tree := g.want(200, "GET", "/v1/runs/"+run+"/tree", "", admin...)
	if n := len(tree["run"].(map[string]any)["children"].([]any)); n != 500 || tree["truncated"] != true {
		t.Errorf("the tree has %d children, truncated is %v", n, tree["truncated"])
	}
}
