package engine

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// newParts returns a run that was opened on nothing, to test one part of.
func newParts(t testing.TB) *run {
	t.Helper()
	rt := &Runtime{cfg: Config{}.withDefaults()}
	r := newRun()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	r.rt, r.ctx, r.active.cancel, r.thread = rt, ctx, cancel, "t"
	r.agent = registry.Bare("a", builtin.For)
	*r.rec = awaken.Run{RunID: "r", ThreadID: "t", AgentID: "a", Status: awaken.RunRunning}
	r.info = r.rec.Info()
	r.st = state.NewStore(r.agent.Schema)
	r.out.sink, r.out.now, r.out.keep = discard, rt.cfg.Now, true
	return r
}

// newCall adds a call to the step.
func newCall(r *run, id string, s awaken.CallState) *call {
	s.CallID, s.ToolName, s.RunID, s.Index = id, "tool", "r", len(r.ledger.calls)
	c := &call{state: &s}
	r.ledger.calls = append(r.ledger.calls, c)
	return c
}

func TestLedger_ARecordThatOthersHaveSeenIsNotChanged(t *testing.T) {
	r := newParts(t)
	c := newCall(r, "c1", awaken.CallState{Status: awaken.CallNew})
	seen := c.state
	c.shared = true
	r.ledger.edit(c).Status = awaken.CallRunning
	if seen.Status != awaken.CallNew || c.state.Status != awaken.CallRunning {
		t.Errorf("the record that was seen is %s, the new one %s", seen.Status, c.state.Status)
	}
	r.ledger.edit(c).Status = awaken.CallSucceeded
	if n := len(r.ledger.changed); n != 1 || r.ledger.changed[0] != c.state {
		t.Errorf("%d records for the next commit, want the one that was changed, once", n)
	}
}

