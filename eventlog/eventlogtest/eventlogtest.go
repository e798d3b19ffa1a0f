// Package eventlogtest is the conformance suite for stores that keep an event log.
package eventlogtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// Store is the interface under test.
type Store interface {
	awaken.Store
	awaken.EventLog
}

// Test runs the suite against stores made by open. Each must be empty, and closed when the test
// ends.
func Test(t *testing.T, open func(t *testing.T) Store) {
	t.Run("EntriesAreWhatTheSinkSaw", func(t *testing.T) { entriesAreWhatTheSinkSaw(t, open(t)) })
	t.Run("QuerySelects", func(t *testing.T) { querySelects(t, open(t)) })
	t.Run("AReaderResumesAtEveryCut", func(t *testing.T) { resumesAtEveryCut(t, open(t)) })
	t.Run("ALostStepIsTakenBack", func(t *testing.T) { lostStepIsTakenBack(t, open(t)) })
	t.Run("UnknownThreadIsNotFound", func(t *testing.T) {
		if _, err := open(t).Entries(t.Context(), "absent", awaken.EntryQuery{}); !errors.Is(err, awaken.ErrNotFound) {
			t.Fatalf("a thread that does not exist: %v, want ErrNotFound", err)
		}
	})
}

// noisy is a conversation with everything that streams: reasoning, interleaved calls, tool output,
// text.
func noisy() []llmtest.Turn {
	return []llmtest.Turn{
		{Reasoning: llmtest.Text{"I ", "think ", "hard. "}, Text: llmtest.Text{"Let ", "me ", "look."}, Chunk: 3, ToolCalls: []llmtest.Call{
			{ID: "a", Name: "talk", Arguments: []byte(`{"words":"one two three four five"}`)},
			{ID: "b", Name: "talk", Arguments: []byte(`{"words":"eins zwei drei"}`)},
			{ID: "c", Name: "talk", Arguments: []byte(`{"words":"un deux"}`)},
		}},
		{Text: llmtest.Text{"Das ", "war ", "schön: ", "日本語 ", "🎉 ", "end."}},
	}
}

// runtime returns a runtime on store whose tools stream their input.
func runtime(t *testing.T, store Store, model llm.Model) *engine.Runtime {
	t.Helper()
	talk := awaken.NewTool(awaken.ToolSpec{ID: "talk", Effect: awaken.ReadOnly},
		func(_ context.Context, call *awaken.ToolCall, in struct {
			Words string `json:"words"`
		}) (string, error) {
			for _, r := range in.Words {
				call.Output(string(r))
			}
			return in.Words, nil
		})
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", ToolExecutionMode: awaken.ParallelStreaming}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
		Providers: map[string]llm.Model{"p": model},
		Tools:     []awaken.Tool{talk},
		Store:     store,
	})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func say(thread, text string) awaken.RunRequest {
	return awaken.RunRequest{ThreadID: thread, Messages: []*llm.Message{llm.UserText(text)}}
}

// collector collects the entries that a sink gets.
type collector []awaken.Entry

func (c *collector) Emit(_ context.Context, e awaken.Entry) error {
	*c = append(*c, e)
	return nil
}

// lines formats entries for comparison.
func lines(t *testing.T, entries []awaken.Entry) []string {
	t.Helper()
	var out []string
	for _, e := range entries {
		data, err := awaken.AppendEvent(nil, e.Event)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s %s", e.Cursor, e.RunID, data))
	}
	return out
}

