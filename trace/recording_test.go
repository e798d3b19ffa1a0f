package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/trace"
)

func echo() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: "echo", Description: "echoes", Effect: awaken.ReadOnly}, func(_ context.Context, _ *awaken.ToolCall, in struct {
		Text string `json:"text"`
	}) (*awaken.ToolResult, error) {
		return awaken.TextResult(in.Text), nil
	})
}

func ask() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: "ask", Description: "asks"}, func(_ context.Context, call *awaken.ToolCall, _ struct{}) (*awaken.ToolResult, error) {
		if call.Resume == nil {
			return nil, awaken.Suspend(awaken.Ticket{Suspension: awaken.Suspension{Action: "ask", Message: "May I?"}})
		}
		return awaken.TextResult("yes"), nil
	})
}

func record(t *testing.T, h *awakentest.Harness, runID string) *trace.Recording {
	t.Helper()
	rec, err := trace.Record(t.Context(), h.Store.(trace.Source), runID)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestRecord_HasWhatTheRunWasToldSaidAndDid(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{Tools: []awaken.Tool{echo(), ask()}},
		llmtest.Turn{Reasoning: llmtest.Text{"hm"}, Text: llmtest.Text{"Let me ", "see."}, ToolCalls: []llmtest.Call{{ID: "c1", Name: "echo", Arguments: json.RawMessage(`{"text":"hi"}`)}},
			Usage: &llm.Usage{PromptTokens: 10, CompletionTokens: 5}},
		llmtest.Use("ask", "{}"),
		llmtest.Say("Done."))
	run := h.Say("Go")
	id := run.Result.RunID
	h.Resume(id, awaken.Decision{Target: "call_ask_2", ID: "d", Action: awaken.ActionResume, Actor: &awaken.Actor{User: "ann"}})
	rec := record(t, h, id)
	if got := rec.UserText(); got != "Go" {
		t.Errorf("the user said %q", got)
	}
	if len(rec.Turns) != 3 {
		t.Fatalf("%d turns, want 3", len(rec.Turns))
	}
	first := rec.Turns[0]
	if first.Reasoning != "hm" || first.Text != "Let me see." || !first.Answered || first.Finish != llm.ToolUse || first.Usage.PromptTokens != 10 {
		t.Errorf("the first turn is %+v", first)
	}
	want := []llm.ToolCall{{ID: "c1", Name: "echo", Arguments: json.RawMessage(`{"text":"hi"}`)}}
	if diff := cmp.Diff(want, first.ToolCalls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if r := rec.Result("c1"); r == nil || r.Message != "hi" {
		t.Errorf("the result of c1 is %+v", r)
	}
	if len(rec.Decisions) != 1 || rec.Decisions[0].Actor.User != "ann" {
		t.Errorf("decisions are %+v", rec.Decisions)
	}
	var kinds []llm.DeltaKind
	for _, d := range first.Streams[0].Deltas {
		kinds = append(kinds, d.Kind)
	}
	if diff := cmp.Diff([]llm.DeltaKind{llm.ReasoningDelta, llm.TextDelta, llm.TextDelta, llm.ToolCallStart, llm.ToolCallDelta, llm.UsageDelta, llm.FinishDelta}, kinds); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
	if got := rec.Turns[2]; got.Text != "Done." || got.Step != 2 {
		t.Errorf("the last turn is %+v", got)
	}
}

func TestRecord_AnAnswerThatWasWithdrawnDoesNotCount(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{}, llmtest.Turn{Reasoning: llmtest.Text{"no"}, Cut: true}, llmtest.Say("Yes."))
	rec := record(t, h, h.Say("Go").Result.RunID)
	if len(rec.Turns) != 1 || rec.Turns[0].Text != "Yes." || rec.Turns[0].Reasoning != "" {
		t.Fatalf("turns are %+v", rec.Turns)
	}
	if s := rec.Turns[0].Streams; len(s) != 2 || !s[0].Withdrawn || s[0].Deltas[0].Text != "no" {
		t.Errorf("streams are %+v", s)
	}
}

func TestRecord_HasTheRunsBelow(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{{ID: "default", Delegates: []string{"writer"}}, {ID: "writer", Description: "Writes."}},
		Plugins: []awaken.Plugin{delegate.New(delegate.Options{})}},
		llmtest.Use("agent_run_writer", `{"prompt":"A line"}`), llmtest.Say("A line."), llmtest.Say("Here."))
	rec := record(t, h, h.Say("Go").Result.RunID)
	if len(rec.Children) != 1 || rec.Children[0].UserText() != "A line" || rec.Children[0].Turns[0].Text != "A line." {
		t.Fatalf("children are %+v", rec.Children)
	}
	alone, err := (&trace.Recorder{Source: h.Store.(trace.Source), Alone: true}).Record(t.Context(), rec.Run.RunID)
	if err != nil || len(alone.Children) != 0 {
		t.Errorf("alone: %+v, %v", alone, err)
	}
}

func TestRecord_LeavesOutOtherRunsOfTheThread(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{}, llmtest.Say("One."), llmtest.Say("Two."))
	one := h.Say("First")
	two := h.Run(awaken.RunRequest{ThreadID: one.Result.ThreadID, Messages: []*llm.Message{llm.UserText("Second")}})
	rec := record(t, h, two.Result.RunID)
	if rec.UserText() != "Second" || len(rec.Turns) != 1 || len(rec.Messages) != 1 || len(rec.Before) != 0 {
		t.Errorf("the recording is %+v", rec)
	}
	whole, err := (&trace.Recorder{Source: h.Store.(trace.Source), Before: true}).Record(t.Context(), two.Result.RunID)
	if err != nil || len(whole.Before) != 2 {
		t.Errorf("before are %+v, %v", whole.Before, err)
	}
	if _, err := trace.Record(t.Context(), h.Store.(trace.Source), "none"); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("a run that does not exist: %v", err)
	}
}
