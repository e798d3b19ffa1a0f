package timeline_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace/timeline"
	"github.com/awaken-go/awaken/trace/timeline/timelinetest"
)

// author writes the log of a run by hand.
type author struct {
	*testing.T
	store *memory.Store
	run   awaken.Run
	fence uint64
	n     uint64
	seq   uint64
	now   int64
}

func newAuthor(t *testing.T) *author {
	return &author{T: t, store: memory.New(), now: 1000, run: awaken.Run{RunID: "r", ThreadID: "t", AgentID: "a", Origin: "user", Status: awaken.RunRunning, CreatedAt: 1}}
}

// owner is the next owner of the thread.
func (a *author) owner() {
	a.Helper()
	cp, err := a.store.Acquire(a.Context(), "t")
	if err != nil {
		a.Fatal(err)
	}
	a.fence, a.n, a.seq = cp.Fence, 0, cp.Thread.End.Seq
}

// commit commits events, 10 ms apart, and records of the ledger.
func (a *author) commit(calls []*awaken.CallState, events ...awaken.Event) {
	a.Helper()
	a.n++
	c := &awaken.Commit{ThreadID: "t", Fence: a.fence, Number: a.n, Run: a.run, Calls: calls}
	for _, ev := range events {
		a.seq, a.now = a.seq+1, a.now+10
		c.Entries = append(c.Entries, awaken.Entry{Cursor: awaken.Cursor{Epoch: a.fence, Seq: a.seq}, RunID: "r", Time: a.now, Event: ev})
	}
	c.Time = a.now
	if err := a.store.Commit(a.Context(), c); err != nil {
		a.Fatal(err)
	}
}

// told returns the whole timeline, after it was checked.
func (a *author) told() *timeline.Page {
	a.Helper()
	for _, problem := range timelinetest.Check(a.Context(), a.store, &a.run) {
		a.Error(problem)
	}
	page, _, _, err := timeline.Read(a.Context(), a.store, &a.run, timeline.Mark{}, 1000)
	if err != nil {
		a.Fatal(err)
	}
	return page
}

var (
	start    = &awaken.RunStart{ThreadID: "t", RunID: "r"}
	suspends = &awaken.RunFinish{ThreadID: "t", RunID: "r", Termination: awaken.Termination{Type: awaken.Suspended},
		Result: &awaken.RunOutput{Waiting: &awaken.Waiting{Reason: awaken.WaitToolPermission, TicketIDs: []string{"suspend_c"}}}}
	ends = &awaken.RunFinish{ThreadID: "t", RunID: "r", Termination: awaken.Termination{Type: awaken.NaturalEnd}}
)

func step(n int) awaken.Event { return &awaken.StepStart{MessageID: ids.Of("r", n)} }