// read returns everything that a reader starting after a cursor gets.
func read(t *testing.T, log *eventlog.Log, thread string, after awaken.Cursor) []awaken.Entry {
	t.Helper()
	var out []awaken.Entry
	for e, err := range log.Tail(t.Context(), thread, after, eventlog.Follow{Committed: true}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func converse(t *testing.T, store Store) []awaken.Entry {
	t.Helper()
	var seen collector
	rt := runtime(t, store, llmtest.NewScript(noisy()...).Loop())
	for i := range 3 {
		if _, err := rt.Run(t.Context(), say("t", fmt.Sprintf("turn %d", i)), &seen); err != nil {
			t.Fatal(err)
		}
	}
	return seen
}

func entriesAreWhatTheSinkSaw(t *testing.T, store Store) {
	seen := converse(t, store)
	got := read(t, eventlog.New(store, nil), "t", awaken.Cursor{})
	if diff := cmp.Diff(lines(t, seen), lines(t, got)); diff != "" {
		t.Errorf("the log differs from what the sink got (-sink +log):\n%s", diff)
	}
	small := read(t, eventlog.New(store, &eventlog.Options{Page: 2}), "t", awaken.Cursor{})
	if diff := cmp.Diff(lines(t, seen), lines(t, small)); diff != "" {
		t.Errorf("read in pages of two, the log differs from what the sink got (-sink +log):\n%s", diff)
	}
}

func querySelects(t *testing.T, store Store) {
	seen := converse(t, store)
	all, err := store.Entries(t.Context(), "t", awaken.EntryQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(all); i++ {
		if all[i].Seq <= all[i-1].Seq {
			t.Fatalf("entry %d has number %d after %d", i, all[i].Seq, all[i-1].Seq)
		}
	}
	first, last := all[0].RunID, all[len(all)-1].RunID
	for name, c := range map[string]struct {
		q    awaken.EntryQuery
		want func(e awaken.Entry) bool
	}{
		"after":    {awaken.EntryQuery{After: seen[20].Seq}, func(e awaken.Entry) bool { return e.Last() > seen[20].Seq }},
		"epoch":    {awaken.EntryQuery{Epoch: 1}, func(e awaken.Entry) bool { return e.Epoch > 1 }},
		"run":      {awaken.EntryQuery{RunID: first}, func(e awaken.Entry) bool { return e.RunID == first }},
		"together": {awaken.EntryQuery{RunID: last, After: seen[20].Seq, Epoch: 2}, func(e awaken.Entry) bool { return e.RunID == last && e.Epoch > 2 }},
	} {
		var want []awaken.Entry
		for _, e := range all {
			if c.want(e) {
				want = append(want, e)
			}
		}
		got, err := store.Entries(t.Context(), "t", c.q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(lines(t, want), lines(t, got)); diff != "" || len(want) == 0 {
			t.Errorf("%s (%d wanted) (-want +got):\n%s", name, len(want), diff)
		}
		c.q.Limit = 2
		got, err = store.Entries(t.Context(), "t", c.q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(lines(t, want[:2]), lines(t, got)); diff != "" {
			t.Errorf("%s, two of them (-want +got):\n%s", name, diff)
		}
	}
}

// Cuts is how many random places resuming readers are cut at.
const Cuts = 10_000

func resumesAtEveryCut(t *testing.T, store Store) {
	want := lines(t, converse(t, store))
	log := eventlog.New(store, &eventlog.Options{Page: 7})
	whole := read(t, log, "t", awaken.Cursor{})
	rng := rand.New(rand.NewPCG(1, 2))
	cuts := 0
	for cuts < Cuts {
		var got []awaken.Entry
		var at awaken.Cursor
		for len(got) < len(whole) {
			n := 1 + rng.IntN(len(whole)/4)
			for e, err := range log.Tail(t.Context(), "t", at, eventlog.Follow{Committed: true}) {
				if err != nil {
					t.Fatal(err)
				}
				got, at = append(got, e), e.Cursor
				if n--; n == 0 {
					break // the connection is cut
				}
			}
			cuts++
		}
		if l := lines(t, got); !slices.Equal(want, l) {
			t.Fatalf("a reader that was cut off got other entries (-uncut +got):\n%s", cmp.Diff(want, l))
		}
	}
	t.Logf("%d cuts, %d events in the log", cuts, len(whole))
}

// lostStepIsTakenBack takes a thread over from an owner whose events are not committed.
func lostStepIsTakenBack(t *testing.T, store Store) {
	log := eventlog.New(store, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reached := make(chan struct{})
	slow := llm.ModelFunc(func(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
		return func(yield func(llm.Delta, error) bool) {
			for _, s := range []string{"This ", "will ", "be ", "lost."} {
				if !yield(llm.Delta{Kind: llm.TextDelta, Text: s}, nil) {
					return
				}
			}
			close(reached)
			<-ctx.Done()
			yield(llm.Delta{}, ctx.Err())
		}
	})
	var first collector
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_, _ = runtime(t, store, slow).Run(ctx, say("t", "go"), log.Sink(&first))
	}()
	<-reached
	// A reader has seen all of it.
	var at awaken.Cursor
	for e, err := range log.Tail(t.Context(), "t", awaken.Cursor{}, eventlog.Follow{}) {
		if err != nil {
			t.Fatal(err)
		}
		at = e.Cursor
		if d, ok := e.Event.(*awaken.TextDelta); ok && d.Delta == "lost." {
			break
		}
	}
	// Another owner takes the thread over.
	var second collector
	rt := runtime(t, store, llmtest.NewScript(llmtest.Say("This ", "is ", "kept.")).Loop())
	if _, err := rt.Run(t.Context(), say("t", "again"), &second); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-stopped

	got := read(t, eventlog.New(store, nil), "t", at)
	reset, ok := got[0].Event.(*awaken.StreamReset)
	if !ok {
		t.Fatalf("the reader got %q first, want a stream_reset", got[0].Event.Type())
	}
	back, err := awaken.ParseCursor(reset.Cursor)
	if err != nil {
		t.Fatal(err)
	}
	if want := second[0].Seq - 1; back.Seq != want {
		t.Errorf("the reset returns to %s, want number %d, after which the new owner begins", reset.Cursor, want)
	}
	if diff := cmp.Diff(lines(t, second), lines(t, got[1:])); diff != "" {
		t.Errorf("after the reset (-new owner +reader):\n%s", diff)
	}
	again := read(t, eventlog.New(store, nil), "t", got[len(got)-2].Cursor)
	if len(again) != 1 {
		t.Errorf("a reader that resumes again got %v, want only the last event", lines(t, again))
	}
}
