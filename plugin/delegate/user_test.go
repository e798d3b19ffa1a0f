package delegate_test

import (
	"testing"

	"github.com/awaken-go/awaken/llm/llmtest"
)

// What a run delegates belongs to its user, as deep as it goes.
func TestADelegateAndItsThreadBelongToTheUserOfItsParent(t *testing.T) {
	for _, user := range []string{"alice", ""} {
		c := newCrew(t)
		c.member("root", []string{"mid"}, give("mid"), llmtest.Say("done"))
		c.member("mid", []string{"leaf"}, give("leaf"), llmtest.Say("mid done"))
		c.member("leaf", nil, llmtest.Say("leaf done"))
		req := say("t", "go")
		req.UserID = user
		if _, err := c.runtime().Run(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
		if runs := c.runs(); len(runs) != 3 {
			t.Errorf("%d runs", len(runs))
		}
		for _, r := range c.runs() {
			th, err := c.db.Store("").Thread(t.Context(), r.ThreadID)
			if err != nil || r.UserID != user || th.UserID != user {
				t.Errorf("run of %s is of %q, its thread is %+v, %v", r.AgentID, r.UserID, th, err)
			}
		}
	}
}
