package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

func eventLog(t *testing.T, s awaken.Store) awaken.EventLog {
	t.Helper()
	el, ok := s.(awaken.EventLog)
	if !ok {
		t.Skip("the store keeps no log of events")
	}
	return el
}

// seqs returns the sequence numbers of the entries that a query selects.
func seqs(t *testing.T, el awaken.EventLog, threadID string, q awaken.EntryQuery) []uint64 {
	t.Helper()
	entries, err := el.Entries(t.Context(), threadID, q)
	if err != nil {
		t.Fatal(err)
	}
	out := []uint64{}
	for _, e := range entries {
		out = append(out, e.Seq)
	}
	return out
}

// oneOfEach returns an event of every type.
func oneOfEach() []awaken.Event {
	yes := true
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	info := &awaken.RunInfo{ThreadID: "t", RunID: "r", AgentID: "a", Origin: "user"}
	return []awaken.Event{
		&awaken.RunStart{ThreadID: "t", RunID: "r", Identity: info}, &awaken.StepStart{MessageID: "m"}, &awaken.TextDelta{Delta: "x"}, &awaken.ReasoningDelta{Delta: "y"},
		&awaken.ReasoningEncryptedValue{EncryptedValue: "z"}, &awaken.ToolCallStart{ID: "c", Name: "n"}, &awaken.ToolCallDelta{ID: "c", ArgsDelta: "{}"},
		&awaken.ToolCallReady{ID: "c", Name: "n", Arguments: raw(`{"a":1}`)}, &awaken.ToolCallCancel{ID: "d", Name: "n", Reason: "w"}, &awaken.StreamReset{Reason: "r"},
		&awaken.InferenceComplete{Model: "m", Usage: &llm.Usage{PromptTokens: 3}, DurationMS: 4}, &awaken.ActivitySnapshot{MessageID: "m", ActivityType: "t", Content: raw(`[1]`), Replace: &yes},
		&awaken.ActivityDelta{MessageID: "m", ActivityType: "t", Patch: []awaken.PatchOp{{Op: "add", Path: "/x", Value: raw(`1`)}}}, &awaken.ToolCallStreamDelta{ID: "c", Name: "n", Delta: "o"},
		&awaken.ToolCallDone{ID: "c", MessageID: "m", Result: &awaken.ToolResult{ToolName: "n", Status: awaken.ToolSuccess, Data: raw(`{"b":2}`)}, Outcome: awaken.CallSucceeded},
		&awaken.ToolCallResumed{TargetID: "c", Result: raw(`null`)}, &awaken.StateSnapshot{}, &awaken.StateDelta{Delta: []awaken.PatchOp{{Op: "remove", Path: "/extensions/k"}}},
		&awaken.MessagesSnapshot{Messages: []*llm.Message{llm.UserText("hi")}}, &awaken.StepEnd{}, &awaken.Error{Message: "m", Code: "c"},
		&awaken.RunFinish{ThreadID: "t", RunID: "r", Result: &awaken.RunOutput{Response: "ok", Status: awaken.RunDone}, Termination: awaken.Termination{Type: awaken.Blocked, Message: "no"}},
	}
}

