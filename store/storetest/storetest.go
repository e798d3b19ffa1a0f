// Package storetest is the conformance suite of [awaken.Store]. Every backend runs it:
//
//	func TestStore(t *testing.T) {
//		storetest.Test(t, func(t *testing.T) awaken.Store { return open(t) })
//	}
//
// If a store also implements [awaken.EventLog], [awaken.ThreadEditor], [timeline.Log] or [money.Budget],
// the suite checks those too.
package storetest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Test runs every case. It calls open once for each case; open returns an empty store for
// this case alone and may register its own clean-up.
func Test(t *testing.T, open func(t *testing.T) awaken.Store) {
	for _, area := range []struct {
		name  string
		cases []testCase
	}{
		{"Acquire", acquireCases},
		{"Commit", commitCases},
		{"Interrupt", interruptCases},
		{"Steps", stepCases},
		{"Inbox", inboxCases},
		{"Decisions", decisionCases},
		{"Threads", threadCases},
		{"Runs", runCases},
		{"ListsOfRuns", runListCases},
		{"ListsOfThreads", threadListCases},
		{"Concurrency", concurrencyCases},
		{"EventLog", eventCases},
		{"ThreadEditor", editorCases},
		{"Notes", noteCases},
		{"Budget", budgetCases},
		{"Users", userCases},
		{"Timeline", timelineCases},
	} {
		t.Run(area.name, func(t *testing.T) {
			for _, c := range area.cases {
				t.Run(c.promise, func(t *testing.T) { c.check(t, open(t)) })
			}
		})
	}
}

// testCase is one promise of the port.
type testCase struct {
	promise string
	check   func(t *testing.T, s awaken.Store)
}

// owner owns a thread and numbers its commits.
type owner struct {
	*testing.T
	store  awaken.Store
	cp     *awaken.Checkpoint
	thread string
	run    awaken.Run
	number uint64
	count  int
	seq    uint64
	time   int64
}

// acquire acquires a thread for a run.
func acquire(t *testing.T, s awaken.Store, threadID, runID string) *owner {
	t.Helper()
	cp, err := s.Acquire(t.Context(), threadID)
	if err != nil {
		t.Fatalf("acquire %s: %v", threadID, err)
	}
	return &owner{T: t, store: s, cp: cp, thread: threadID, count: cp.Thread.MessageCount, seq: cp.Thread.End.Seq, time: 1_700_000_000_000,
		run: awaken.Run{RunID: runID, ThreadID: threadID, AgentID: "agent", Origin: "user", Status: awaken.RunRunning, CreatedAt: 1_700_000_000}}
}

// next returns the next commit of the owner, with changes applied.
func (o *owner) next(change ...func(c *awaken.Commit)) *awaken.Commit {
	c := &awaken.Commit{ThreadID: o.thread, Fence: o.cp.Fence, Number: o.number + 1, Generation: o.cp.Generation,
		Time: o.time, Expect: o.count, Run: o.run}
	for _, f := range change {
		f(c)
	}
	return c
}

// try makes the next commit and returns its error.
func (o *owner) try(change ...func(c *awaken.Commit)) error {
	o.Helper()
	c := o.next(change...)
	n := len(c.Messages)
	err := o.store.Commit(o.Context(), c)
	if err == nil {
		o.number++
		o.count += n
		o.run = c.Run
	}
	return err
}

// commit makes the next commit, which must succeed.
func (o *owner) commit(change ...func(c *awaken.Commit)) {
	o.Helper()
	if err := o.try(change...); err != nil {
		o.Fatalf("commit %d on %s: %v", o.number+1, o.thread, err)
	}
}

// Changes of a commit.

func messages(texts ...string) func(*awaken.Commit) {
	return func(c *awaken.Commit) {
		for _, text := range texts {
			c.Messages = append(c.Messages, &llm.Message{ID: text, Role: llm.User, Content: []llm.Block{llm.Text(text)}})
		}
	}
}

func read(ids ...string) func(*awaken.Commit) {
	return func(c *awaken.Commit) { c.Read = append(c.Read, ids...) }
}

func rest(c *awaken.Commit)   { c.RequireEmptyInbox = true }
func begins(c *awaken.Commit) { c.Begins = true }

// done makes the commit the last of its run.
func done(c *awaken.Commit) {
	c.Run.Status, c.Run.Termination, c.Run.FinishedAt = awaken.RunDone, awaken.Termination{Type: awaken.NaturalEnd}, c.Run.CreatedAt+9
	c.Run.Waiting = nil
}

// waits makes the commit park its run.
func waits(c *awaken.Commit) {
	c.Run.Status = awaken.RunWaiting
	c.Run.Waiting = &awaken.Waiting{Reason: awaken.WaitToolPermission, TicketIDs: []string{}, Tickets: []awaken.WaitingTicket{}}
}

func calls(states ...*awaken.CallState) func(*awaken.Commit) {
	return func(c *awaken.Commit) { c.Calls = append(c.Calls, states...) }
}

// ledger returns a record of the call ledger.
func ledger(run, id string, step, index int, status awaken.CallStatus) *awaken.CallState {
	return &awaken.CallState{CallID: id, ToolName: "tool", Arguments: json.RawMessage(`{}`), Status: status, RunID: run, Step: step, Index: index, UpdatedAt: 5}
}

// entries adds events with the next sequence numbers.
func (o *owner) entries(events ...awaken.Event) func(*awaken.Commit) {
	return func(c *awaken.Commit) {
		for _, ev := range events {
			o.seq++
			c.Entries = append(c.Entries, awaken.Entry{Cursor: awaken.Cursor{Epoch: o.cp.Fence, Seq: o.seq}, RunID: c.Run.RunID, Time: c.Time, Event: ev})
		}
	}
}

// Reading.

// log returns the texts of the messages of a thread.
func log(t *testing.T, s awaken.Store, threadID string, q awaken.MessageQuery) []string {
	t.Helper()
	recs, err := s.Messages(t.Context(), threadID, q)
	if err != nil {
		t.Fatalf("messages of %s: %v", threadID, err)
	}
	out := []string{}
	for _, r := range recs {
		out = append(out, fmt.Sprintf("%d %s", r.Seq, r.Message.Text()))
	}
	return out
}

// texts returns the texts of messages.
func texts(msgs []*llm.Message) []string {
	out := []string{}
	for _, m := range msgs {
		out = append(out, m.Text())
	}
	return out
}

func callIDs(states []*awaken.CallState) []string {
	out := []string{}
	for _, c := range states {
		out = append(out, c.CallID+" "+string(c.Status))
	}
	return out
}

func itemIDs(items []awaken.InboxItem) []string {
	out := []string{}
	for _, it := range items {
		out = append(out, it.ID)
	}
	return out
}

func unread(t *testing.T, s awaken.Store, threadID string) []string {
	t.Helper()
	items, err := s.Unread(t.Context(), threadID)
	if err != nil {
		t.Fatalf("inbox of %s: %v", threadID, err)
	}
	return itemIDs(items)
}

// equal compares two values.
func equal(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// same compares two values by their JSON, since many stores keep only that.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	equal(t, what, generic(t, want), generic(t, got))
}

func generic(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
