package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// everything is a commit that changes everything a commit can change.
func everything(o *owner, mark string) func(*awaken.Commit) {
	return func(c *awaken.Commit) {
		messages(mark)(c)
		calls(ledger(c.Run.RunID, mark, 0, 0, awaken.CallSucceeded))(c)
		o.entries(&awaken.TextDelta{Delta: mark})(c)
		c.Run.FinalOutput, c.Run.Steps = mark, 7
		c.State = []state.Change{{Key: "run", Scope: state.Run, Value: json.RawMessage(`"` + mark + `"`)}, {Key: "thread", Scope: state.Thread, Value: json.RawMessage(`"` + mark + `"`)}}
	}
}

// shows describes the state of everything that a commit can change.
func shows(t *testing.T, s awaken.Store, threadID, runID string) map[string]any {
	t.Helper()
	run, err := s.LoadRun(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	led, err := s.Calls(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	thread, err := s.Thread(t.Context(), threadID)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{"run": generic(t, run), "calls": callIDs(led), "log": log(t, s, threadID, awaken.MessageQuery{}), "thread": generic(t, thread), "inbox": unread(t, s, threadID)}
	if el, ok := s.(awaken.EventLog); ok {
		entries, err := el.Entries(t.Context(), threadID, awaken.EntryQuery{})
		if err != nil {
			t.Fatal(err)
		}
		out["entries"] = len(entries)
	}
	return out
}

var commitCases = []testCase{
	{"AppendsInOrder", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(messages("a", "b"))
		o.commit()
		o.commit(messages("c"))
		equal(t, "log", []string{"1 a", "2 b", "3 c"}, log(t, s, "t", awaken.MessageQuery{}))
		th, err := s.Thread(t.Context(), "t")
		if err != nil || th.MessageCount != 3 {
			t.Errorf("thread is %+v, %v", th, err)
		}
	}},
	{"RejectsStaleExpect", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(messages("a", "b"))
		for _, expect := range []int{0, 1, 3} {
			err := o.try(messages("no"), func(c *awaken.Commit) { c.Expect = expect })
			var conflict *awaken.ConflictError
			if !errors.Is(err, awaken.ErrConflict) || !errors.As(err, &conflict) {
				t.Fatalf("expect %d: error is %v, want a *ConflictError", expect, err)
			}
			equal(t, "conflict", awaken.ConflictError{ThreadID: "t", Expected: expect, Have: 2}, *conflict)
		}
		equal(t, "log", []string{"1 a", "2 b"}, log(t, s, "t", awaken.MessageQuery{}))
		o.commit(messages("c"))
	}},
	{"RejectsStaleFence", func(t *testing.T, s awaken.Store) {
		old := acquire(t, s, "t", "r")
		old.commit(messages("a"))
		acquire(t, s, "t", "r")
		if err := old.try(messages("no")); !errors.Is(err, awaken.ErrFenced) {
			t.Errorf("error is %v, want ErrFenced", err)
		}
		if err := old.try(func(c *awaken.Commit) { c.Fence += 7 }); !errors.Is(err, awaken.ErrFenced) {
			t.Errorf("a fence that Acquire never returned: error is %v, want ErrFenced", err)
		}
		equal(t, "log", []string{"1 a"}, log(t, s, "t", awaken.MessageQuery{}))
	}},
	{"DoneStaysDone", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(messages("a"))
		o.commit(done)
		want := shows(t, s, "t", "r")
		for _, status := range []awaken.RunStatus{awaken.RunCreated, awaken.RunRunning} {
			err := o.try(everything(o, "no"), func(c *awaken.Commit) {
				c.Run.Status, c.Run.Termination, c.Run.FinishedAt = status, awaken.Termination{}, 0
			})
			if !errors.Is(err, awaken.ErrFenced) {
				t.Errorf("as %s: error is %v, want ErrFenced", status, err)
			}
		}
		equal(t, "after that", want, shows(t, s, "t", "r"))
		other := acquire(t, s, "t", "r2")
		other.commit(messages("b"))
		if err := other.try(func(c *awaken.Commit) { c.Run.RunID = "r" }); !errors.Is(err, awaken.ErrFenced) {
			t.Errorf("while another run is open: error is %v, want ErrFenced", err)
		}
	}},
	{"RepeatedNumberChangesNothing", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(messages("first"))
		c := o.next(everything(o, "a"))
		again := *c
		if err := s.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		want := shows(t, s, "t", "r")
		if err := s.Commit(t.Context(), &again); err != nil { // the response was lost
			t.Errorf("repeated commit: %v", err)
		}
		equal(t, "after the repetition", want, shows(t, s, "t", "r"))
		o.number, o.count = o.number+1, o.count+1
		o.commit(messages("b"))
		equal(t, "log", []string{"1 first", "2 a", "3 b"}, log(t, s, "t", awaken.MessageQuery{}))
	}},
	{"RepeatedNumberSaysWhetherTheInboxIsEmpty", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		c := o.next()
		again := *c
		if err := s.Commit(t.Context(), c); err != nil || c.Unread {
			t.Fatalf("error is %v, unread is %v", err, c.Unread)
		}
		if err := s.Post(t.Context(), "t", awaken.InboxItem{ID: "i"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(t.Context(), &again); err != nil || !again.Unread {
			t.Errorf("error is %v, unread is %v", err, again.Unread)
		}
	}},
	{"RepetitionByAFormerOwnerIsRefused", func(t *testing.T, s awaken.Store) {
		old := acquire(t, s, "t", "r")
		c := old.next(messages("a"))
		again := *c
		if err := s.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		acquire(t, s, "t", "r")
		if err := s.Commit(t.Context(), &again); !errors.Is(err, awaken.ErrFenced) {
			t.Errorf("error is %v, want ErrFenced", err)
		}
	}},
	{"BeginsAfterInterruptIsRefused", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit()
		if _, err := s.Interrupt(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		want := shows(t, s, "t", "r")
		if err := o.try(begins, everything(o, "no")); !errors.Is(err, awaken.ErrGeneration) {
			t.Errorf("error is %v, want ErrGeneration", err)
		}
		equal(t, "after the refusal", want, shows(t, s, "t", "r"))
	}},
	{"RestWithUnreadInboxIsRefused", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit()
		if err := s.Post(t.Context(), "t", awaken.InboxItem{ID: "i1"}, awaken.InboxItem{ID: "i2"}); err != nil {
			t.Fatal(err)
		}
		for _, ids := range [][]string{nil, {"i1"}, {"i2", "other"}} {
			if err := o.try(rest, waits, read(ids...)); !errors.Is(err, awaken.ErrUnread) {
				t.Errorf("having read %q: error is %v, want ErrUnread", ids, err)
			}
		}
		equal(t, "inbox", []string{"i1", "i2"}, unread(t, s, "t"))
		o.commit(rest, waits, read("i2", "i1"))
		equal(t, "inbox", []string{}, unread(t, s, "t"))
	}},
	{"SaysWhetherTheInboxIsEmpty", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		check := func(want bool, change ...func(*awaken.Commit)) {
			t.Helper()
			c := o.next(change...)
			c.Unread = !want // the store must set it in both cases
			if err := s.Commit(t.Context(), c); err != nil || c.Unread != want {
				t.Errorf("error is %v, unread is %v, want %v", err, c.Unread, want)
			}
			o.number++
		}
		check(false)
		if err := s.Post(t.Context(), "t", awaken.InboxItem{ID: "i1"}, awaken.InboxItem{ID: "i2"}); err != nil {
			t.Fatal(err)
		}
		check(true)
		check(true, read("i1"))
		check(false, read("i2"))
	}},
	{"AllOrNothing", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(everything(o, "before"))
		if err := s.Post(t.Context(), "t", awaken.InboxItem{ID: "i1"}, awaken.InboxItem{ID: "i2"}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Interrupt(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		want := shows(t, s, "t", "r")
		cpBefore := *o.cp
		for name, spoil := range map[string]func(*awaken.Commit){
			"stale fence":       func(c *awaken.Commit) { c.Fence-- },
			"stale expectation": func(c *awaken.Commit) { c.Expect++ },
			"cancelled":         begins,
			"unread inbox":      rest,
			"impossible record": func(c *awaken.Commit) { c.Run.Status = awaken.RunDone },
			"unknown status":    func(c *awaken.Commit) { c.Run.Status = "sleeping" },
		} {
			seq := o.seq
			if err := o.try(everything(o, "after"), read("i1"), spoil); err == nil {
				t.Errorf("%s: the commit was accepted", name)
			}
			o.seq = seq
			equal(t, "after "+name, want, shows(t, s, "t", "r"))
		}
		if err := o.try(func(c *awaken.Commit) { c.Run.Status = awaken.RunDone }); !errors.Is(err, awaken.ErrInvalid) {
			t.Errorf("impossible record: error is %v, want ErrInvalid", err)
		}
		cp := acquire(t, s, "t", "r").cp
		same(t, "run state", map[string]string{"run": "before"}, cp.RunState)
		same(t, "thread state", map[string]string{"thread": "before"}, cp.ThreadState)
		if cp.Generation == cpBefore.Generation {
			t.Error("the interrupt did not raise the generation")
		}
	}},
	{"SavesStateByKeyAndScope", func(t *testing.T, s awaken.Store) {
		set := func(key string, scope state.Scope, v string) func(*awaken.Commit) {
			return func(c *awaken.Commit) {
				ch := state.Change{Key: key, Scope: scope}
				if v != "" {
					ch.Value = json.RawMessage(v)
				}
				c.State = append(c.State, ch)
			}
		}
		o := acquire(t, s, "t", "r1")
		o.commit(set("a", state.Run, "1"), set("b", state.Run, "2"), set("c", state.Thread, "3"), set("d", state.Thread, "4"), set("e", state.Thread, "null"))
		o.commit(set("a", state.Run, `"changed"`), set("b", state.Run, ""), set("d", state.Thread, ""), set("never", state.Run, ""))
		cp := acquire(t, s, "t", "r1").cp
		same(t, "run state", map[string]json.RawMessage{"a": json.RawMessage(`"changed"`)}, cp.RunState)
		same(t, "thread state", map[string]json.RawMessage{"c": json.RawMessage("3"), "e": json.RawMessage("null")}, cp.ThreadState)
		o = acquire(t, s, "t", "r1")
		o.commit(done)
		n := acquire(t, s, "t", "r2")
		n.commit(set("a", state.Run, "9"))
		cp = acquire(t, s, "t", "r2").cp
		same(t, "state of the next run", map[string]json.RawMessage{"a": json.RawMessage("9")}, cp.RunState)
		same(t, "thread state", map[string]json.RawMessage{"c": json.RawMessage("3"), "e": json.RawMessage("null")}, cp.ThreadState)
	}},
	{"SavesTheLedger", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		full := &awaken.CallState{CallID: "c", ToolName: "pay", Arguments: json.RawMessage(`{"sum":5,"to":"bob"}`), Status: awaken.CallSuspended, UpdatedAt: 11, ResumeMode: awaken.PassDecisionToTool,
			Ticket: &awaken.Ticket{Suspension: awaken.Suspension{ID: "s", Action: "approve", Message: "May I?", Parameters: json.RawMessage(`[1]`), ResponseSchema: json.RawMessage(`{}`)},
				Pending: awaken.PendingCall{ID: "c", Name: "pay", Arguments: json.RawMessage(`{}`)}, ResumeMode: awaken.PassDecisionToTool, ExpiresAt: 12, OnExpiry: awaken.ExpireEscalate},
			Escalated: true, Decision: &awaken.Decision{Target: "c", ID: "d", Action: awaken.ActionResume, Result: json.RawMessage(`null`), Reason: "ok", Arguments: json.RawMessage(`{"sum":4}`), UpdatedAt: 13},
			RunID: "r", Step: 2, Index: 3, Key: "r/2/3", Effect: awaken.Idempotent, StartedAt: 14,
			Result: &awaken.ToolResult{ToolName: "pay", Status: awaken.ToolError, Data: json.RawMessage(`{"x":1}`), Message: "no", Metadata: map[string]any{"a": "b"}, Content: []llm.Block{llm.Text("t")}}}
		o.commit(calls(ledger("r", "first", 2, 0, awaken.CallRunning), full))
		o.commit(calls(ledger("r", "first", 2, 0, awaken.CallSucceeded)))
		got, err := s.Calls(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "ledger", []string{"first succeeded", "c suspended"}, callIDs(got))
		same(t, "record", full, got[1])
	}},
	{"KeepsTheRunWhole", func(t *testing.T, s awaken.Store) {
		temp, tokens := 0.5, 9
		run := awaken.Run{RunID: "r", ThreadID: "t", AgentID: "a", FirstAgentID: "fa", ParentRunID: "pr", ParentThreadID: "pt", ParentToolCallID: "pc", ResolutionID: "res", DispatchID: "d", SessionID: "s", UserID: "u",
			TransportRequestID: "tr", Origin: "subagent", Mode: "scheduled", Adapter: "ag_ui", Overrides: &awaken.InferenceOverride{Temperature: &temp, MaxTokens: &tokens, ReasoningEffort: &llm.Effort{Budget: 5}},
			FrontendTools: []awaken.ToolSpec{{ID: "f", Name: "F", Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}}, Status: awaken.RunDone, StatusReason: "stopped:x",
			Termination: awaken.Termination{Type: awaken.Stopped, Code: "x", Detail: "y"}, FinalOutput: "bye", ErrorPayload: &awaken.Error{Message: "m", Code: "c"},
			Input: llm.Interval{FromSeq: 1, ToSeq: 2}, Output: llm.Interval{FromSeq: 3, ToSeq: 4}, CreatedAt: 1, StartedAt: 2, FinishedAt: 3, UpdatedAt: 4, Steps: 5, InputTokens: 6, OutputTokens: 7,
			Usage: llm.Usage{PromptTokens: 6, CompletionTokens: 7, CacheReadTokens: 8}, CostUSD: 0.25,
			Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", Taint: &awaken.Taint{RunID: "other", CallID: "c", Tool: "fetch", At: 8}}
		o := acquire(t, s, "t", "r")
		o.commit(func(c *awaken.Commit) { c.Run = run })
		got, err := s.LoadRun(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "run", run, got)
		cp, err := s.Acquire(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "run of the checkpoint", run, cp.Run)
	}},
	{"KeepsMessagesWhole", func(t *testing.T, s awaken.Store) {
		step := 3
		all := []*llm.Message{
			{ID: "1", Role: llm.Assistant, Content: []llm.Block{llm.Thinking("hm", &llm.Opaque{Provider: "p", Signature: "sig", Data: json.RawMessage(`{"k":[1,2]}`)}), llm.Text("hi")},
				ToolCalls: []llm.ToolCall{{ID: "c", Name: "n", Arguments: json.RawMessage(`{"a":1.50}`), Opaque: &llm.Opaque{Provider: "p"}}},
				Metadata:  &llm.Metadata{RunID: "r", StepIndex: &step, SenderAgentID: "x", Interrupted: true}, Opaque: &llm.Opaque{Provider: "p", Signature: "resp"}},
			{ID: "2", Role: llm.ToolRole, ToolCallID: "c", Content: []llm.Block{llm.Image(llm.Base64("image/png", "aGk=")), llm.Document(llm.URL("https://example.com/x.pdf"), "x")}},
			{ID: "3", Role: llm.System, Visibility: llm.Internal, Content: []llm.Block{llm.Text("sum")}, Metadata: &llm.Metadata{Compaction: &llm.Interval{FromSeq: 1, ToSeq: 1}}},
			{ID: "4", Role: llm.User},
		}
		o := acquire(t, s, "t", "r")
		o.commit(func(c *awaken.Commit) { c.Messages = all })
		recs, err := s.Messages(t.Context(), "t", awaken.MessageQuery{})
		if err != nil || len(recs) != len(all) {
			t.Fatalf("%d records, %v", len(recs), err)
		}
		for i := range all {
			same(t, fmt.Sprint("message ", i+1), all[i], recs[i].Message)
		}
	}},
	{"KeepsEveryCharacter", func(t *testing.T, s awaken.Store) {
		for i, text := range []string{"日本語 ünï 👩‍👩‍👧", "nul \x00 in the middle", "quote ' \" \\ ` %s ? $1", "lines\r\n\u2028\u2029", "\ufeffbom", "\ufffd"} {
			id := fmt.Sprint("t", i, text)
			o := acquire(t, s, id, "r"+text)
			o.commit(messages(text), calls(ledger("r"+text, text, 0, 0, awaken.CallRunning)), o.entries(&awaken.TextDelta{Delta: text}), func(c *awaken.Commit) {
				v, err := json.Marshal(text)
				if err != nil {
					t.Fatal(err)
				}
				c.State = []state.Change{{Key: text, Scope: state.Thread, Value: v}}
				c.Run.FinalOutput = text
			})
			cp := acquire(t, s, id, "r"+text).cp
			equal(t, "text", []string{text}, texts(cp.View))
			same(t, "state", map[string]string{text: text}, cp.ThreadState)
			equal(t, "output", text, cp.Run.FinalOutput)
			equal(t, "call", text, cp.Calls[0].CallID)
			equal(t, "thread", id, cp.Thread.ID)
		}
	}},
	{"KeepsLargeValues", func(t *testing.T, s awaken.Store) {
		big := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB
		o := acquire(t, s, "t", "r")
		o.commit(messages(big), o.entries(&awaken.TextDelta{Delta: big}), func(c *awaken.Commit) {
			c.State = []state.Change{{Key: "big", Scope: state.Run, Value: json.RawMessage(`"` + big + `"`)}}
		})
		var many []string
		for i := range 2000 {
			many = append(many, fmt.Sprint("m", i))
		}
		o.commit(messages(many...))
		cp := acquire(t, s, "t", "r").cp
		if len(cp.View) != 2001 || cp.View[0].Text() != big || cp.View[2000].Text() != "m1999" {
			t.Errorf("the view has %d messages", len(cp.View))
		}
		if len(cp.RunState["big"]) != len(big)+2 {
			t.Errorf("the state has %d bytes", len(cp.RunState["big"]))
		}
	}},
	{"KeepsNoneOfTheCallersSlices", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		c := o.next(everything(o, "mine"))
		if err := s.Commit(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		want := shows(t, s, "t", "r")
		c.Messages[0] = llm.UserText("spoilt")
		c.Calls[0] = ledger("r", "spoilt", 0, 0, awaken.CallRunning)
		c.Entries[0] = awaken.Entry{}
		c.State[0], c.State[1] = state.Change{}, state.Change{}
		c.Run = awaken.Run{}
		equal(t, "after the caller used its slices again", want, shows(t, s, "t", "r"))
		same(t, "state", map[string]string{"run": "mine"}, acquire(t, s, "t", "r").cp.RunState)
	}},
	{"OnAMissingThreadIsRefused", func(t *testing.T, s awaken.Store) {
		err := s.Commit(t.Context(), &awaken.Commit{ThreadID: "ghost", Fence: 1, Number: 1, Run: awaken.Run{RunID: "r", ThreadID: "ghost", Status: awaken.RunRunning}})
		if !errors.Is(err, awaken.ErrNotFound) && !errors.Is(err, awaken.ErrFenced) {
			t.Errorf("error is %v, want ErrNotFound or ErrFenced", err)
		}
		if _, err := s.Thread(t.Context(), "ghost"); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("the thread exists now: %v", err)
		}
	}},
}