var eventCases = []testCase{
	{"AnswersWhenThereIsNothing", func(t *testing.T, s awaken.Store) {
		el := eventLog(t, s)
		o := acquire(t, s, "t", "r")
		none := func(q awaken.EntryQuery) {
			t.Helper()
			if got, err := el.Entries(t.Context(), "t", q); len(got) > 0 || err != nil {
				t.Errorf("%+v: %d entries, %v", q, len(got), err)
			}
		}
		for limit := range 4 {
			none(awaken.EntryQuery{Limit: limit})
		}
		o.commit(o.entries(&awaken.StepEnd{}))
		for limit := range 4 {
			none(awaken.EntryQuery{Limit: limit, Epoch: o.cp.Fence})
			none(awaken.EntryQuery{Limit: limit, After: o.seq})
			none(awaken.EntryQuery{Limit: limit, RunID: "missing"})
		}
	}},
	{"KeepsEveryEventWhole", func(t *testing.T, s awaken.Store) {
		el := eventLog(t, s)
		events := oneOfEach()
		o := acquire(t, s, "t", "r")
		o.time = 4242
		o.commit(o.entries(events[:10]...))
		o.commit(o.entries(events[10:]...))
		got, err := el.Entries(t.Context(), "t", awaken.EntryQuery{})
		if err != nil || len(got) != len(events) {
			t.Fatalf("%d entries, want %d: %v", len(got), len(events), err)
		}
		for i, e := range got {
			equal(t, "place of "+events[i].Type(), fmt.Sprint(awaken.Cursor{Epoch: o.cp.Fence, Seq: uint64(i + 1)}, " r 4242 []"), fmt.Sprint(e.Cursor, " ", e.RunID, " ", e.Time, " ", e.Chunks))
			want, err := awaken.AppendEvent(nil, events[i])
			if err != nil {
				t.Fatal(err)
			}
			have, err := awaken.AppendEvent(nil, e.Event)
			if err != nil {
				t.Fatal(err)
			}
			same(t, events[i].Type(), json.RawMessage(want), json.RawMessage(have))
		}
	}},
	{"ReadsAfterANumber", func(t *testing.T, s awaken.Store) {
		el := eventLog(t, s)
		o := acquire(t, s, "t", "r1")
		o.commit(o.entries(&awaken.RunStart{}, &awaken.StepStart{}))
		o.commit(done, func(c *awaken.Commit) {
			// Deltas 3, 4 and 6 are one entry; 5 is another event.
			c.Entries = []awaken.Entry{
				{Cursor: awaken.Cursor{Epoch: o.cp.Fence, Seq: 3}, RunID: "r1", Event: &awaken.TextDelta{Delta: "abc"}, Chunks: []awaken.Chunk{{Offset: 0, Len: 1}, {Offset: 1, Len: 1}, {Offset: 3, Len: 1}}},
				{Cursor: awaken.Cursor{Epoch: o.cp.Fence, Seq: 5}, RunID: "r1", Event: &awaken.StepEnd{}},
			}
		})
		n := acquire(t, s, "t", "r2")
		n.commit(n.entries(&awaken.RunStart{}, &awaken.StepStart{}))
		for _, tt := range []struct {
			q    awaken.EntryQuery
			want []uint64
		}{
			{awaken.EntryQuery{}, []uint64{1, 2, 3, 5, 7, 8}},
			{awaken.EntryQuery{After: 2}, []uint64{3, 5, 7, 8}},
			{awaken.EntryQuery{After: 3}, []uint64{3, 5, 7, 8}}, // entry 3 reaches beyond 3
			{awaken.EntryQuery{After: 5}, []uint64{3, 7, 8}},
			{awaken.EntryQuery{After: 6}, []uint64{7, 8}},
			{awaken.EntryQuery{After: 8}, []uint64{}},
			{awaken.EntryQuery{After: 99}, []uint64{}},
			{awaken.EntryQuery{Limit: 3}, []uint64{1, 2, 3}},
			{awaken.EntryQuery{After: 2, Limit: 2}, []uint64{3, 5}},
			{awaken.EntryQuery{RunID: "r2"}, []uint64{7, 8}},
			{awaken.EntryQuery{RunID: "r1", After: 1, Limit: 1}, []uint64{2}},
			{awaken.EntryQuery{RunID: "missing"}, []uint64{}},
			{awaken.EntryQuery{Epoch: o.cp.Fence}, []uint64{7, 8}},
			{awaken.EntryQuery{Epoch: n.cp.Fence}, []uint64{}},
		} {
			equal(t, fmt.Sprintf("%+v", tt.q), tt.want, seqs(t, el, "t", tt.q))
		}
		entries, err := el.Entries(t.Context(), "t", awaken.EntryQuery{After: 2, Limit: 1})
		if err != nil || len(entries) != 1 {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		equal(t, "chunks", []awaken.Chunk{{Offset: 0, Len: 1}, {Offset: 1, Len: 1}, {Offset: 3, Len: 1}}, entries[0].Chunks)
	}},
	{"OfAMissingThreadIsNotFound", func(t *testing.T, s awaken.Store) {
		el := eventLog(t, s)
		if _, err := el.Entries(t.Context(), "ghost", awaken.EntryQuery{}); !errors.Is(err, awaken.ErrNotFound) {
			t.Errorf("error is %v, want ErrNotFound", err)
		}
		acquire(t, s, "t", "r").commit()
		equal(t, "of a thread without events", []uint64{}, seqs(t, el, "t", awaken.EntryQuery{}))
	}},
}
