package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace/timeline"
)

// pagedStore counts the queries of entries, and those that have no limit.
type pagedStore struct {
	*memory.Store
	unlimited, pages int
}

func (s *pagedStore) Entries(ctx context.Context, threadID string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	s.pages++
	if q.Limit == 0 {
		s.unlimited++
	}
	return s.Store.Entries(ctx, threadID, q)
}

// A history that was summarised is shown as the model got it: the summary, and how many messages it stands for.
func TestShown_HasTheSummaryInPlaceOfWhatItStandsFor(t *testing.T) {
	t.Parallel()
	store := memory.New()
	g := newRig(t, []llmtest.Turn{llmtest.Say("one"), llmtest.Say("two")}, func(c *engine.Config) { c.Store = store })
	first, _ := g.run(say("First"))
	cp, err := store.Acquire(t.Context(), "t")
	if err != nil {
		t.Fatal(err)
	}
	summary := &llm.Message{ID: "sum", Role: llm.System, Visibility: llm.Internal, Content: []llm.Block{llm.Text("in short")}, Metadata: &llm.Metadata{Compaction: &llm.Interval{FromSeq: 1, ToSeq: 2}}}
	run, err := store.LoadRun(t.Context(), first.RunID)
	if err != nil {
		t.Fatal(err)
	}
	run.RunID = "summed"
	if err := store.Commit(t.Context(), &awaken.Commit{ThreadID: "t", Fence: cp.Fence, Generation: cp.Generation, Number: 1, Time: run.UpdatedAt, Expect: 2, Run: *run, Messages: []*llm.Message{summary}}); err != nil {
		t.Fatal(err)
	}
	second, _ := g.run(say("Second"))
	for id, want := range map[string]struct {
		summarised int
		texts      string
	}{first.RunID: {0, "First"}, second.RunID: {2, "in short,Second"}} {
		got, err := g.rt.Shown(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, m := range got.Messages {
			texts = append(texts, m.Text())
		}
		if got.Summarised != want.summarised || strings.Join(texts, ",") != want.texts {
			t.Errorf("%d messages are summarised, and shown are %q; want %d and %s", got.Summarised, texts, want.summarised, want.texts)
		}
	}
}

// What a run scheduled is found in pages of its events, also if it is behind the first one.
func TestShown_ReadsTheEventsOfARunInPages(t *testing.T) {
	t.Parallel()
	late := tool("late", func(_ context.Context, c *awaken.ToolCall, _ args) (*awaken.ToolResult, error) {
		builtin.AddContextMessage.Schedule(c, builtin.SystemContext("date", "It is Monday."))
		return awaken.TextResult("done"), nil
	})
	var turns []llmtest.Turn
	for range 150 {
		turns = append(turns, uses("echo"))
	}
	store := &pagedStore{Store: memory.New()}
	g := newRig(t, append(turns, uses("late"), llmtest.Say("Done.")), withTools(echo("echo"), late), func(c *engine.Config) {
		c.Store, c.Agents[0].MaxRounds = store, new(0)
	})
	res, _ := g.run(say("Go"))
	store.pages, store.unlimited = 0, 0
	got, err := g.rt.Shown(t.Context(), res.RunID, 0)
	if err != nil {
		t.Fatal(err)
	}
	if store.unlimited > 0 || store.pages < 2 {
		t.Errorf("%d of %d queries have no limit, want none of several", store.unlimited, store.pages)
	}
	if !slices.ContainsFunc(got.Unrecorded, func(u timeline.Unrecorded) bool { return u.Code == "state" }) {
		t.Errorf("what was scheduled is not among %+v", got.Unrecorded)
	}
}

// A run that fails because its model does shows what the model was asked, without what later runs of the thread said.
func TestShown_HasTheRequestThatFailed(t *testing.T) {
	t.Parallel()
	failing := llmtest.Turn{Error: &llmtest.Failure{Kind: llm.Unauthorized, Message: "no key"}}
	g := newRig(t, []llmtest.Turn{uses("echo"), failing, llmtest.Say("Later.")}, withTools(echo("echo")))
	req := say("The exact prompt")
	req.RunID = "failed"
	if _, err := g.rt.Run(t.Context(), req, &tape{}); err == nil {
		t.Fatal("the run did not fail")
	}
	g.run(say("And now?"))
	got, err := g.rt.Shown(t.Context(), "failed", 1)
	if err != nil {
		t.Fatal(err)
	}
	var roles []llm.Role
	for _, m := range got.Messages {
		roles = append(roles, m.Role)
	}
	if want := []llm.Role{llm.User, llm.Assistant, llm.ToolRole}; !slices.Equal(roles, want) || got.Messages[0].Text() != "The exact prompt" {
		t.Errorf("the model was shown %v, want %v with the prompt first", roles, want)
	}
	if _, err := g.rt.Shown(t.Context(), "failed", 2); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("a step that was never begun: %v, want %v", err, awaken.ErrNotFound)
	}
}
