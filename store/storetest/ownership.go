package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

var acquireCases = []testCase{
	{"MakesTheThread", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		if o.cp.Fence == 0 || o.cp.Run != nil || len(o.cp.View) != 0 || o.cp.Thread.End.Seq != 0 {
			t.Errorf("a new thread has %+v", o.cp)
		}
		equal(t, "thread", awaken.Thread{ID: "t", End: awaken.Cursor{Epoch: o.cp.Fence}}, o.cp.Thread)
		if _, err := s.Thread(t.Context(), "t"); err != nil {
			t.Errorf("the thread does not exist: %v", err)
		}
	}},
	{"RaisesFenceForTheSameOwnerToo", func(t *testing.T, s awaken.Store) {
		first := acquire(t, s, "t", "r")
		first.commit()
		second := acquire(t, s, "t", "r")
		if second.cp.Fence <= first.cp.Fence {
			t.Errorf("the fence went from %d to %d", first.cp.Fence, second.cp.Fence)
		}
		if err := first.try(); !errors.Is(err, awaken.ErrFenced) {
			t.Errorf("the old owner's commit: error is %v, want ErrFenced", err)
		}
		second.commit()
	}},
	{"ThreadStateIsReadWithoutOwningTheThread", func(t *testing.T, s awaken.Store) {
		if got, err := s.ThreadState(t.Context(), "t"); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("a missing thread: %v, %v, want ErrNotFound", got, err)
		}
		o := acquire(t, s, "t", "r")
		o.commit()
		read := func() map[string]json.RawMessage {
			got, err := s.ThreadState(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := read(); len(got) > 0 {
			t.Errorf("a thread without state has %v", got)
		}
		o.commit(func(c *awaken.Commit) {
			c.State = []state.Change{{Key: "mine", Scope: state.Run, Value: json.RawMessage(`1`)}, {Key: "ours", Scope: state.Thread, Value: json.RawMessage(`{"x":2}`)}}
		})
		got := read()
		same(t, "thread state", map[string]json.RawMessage{"ours": json.RawMessage(`{"x":2}`)}, got)
		got["ours"] = json.RawMessage(`"spoilt"`)
		same(t, "thread state", map[string]json.RawMessage{"ours": json.RawMessage(`{"x":2}`)}, read())
		o.commit() // reading has not raised the fence
	}},
	{"LeavesOtherThreadsAlone", func(t *testing.T, s awaken.Store) {
		one := acquire(t, s, "one", "r1")
		acquire(t, s, "two", "r2").commit()
		one.commit()
	}},
	{"ReturnsViewStateCallsAndInbox", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(messages("a", "b"), calls(ledger("r", "c1", 0, 0, awaken.CallRunning)), func(c *awaken.Commit) {
			c.State = []state.Change{{Key: "mine", Scope: state.Run, Value: json.RawMessage(`1`)}, {Key: "ours", Scope: state.Thread, Value: json.RawMessage(`{"x":2}`)}}
		}, waits)
		item := awaken.InboxItem{ID: "i1", RunID: "r", Decision: &awaken.Decision{Target: "c1", ID: "d", Action: awaken.ActionResume, Result: json.RawMessage(`7`)}}
		if err := s.Post(t.Context(), "t", item, awaken.InboxItem{ID: "i2", Messages: []*llm.Message{llm.UserText("psst")}}); err != nil {
			t.Fatal(err)
		}
		cp := acquire(t, s, "t", "r").cp
		equal(t, "view", []string{"a", "b"}, texts(cp.View))
		equal(t, "message count", 2, cp.Thread.MessageCount)
		equal(t, "calls", []string{"c1 running"}, callIDs(cp.Calls))
		same(t, "run state", map[string]json.RawMessage{"mine": json.RawMessage(`1`)}, cp.RunState)
		same(t, "thread state", map[string]json.RawMessage{"ours": json.RawMessage(`{"x":2}`)}, cp.ThreadState)
		equal(t, "inbox", []string{"i1", "i2"}, itemIDs(cp.Inbox))
		same(t, "decision", item, cp.Inbox[0])
		if cp.Run == nil || cp.Run.Status != awaken.RunWaiting {
			t.Errorf("run is %+v", cp.Run)
		}
	}},
	{"FoldsTheView", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		ask := &llm.Message{ID: "ask", Role: llm.Assistant, Content: []llm.Block{llm.Text("ask")}, ToolCalls: []llm.ToolCall{{ID: "c1", Name: "x"}, {ID: "c2", Name: "x"}, {ID: "c3", Name: "x"}}}
		answer := func(call, text string) *llm.Message {
			return &llm.Message{ID: text, Role: llm.ToolRole, ToolCallID: call, Content: []llm.Block{llm.Text(text)}}
		}
		retract := answer("c3", "never mind")
		retract.Visibility = llm.Internal
		o.commit(messages("one"), func(c *awaken.Commit) { c.Messages = append(c.Messages, ask, answer("c2", "second")) })
		o.commit(func(c *awaken.Commit) { c.Messages = append(c.Messages, answer("c1", "first"), retract) }, func(c *awaken.Commit) { messages("gone")(c) })
		o.commit(func(c *awaken.Commit) {
			c.Messages = []*llm.Message{{ID: "back", Role: llm.System, Visibility: llm.Internal, Metadata: &llm.Metadata{Rewind: &llm.Rewind{FromSeq: 6}}}}
		}, messages("last"))
		cp := acquire(t, s, "t", "r").cp
		equal(t, "view", []string{"one", "ask", "first", "second", "last"}, texts(cp.View))
		if n := len(cp.View[1].ToolCalls); n != 2 {
			t.Errorf("the message has %d calls, want 2: one was retracted", n)
		}
		equal(t, "length of the log", 8, cp.Thread.MessageCount)
	}},
	{"ReturnsTheHighestSeq", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(o.entries(&awaken.StepStart{}, &awaken.StepEnd{}))
		equal(t, "seq", uint64(2), acquire(t, s, "t", "r").cp.Thread.End.Seq)
		o = acquire(t, s, "t", "r")
		o.commit(func(c *awaken.Commit) {
			// Coalesced deltas that continue between and after many other events.
			c.Entries = append(c.Entries, awaken.Entry{Cursor: awaken.Cursor{Epoch: o.cp.Fence, Seq: 3}, RunID: "r", Event: &awaken.TextDelta{Delta: "ab"},
				Chunks: []awaken.Chunk{{Offset: 0, Len: 1}, {Offset: 297, Len: 1}}})
			for i := range 200 {
				c.Entries = append(c.Entries, awaken.Entry{Cursor: awaken.Cursor{Epoch: o.cp.Fence, Seq: uint64(4 + i)}, RunID: "r", Event: &awaken.ReasoningDelta{Delta: "x"}})
			}
		})
		equal(t, "seq of coalesced deltas", uint64(300), acquire(t, s, "t", "r").cp.Thread.End.Seq)
	}},
	{"ReturnsTheLatestRunAndItsState", func(t *testing.T, s awaken.Store) {
		set := func(v string) func(*awaken.Commit) {
			return func(c *awaken.Commit) {
				c.State = []state.Change{{Key: "k", Scope: state.Run, Value: json.RawMessage(v)}}
			}
		}
		acquire(t, s, "t", "r1").commit(set("1"), calls(ledger("r1", "old", 3, 0, awaken.CallSucceeded)), done)
		acquire(t, s, "t", "r2").commit(set("2"))
		cp := acquire(t, s, "t", "r2").cp
		if cp.Run == nil || cp.Run.RunID != "r2" {
			t.Fatalf("run is %+v, want r2", cp.Run)
		}
		same(t, "run state", map[string]json.RawMessage{"k": json.RawMessage("2")}, cp.RunState)
		equal(t, "calls", []string{}, callIDs(cp.Calls))
	}},
	{"ReturnsTheCallsOfTheLastStepOnly", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(calls(ledger("r", "a", 0, 0, awaken.CallSucceeded), ledger("r", "b", 0, 1, awaken.CallSucceeded)))
		o.commit(calls(ledger("r", "d", 1, 1, awaken.CallSuspended), ledger("r", "c", 1, 0, awaken.CallSucceeded)))
		equal(t, "calls", []string{"c succeeded", "d suspended"}, callIDs(acquire(t, s, "t", "r").cp.Calls))
	}},
	{"GivesEachOwnerItsOwn", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(messages("a"), func(c *awaken.Commit) {
			c.State = []state.Change{{Key: "k", Scope: state.Thread, Value: json.RawMessage(`1`)}, {Key: "k2", Scope: state.Run, Value: json.RawMessage(`1`)}}
		})
		one := acquire(t, s, "t", "r")
		view := one.cp.View
		one.cp.ThreadState["k"] = json.RawMessage(`"spoilt"`)
		one.cp.RunState["k2"] = json.RawMessage(`"spoilt"`)
		one.cp.Run.AgentID = "spoilt"
		_ = append(view, llm.UserText("spoilt"))
		one.commit(messages("b"))
		equal(t, "the view the first owner has", []string{"a"}, texts(view))
		two := acquire(t, s, "t", "r").cp
		equal(t, "view", []string{"a", "b"}, texts(two.View))
		same(t, "thread state", map[string]json.RawMessage{"k": json.RawMessage(`1`)}, two.ThreadState)
		same(t, "run state", map[string]json.RawMessage{"k2": json.RawMessage(`1`)}, two.RunState)
		equal(t, "agent", "agent", two.Run.AgentID)
	}},
	{"CountsCommitsFromOneAgain", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(messages("a"))
		o.commit(messages("b"))
		n := acquire(t, s, "t", "r")
		n.commit(messages("c")) // number 1 with another fence is not a repeated commit
		n.commit(messages("d"))
		equal(t, "log", []string{"1 a", "2 b", "3 c", "4 d"}, log(t, s, "t", awaken.MessageQuery{}))
	}},
}