func TestLedger_AnEditAfterACommitIsForTheNextOne(t *testing.T) {
	r := newParts(t)
	c := newCall(r, "c1", awaken.CallState{Status: awaken.CallNew})
	r.ledger.edit(c)
	p, err := r.journal.collect(commitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r.ledger.edit(c).Status = awaken.CallRunning
	if p.Calls[0].Status != awaken.CallNew {
		t.Error("a record changed while its commit is in flight")
	}
	if len(r.ledger.changed) != 1 || r.ledger.changed[0].Status != awaken.CallRunning {
		t.Errorf("the next commit holds %v", r.ledger.changed)
	}
}

func TestLedger_ACutOffStepThatIsDroppedKeepsItsNumber(t *testing.T) {
	r := newParts(t)
	r.resumed, r.step.index = true, 3
	r.rec.Steps = 3
	newCall(r, "c1", awaken.CallState{Status: awaken.CallNew, Step: 3})
	r.ledger.drop()
	if len(r.ledger.calls) != 0 || !r.step.closed || r.rec.Steps != 4 {
		t.Errorf("%d calls, closed %v, the next step is %d: the keys of the calls must not be used again", len(r.ledger.calls), r.step.closed, r.rec.Steps)
	}
}

func TestJournal_WhatCouldNotBeCommittedComesFirstInTheNextCommit(t *testing.T) {
	r := newParts(t)
	r.conv.add(llm.UserText("one"))
	r.journal.read = []string{"item 1"}
	r.out.deferEvent(&awaken.StepEnd{})
	p, err := r.journal.collect(commitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.journal.count != 1 || len(r.conv.added) != 0 {
		t.Fatalf("packed: the log has %d messages, %d are left", r.journal.count, len(r.conv.added))
	}
	r.conv.add(llm.UserText("two"))
	r.journal.read = append(r.journal.read, "item 2")
	r.out.deferEvent(&awaken.StepEnd{})
	r.journal.putBack(p)
	var got []string
	for _, m := range r.conv.added {
		got = append(got, m.Text())
	}
	if diff := cmp.Diff([]string{"one", "two"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"item 1", "item 2"}, r.journal.read); diff != "" {
		t.Error(diff)
	}
	if r.journal.count != 0 || len(r.out.entries) != 2 || r.out.entries[0].Seq != 1 {
		t.Errorf("the log has %d messages, the commit %d entries from %d on", r.journal.count, len(r.out.entries), r.out.entries[0].Seq)
	}
}

func TestJournal_LaterChangesOfStateCount(t *testing.T) {
	change := func(key, value string) state.Change { return state.Change{Key: key, Value: json.RawMessage(value)} }
	got := overlaid([]state.Change{change("a", "1"), change("b", "1")}, []state.Change{change("b", "2"), change("c", "2")})
	if diff := cmp.Diff([]state.Change{change("a", "1"), change("b", "2"), change("c", "2")}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOutcomes_EveryCallOfAStepThatEndsHasAnAnswer(t *testing.T) {
	r := newParts(t)
	newCall(r, "done", awaken.CallState{Status: awaken.CallSucceeded, Result: awaken.TextResult("fine")}).message = &llm.Message{Role: llm.ToolRole, ToolCallID: "done"}
	newCall(r, "new", awaken.CallState{Status: awaken.CallNew})
	newCall(r, "begun", awaken.CallState{Status: awaken.CallRunning, StartedAt: 1})
	newCall(r, "read", awaken.CallState{Status: awaken.CallRunning, StartedAt: 1, Effect: awaken.ReadOnly})
	r.outcomes.closeAll(&end{Termination: awaken.Termination{Type: awaken.Cancelled}})
	var answered []string
	for _, m := range r.conv.added {
		answered = append(answered, m.ToolCallID)
	}
	if diff := cmp.Diff([]string{"done", "new", "begun", "read"}, answered); diff != "" {
		t.Error(diff)
	}
	for _, c := range r.ledger.calls {
		doubtful := c.state.Result.Metadata["in_doubt"] == true
		if want := c.state.CallID == "begun"; doubtful != want {
			t.Errorf("call %s in doubt: %v, want %v", c.state.CallID, doubtful, want)
		}
	}
}

func TestOutcomes_AResultThatIsTooLargeIsReplaced(t *testing.T) {
	r := newParts(t)
	r.rt.cfg.Limits.ToolResultBytes = 10
	c := newCall(r, "c1", awaken.CallState{})
	c.entry = &registry.Tool{}
	if res := r.outcomes.capped(c, awaken.TextResult("short")); res.Status == awaken.ToolError {
		t.Errorf("a result that fits is replaced: %v", res)
	}
	long := r.outcomes.capped(c, awaken.TextResult(strings.Repeat("ä", 100)))
	if long.Status != awaken.ToolError || !strings.Contains(long.Plain(), "200 bytes long, the limit is 10") {
		t.Errorf("got %q", long.Plain())
	}
	c.entry.Spec.MaxResultBytes = 1000 // the tool's own limit counts
	if res := r.outcomes.capped(c, awaken.TextResult(strings.Repeat("ä", 100))); res.Status == awaken.ToolError {
		t.Errorf("got %q", res.Plain())
	}
}

func TestOutcomes_TheModelSeesAnswersInTheOrderOfTheCalls(t *testing.T) {
	r := newParts(t)
	r.conv.add(&llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "a"}, {ID: "b"}}})
	for _, id := range []string{"a", "b"} {
		newCall(r, id, awaken.CallState{Status: awaken.CallSucceeded}).message = &llm.Message{Role: llm.ToolRole, ToolCallID: id}
	}
	r.conv.add(r.ledger.calls[1].message)
	r.ledger.calls[1].appended = true
	r.conv.add(llm.UserText("by the way"))
	r.outcomes.appendAnswers(true)
	var shown []string
	for _, m := range r.conv.msgs.All() {
		shown = append(shown, m.ToolCallID+m.Text())
	}
	if diff := cmp.Diff([]string{"", "a", "b", "by the way"}, shown); diff != "" {
		t.Error(diff)
	}
}

func TestSender_StampsWhatItSendsAndLeavesTheCallersValueAlone(t *testing.T) {
	r := newParts(t)
	item := &awaken.InboxItem{}
	out := r.sender.stamp([]awaken.Outgoing{{Item: item}, {Cancel: "x"}})
	if out[0].ID == "" || out[1].ID == "" || out[0].ID == out[1].ID || out[0].Item.ID != out[0].ID {
		t.Errorf("ids %q and %q, item %q", out[0].ID, out[1].ID, out[0].Item.ID)
	}
	if item.ID != "" {
		t.Error("the caller's item was changed")
	}
}

func TestToolkit_AToolOfTheClientReplacesTheAgents(t *testing.T) {
	r := newParts(t)
	r.agent.Offered = []llm.Tool{{Name: "a"}, {Name: "c", Description: "the agent's"}}
	for _, id := range []string{"c", "b"} {
		if err := r.tools.addFrontend(&awaken.ToolSpec{ID: id, Description: "the client's"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.tools.offer(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range r.tools.offered {
		got = append(got, o.Name+" "+o.Description)
	}
	if diff := cmp.Diff([]string{"a ", "b the client's", "c the client's"}, got); diff != "" {
		t.Error(diff)
	}
	if len(r.agent.Offered) != 2 {
		t.Error("the agent's own list was changed")
	}
}
