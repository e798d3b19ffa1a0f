package trace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/trace"
)

func TestLines_TellWhatHappenedInOrder(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{{ID: "default", Delegates: []string{"writer"}}, {ID: "writer", Description: "Writes."}},
		Tools: []awaken.Tool{echo(), ask()}, Plugins: []awaken.Plugin{delegate.New(delegate.Options{})}},
		llmtest.Turn{Text: llmtest.Text{"secret answer"}, ToolCalls: []llmtest.Call{{Name: "echo", Arguments: json.RawMessage(`{"text":"secret"}`)}, {Name: "ask"}}},
		llmtest.Use("agent_run_writer", `{"prompt":"secret line"}`), llmtest.Say("secret line."), llmtest.Say("Here."))
	run := h.Say("secret question").Result
	h.Resume(run.RunID, awaken.Decision{Target: run.Waiting.TicketIDs[0], Action: awaken.ActionResume, Actor: &awaken.Actor{User: "ann"}})
	rec := record(t, h, run.RunID)
	var kinds []string
	for _, ev := range rec.Lines(false) {
		data, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "secret") {
			t.Errorf("an event without bodies has a text: %s", data)
		}
		kinds = append(kinds, ev.Type)
	}
	if got := strings.Join(kinds, " "); got != "inference tool suspension tool inference tool inference delegation" {
		t.Errorf("the events are %s", got)
	}
	all, err := json.Marshal(rec.Lines(true))
	if err != nil || !strings.Contains(string(all), `"response_content":"secret answer"`) || !strings.Contains(string(all), `"user":"ann"`) {
		t.Errorf("with bodies: %s, %v", all, err)
	}
}

// A trace says of a call in doubt that it is, also without bodies, and how it was settled.
func TestLines_OfACallInDoubt(t *testing.T) {
	t.Parallel()
	pay := awaken.NewTool(awaken.ToolSpec{ID: "pay"}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) {
		return "", fmt.Errorf("the bank does not answer: %w", awaken.ErrInDoubt)
	})
	h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{{ID: "default"}}, Tools: []awaken.Tool{pay}}, llmtest.Use("pay", `{}`), llmtest.Say("I do not know."))
	rec := record(t, h, h.Say("Pay").Result.RunID)
	say := func(outcome awaken.Outcome, failed string) {
		t.Helper()
		i := slices.IndexFunc(rec.Lines(false), func(ev trace.Event) bool { return ev.Tool != nil })
		if got := rec.Lines(false)[i].Tool; got.Outcome != outcome || got.Error != failed {
			t.Errorf("the call is %q with error type %q, want %q and %q", got.Outcome, got.Error, outcome, failed)
		}
		data, err := json.Marshal(trace.OTLP(rec))
		if err != nil || !strings.Contains(string(data), `{"key":"awaken.tool.outcome","value":{"stringValue":"`+string(outcome)+`"}}`) {
			t.Errorf("the spans are %s, want one with the outcome %q; %v", data, outcome, err)
		}
	}
	say(awaken.OutcomeInDoubt, "in_doubt")
	settled := *rec.Calls[0]
	for outcome, failed := range map[awaken.Outcome]string{awaken.OutcomeMade: "", awaken.OutcomeNotMade: "tool_error"} {
		settled.Doubt = rec.Calls[0].Doubt.Settle(awaken.Settlement{Outcome: outcome, By: "person"})
		rec.Calls = []*awaken.CallState{&settled}
		say(outcome, failed)
	}
}

func TestOTLP_SpansFormATree(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{{ID: "default", Delegates: []string{"writer"}}, {ID: "writer", Description: "Writes."}},
		Plugins: []awaken.Plugin{delegate.New(delegate.Options{})}},
		llmtest.Use("agent_run_writer", `{"prompt":"secret"}`), llmtest.Say("A line."), llmtest.Say("Here."))
	rec := record(t, h, h.Say("Go").Result.RunID)
	data, err := json.Marshal(trace.OTLP(rec))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "secret") {
		t.Errorf("the spans have texts: %s", data)
	}
	var out struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct{ TraceID, SpanID, ParentSpanID, Name, StartTimeUnixNano, EndTimeUnixNano string }
			}
		}
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	spans := out.ResourceSpans[0].ScopeSpans[0].Spans
	for _, s := range spans {
		if len(s.TraceID) != 32 || len(s.SpanID) != 16 || s.TraceID != spans[0].TraceID || names[s.SpanID] != "" || s.StartTimeUnixNano > s.EndTimeUnixNano {
			t.Errorf("a span is %+v", s)
		}
		names[s.SpanID] = s.Name
	}
	var tree []string
	for _, s := range spans {
		tree = append(tree, names[s.ParentSpanID]+" > "+s.Name)
	}
	want := []string{" > invoke_agent default", "invoke_agent default > chat scripted", "invoke_agent default > execute_tool agent_run_writer", "invoke_agent default > chat scripted",
		"execute_tool agent_run_writer > invoke_agent writer", "invoke_agent writer > chat scripted"}
	if strings.Join(tree, "\n") != strings.Join(want, "\n") {
		t.Errorf("the tree is\n%s", strings.Join(tree, "\n"))
	}
}

func TestClone_SharesNothingThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	e := &trace.Event{Context: trace.Context{Type: "inference", RunID: "r"}, Inference: &trace.Inference{Model: "m", FinishReasons: []string{"end_turn"}}}
	kept := e.Clone()
	e.RunID, e.Inference.Model, e.Inference.FinishReasons[0] = "other", "other", "other"
	if kept.RunID != "r" || kept.Inference.Model != "m" || kept.Inference.FinishReasons[0] != "end_turn" || kept.Tool != nil {
		t.Errorf("the copy is %+v of %+v", kept, kept.Inference)
	}
}