var interruptCases = []testCase{
	{"RefusesWhatBegins", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		o.commit(begins)
		if _, err := s.Interrupt(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		if err := o.try(begins, messages("no")); !errors.Is(err, awaken.ErrGeneration) {
			t.Errorf("a commit that begins something: error is %v, want ErrGeneration", err)
		}
		o.commit(messages("yes")) // a commit that begins nothing is accepted
		equal(t, "log", []string{"1 yes"}, log(t, s, "t", awaken.MessageQuery{}))
	}},
	{"LeavesTheNextOwnerAlone", func(t *testing.T, s awaken.Store) {
		acquire(t, s, "t", "r").commit()
		if _, err := s.Interrupt(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		acquire(t, s, "t", "r").commit(begins)
	}},
	{"ReturnsTheCallsThatHaveBegun", func(t *testing.T, s awaken.Store) {
		o := acquire(t, s, "t", "r")
		var states []*awaken.CallState
		for i, st := range []awaken.CallStatus{awaken.CallNew, awaken.CallRunning, awaken.CallSuspended, awaken.CallResuming, awaken.CallSucceeded, awaken.CallFailed, awaken.CallCancelled, awaken.CallRunning} {
			states = append(states, ledger("r", fmt.Sprint("c", i), 0, i, st))
		}
		o.commit(calls(states...))
		open, err := s.Interrupt(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "begun", []string{"c1 running", "c7 running"}, callIDs(open))
	}},
	{"OfAMissingThreadIsNotFound", func(t *testing.T, s awaken.Store) {
		if _, err := s.Interrupt(t.Context(), "ghost"); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("error is %v, want ErrNotFound", err)
		}
	}},
}
