package delegate_test

import (
	"context"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/delegate"
)

// asking is a plugin whose gate asks about every call of a delegate, and again when the call
// is resumed.
type asking struct{ asked int }

func (*asking) Name() string { return "asking" }

func (a *asking) Register(r *awaken.Registrar) error {
	r.Gate(func(_ context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
		if h.Tool.Tool != "agent_run_mid" {
			return awaken.Allow(), nil
		}
		id := "before"
		if a.asked++; a.asked > 2 { // the delegate has been at work: is it to go on?
			id = "again"
		}
		return awaken.SuspendCall(awaken.Ticket{Suspension: awaken.Suspension{ID: id, Message: id}}), nil
	})
	return nil
}

// A gate's question about the call belongs to the parent, even if the call runs a delegate.
func TestGate_AsksAboutTheCallOfADelegate(t *testing.T) {
	c := newCrew(t)
	c.member("root", []string{"mid"}, give("mid"), llmtest.Say("done")).PluginIDs = []string{"asking"}
	c.member("mid", nil, llmtest.Use("pay", `{"text": "rent"}`), llmtest.Say("mid done"))
	rt, err := engine.New(engine.Config{Agents: c.agents, Models: c.models, Providers: c.providers, Tools: c.tools(), Store: c.db.Store(""),
		Plugins: []awaken.Plugin{delegate.New(delegate.Options{}), new(asking)}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := rt.Run(t.Context(), say("t", "go"), nil)
	for _, want := range []string{"before", "rent", "again"} {
		if err != nil || res.Waiting == nil || len(res.Waiting.Tickets) != 1 || res.Waiting.Tickets[0].Reason != want {
			t.Fatalf("waits for %+v, %v, want %q", res.Waiting, err, want)
		}
		res, err = rt.Resume(t.Context(), res.RunID, nil, res.Waiting.Tickets[0].Approve())
	}
	if err != nil || res.Response != "done" {
		t.Fatalf("got %+v, %v", res, err)
	}
	wantDone(t, c, "paid rent")
	wantEnds(t, c, map[string]string{"root": natural, "mid": natural})
}