func TestRead_ANewOwnerTakesBackWhatTheLostOneSaid(t *testing.T) {
	t.Parallel()
	a := newAuthor(t)
	a.owner()
	a.commit(nil, start)
	a.commit(nil, step(0), &awaken.TextDelta{Delta: "a long"}) // an answer that is so long that a part is committed
	a.owner()
	a.owner() // without a commit
	a.commit(nil, start)
	a.commit(nil, step(0), &awaken.TextDelta{Delta: "another"}, &awaken.InferenceComplete{Model: "m", Usage: &llm.Usage{PromptTokens: 3}, DurationMS: 20, CostUSD: 0.5}, &awaken.StepEnd{}, ends)
	got := a.told()
	zero := 0
	want := []timeline.Takeover{{Seq: 4, At: 1040, FromFence: 1, ToFence: 3, Step: &zero, TakenBack: &timeline.Range{FirstSeq: 2, LastSeq: 3}}}
	if diff := cmp.Diff(want, got.Takeovers); diff != "" {
		t.Errorf("takeovers (-want +got):\n%s", diff)
	}
	steps := []timeline.StepRow{{Step: 0, Seq: 2, MessageID: "r-0", Fence: 3, StartedAt: 1020, FirstTokenAt: 1060, AnsweredAt: 1070, EndedAt: 1080, Begun: 2,
		Model: "m", Usage: &llm.Usage{PromptTokens: 3}, CostUSD: 0.5, DurationMS: 20}}
	if diff := cmp.Diff(steps, got.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	owners := []timeline.Activation{{Number: 1, Seq: 1, Fence: 1, StartedAt: 1010}, {Number: 2, Seq: 4, Fence: 3, StartedAt: 1040, EndedAt: 1090, Outcome: awaken.NaturalEnd}}
	if diff := cmp.Diff(owners, got.Activations); diff != "" {
		t.Errorf("activations (-want +got):\n%s", diff)
	}
}

func TestRead_ACallIsFollowedFromTheQueueToItsResult(t *testing.T) {
	t.Parallel()
	a := newAuthor(t)
	call := func(status awaken.CallStatus, change func(c *awaken.CallState)) []*awaken.CallState {
		c := &awaken.CallState{CallID: "c", ToolName: "pay", Status: status, RunID: "r", Key: "r/0/0", Effect: awaken.Effectful, StartedAt: 1040, UpdatedAt: a.now}
		change(c)
		return []*awaken.CallState{c}
	}
	a.owner()
	a.commit(nil, start)
	a.commit(call(awaken.CallRunning, func(*awaken.CallState) {}), step(0), &awaken.ToolCallStart{ID: "c", Name: "pay"}, &awaken.ToolCallReady{ID: "c", Name: "pay"}, &awaken.InferenceComplete{Model: "m"})
	a.owner() // the first one is lost
	a.commit(nil, start)
	ticket := &awaken.Ticket{Suspension: awaken.Suspension{ID: "suspend_c", Action: "tool:in_doubt", Message: "Again?"}}
	a.run.Status, a.run.Waiting = awaken.RunWaiting, suspends.Result.Waiting
	a.commit(call(awaken.CallSuspended, func(c *awaken.CallState) { c.Ticket = ticket }), step(0), &awaken.ToolCallDone{ID: "c", Outcome: awaken.CallSuspended}, suspends)
	a.owner()
	a.run.Status, a.run.Waiting = awaken.RunRunning, nil
	a.commit(nil, start)
	a.commit(call(awaken.CallSucceeded, func(c *awaken.CallState) {
		c.Ticket, c.Attempts, c.Result = ticket, 2, &awaken.ToolResult{}
		c.Decision = &awaken.Decision{Target: "suspend_c", Action: awaken.ActionResume, Actor: &awaken.Actor{User: "ann"}, UpdatedAt: 1100}
		c.Steps = []*awaken.CallStep{{Name: "charge", Key: "k", Attempts: 1, StartedAt: 1, EndedAt: 2, Result: []byte(`"secret"`)}}
	}), &awaken.ToolCallResumed{TargetID: "c", Result: []byte(`1`), Outcome: awaken.CallSucceeded}, &awaken.StepEnd{})
	got := a.told()
	want := []timeline.CallRow{{CallID: "c", ToolName: "pay", Status: awaken.CallSucceeded, Effect: awaken.Effectful, Key: "r/0/0", QueuedAt: 1040, StartedAt: 1040, EndedAt: 1110, Attempts: 2, InDoubt: true, Outcome: awaken.OutcomeMade,
		Question:  &timeline.Asked{TicketID: "suspend_c", Action: "tool:in_doubt", Message: "Again?", AskedAt: 1080},
		Decisions: []awaken.Decision{{Target: "suspend_c", Action: awaken.ActionResume, Actor: &awaken.Actor{User: "ann"}, UpdatedAt: 1100}},
		Steps:     []*awaken.CallStep{{Name: "charge", Key: "k", Attempts: 1, StartedAt: 1, EndedAt: 2}}}}
	if diff := cmp.Diff(want, got.Calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if n := len(got.Takeovers); n != 1 || got.Takeovers[0].TakenBack != nil || got.Takeovers[0].Step == nil {
		t.Errorf("takeovers are %+v, want one that continues the step", got.Takeovers)
	}
	waits := []timeline.WaitRow{{Seq: 9, Since: 1090, Until: 1100, Reason: awaken.WaitToolPermission, TicketIDs: []string{"suspend_c"}}}
	if diff := cmp.Diff(waits, got.Waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
	if len(got.Steps) != 1 || got.Steps[0].Begun != 1 || got.Steps[0].Fence != 2 {
		t.Errorf("steps are %+v", got.Steps)
	}
}

// counted counts the entries that are read.
type counted struct {
	timeline.Source
	entries int
}

func (c *counted) Entries(ctx context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	list, err := c.Source.Entries(ctx, threadID, q)
	c.entries += len(list)
	return list, err
}

func TestRead_SmallPagesReadTheirOwnEvents(t *testing.T) {
	t.Parallel()
	const steps = 60
	a := newAuthor(t)
	a.owner()
	a.commit(nil, start)
	for n := range steps {
		a.commit(nil, step(n), &awaken.TextDelta{Delta: "so"}, &awaken.InferenceComplete{Model: "m"}, &awaken.StepEnd{})
	}
	a.commit(nil, ends)
	a.told()
	from := &counted{Source: a.store}
	for at, more := (timeline.Mark{}), true; more; {
		var err error
		if _, at, more, err = timeline.Read(t.Context(), from, &a.run, at, 1); err != nil {
			t.Fatal(err)
		}
	}
	if all := int(a.seq); from.entries < all || from.entries > 2*all {
		t.Errorf("pages of one commit read %d entries of a log of %d, want at most twice as many", from.entries, all)
	}
}

func TestKinds_HaveNames(t *testing.T) {
	all := timeline.Start | timeline.Intent | timeline.Result | timeline.Question | timeline.Step | timeline.Wait | timeline.End
	if diff := cmp.Diff([]string{"start", "intent", "result", "question", "step", "wait", "end"}, all.Names()); diff != "" {
		t.Error(diff)
	}
}
