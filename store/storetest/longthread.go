package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
)

// Usage is the usage of a store so far: statements, or whatever it counts, and bytes that it
// wrote or allocated.
type Usage struct{ Statements, Bytes int64 }

// LongThread checks that a commit costs the same at turn 10 of a thread and at turn
// 10,000: as many statements, and as many bytes within tolerance, which is a fraction.
// A turn is a run that commits a question and its answer, a call and events.
//
// Bytes are the median over groups of commits, since memory and B-trees grow in steps.
// LongThread calls used before and after each group, and begin, if it is not nil, before
// the first group on the short and on the long thread.
func LongThread(t *testing.T, s awaken.Store, tolerance float64, begin func(), used func() Usage) {
	const first, groups, size, bulk = 10, 11, 50, 70
	last := testenv.Times(3000, 10_000)
	l := NewLong(t, s, "t")
	l.Grow(first, 1)
	measure := func() Usage {
		if begin != nil {
			begin()
		}
		var statements int64
		var bytes []int64
		for range groups {
			before := used()
			l.Grow(l.Turns+size, 1)
			after := used()
			statements += after.Statements - before.Statements
			bytes = append(bytes, after.Bytes-before.Bytes)
		}
		slices.Sort(bytes)
		return Usage{statements, bytes[groups/2]}
	}
	short := measure()
	l.Grow(last-groups*size, bulk)
	long := measure()
	t.Logf("a commit at turn %d: %.2f statements, %.0f bytes; at turn %d: %.2f statements, %.0f bytes",
		first, float64(short.Statements)/groups/size, float64(short.Bytes)/size, last, float64(long.Statements)/groups/size, float64(long.Bytes)/size)
	if long.Statements != short.Statements {
		t.Errorf("a group of commits takes %d statements on a short thread and %d on a long one", short.Statements, long.Statements)
	}
	if ratio := float64(long.Bytes) / float64(short.Bytes); short.Bytes <= 0 || ratio > 1+tolerance {
		t.Errorf("a commit takes %.2f times as many bytes on a long thread", ratio)
	}
}

// Long is a thread that grows.
type Long struct {
	Turns int
	t     testing.TB
	store awaken.Store
	cp    *awaken.Checkpoint
	id    string
	n     uint64
}

// NewLong acquires an empty thread.
func NewLong(t testing.TB, s awaken.Store, id string) *Long {
	t.Helper()
	cp, err := s.Acquire(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return &Long{t: t, store: s, cp: cp, id: id}
}

// Grow adds turns until the thread has n, several in each commit.
func (l *Long) Grow(turns, some int) {
	l.t.Helper()
	for l.Turns < turns {
		l.Commit(min(some, turns-l.Turns))
	}
}

// Commit adds n turns in one commit.
func (l *Long) Commit(turns int) {
	l.t.Helper()
	l.n++
	run := fmt.Sprintf("%s-run-%06d", l.id, l.n)
	c := &awaken.Commit{ThreadID: l.id, Fence: l.cp.Fence, Number: l.n, Time: 1_700_000_000_000, Expect: 2 * l.Turns,
		Run:   awaken.Run{RunID: run, ThreadID: l.id, AgentID: "agent", Origin: "user", Status: awaken.RunDone, Termination: awaken.Termination{Type: awaken.NaturalEnd}, CreatedAt: 1, FinishedAt: 2},
		Calls: []*awaken.CallState{ledger(run, "call", 0, 0, awaken.CallSucceeded)}}
	for i := range turns {
		n := l.Turns + i
		c.Messages = append(c.Messages,
			&llm.Message{ID: fmt.Sprintf("q%06d", n), Role: llm.User, Content: []llm.Block{llm.Text("What is the weather in the town where I was born?")}},
			&llm.Message{ID: fmt.Sprintf("a%06d", n), Role: llm.Assistant, Content: []llm.Block{llm.Text("It rains, as it did yesterday, and as it will do tomorrow.")},
				Metadata: &llm.Metadata{RunID: run, StepIndex: new(int)}})
		for j, ev := range []awaken.Event{&awaken.StepStart{MessageID: fmt.Sprintf("a%06d", n)}, &awaken.TextDelta{Delta: "It rains, as it did yesterday, and as it will do tomorrow."}, &awaken.StepEnd{}} {
			c.Entries = append(c.Entries, awaken.Entry{Cursor: awaken.Cursor{Epoch: l.cp.Fence, Seq: uint64(3*n + j + 1)}, RunID: run, Time: c.Time, Event: ev})
		}
	}
	if err := l.store.Commit(l.t.Context(), c); err != nil {
		l.t.Fatalf("turn %d: %v", l.Turns+1, err)
	}
	l.Turns += turns
}
