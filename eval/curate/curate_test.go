package curate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/curate"
	"github.com/awaken-go/awaken/eval/runner"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace"
)

// recorded runs an agent and returns the recording of its run.
func recorded(t *testing.T, turns ...llmtest.Turn) *trace.Recording {
	t.Helper()
	tool := awaken.NewTool(awaken.ToolSpec{ID: "weather", Description: "weather"}, func(_ context.Context, _ *awaken.ToolCall, in struct {
		City string `json:"city"`
	}) (map[string]string, error) {
		if in.City == "Atlantis" {
			return nil, errors.New("no such city")
		}
		return map[string]string{"sky": "blue over " + in.City}, nil
	})
	h := awakentest.New(t, engine.Config{Tools: []awaken.Tool{tool}}, turns...)
	run := h.Say("How is it?")
	rec, err := trace.Record(t.Context(), h.Store.(trace.Source), run.Result.RunID)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// A case that is made of a run does what the run did, without its model and its tools.
func TestFixture_RunsAsWasRecorded(t *testing.T) {
	t.Parallel()
	both := llmtest.Turn{Text: llmtest.Text{"I look."}, ToolCalls: []llmtest.Call{{Name: "weather", Arguments: []byte(`{"city":"Oslo"}`)}, {Name: "weather", Arguments: []byte(`{"city":"Atlantis"}`)}},
		Usage: &llm.Usage{PromptTokens: 5, CompletionTokens: 7, TotalTokens: 12}}
	rec := recorded(t, both, llmtest.Use("weather", `{"city":"Rome"}`), llmtest.Say("It is ", "blue."))
	f, err := curate.Fixture(rec, curate.Options{ID: "a", Mode: curate.Require, Expect: eval.Expectation{FinalAnswerContains: []string{"It is blue."}, ToolSequence: []string{"weather", "weather", "weather"},
		RequiredToolCalls: []eval.RequiredCall{{Name: "weather", ArgsSubset: []byte(`{"city":"Rome"}`), ResultSubset: []byte(`{"sky":"blue over Rome"}`)}}}})
	if err != nil {
		t.Fatal(err)
	}
	var report *eval.Report
	r := &runner.Runner{Open: func(s runner.Setup) (runner.Runtime, error) {
		return engine.New(engine.Config{Versions: s.Versions, Executor: s.Executor, Store: memory.New()})
	}}
	if err := r.Run(t.Context(), &runner.Plan{Fixtures: []eval.Fixture{*f}, Variants: []runner.Variant{runner.Scripted()}}, func(_ int, it eval.Item) error { report = it.Report; return nil }); err != nil {
		t.Fatal(err)
	}
	if !report.Passed || report.ToolFailures != 1 || report.ToolCount != 3 || report.InferenceCount != 3 {
		t.Errorf("%+v", report)
	}
	if f.SourceRunID != rec.Run.RunID || f.UserInput != "How is it?" {
		t.Errorf("%+v", f)
	}
}

func TestFixture_SaysWhyARunHasNoScript(t *testing.T) {
	t.Parallel()
	rec := recorded(t, llmtest.Turn{Error: &llmtest.Failure{Kind: llm.Unauthorized, Message: "wrong key"}})
	f, err := curate.Fixture(rec, curate.Options{})
	if err != nil || len(f.ProviderScript) > 0 || f.ProviderScriptError == "" {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := curate.Fixture(rec, curate.Options{Mode: curate.Require}); !errors.Is(err, curate.ErrUncuratable) || !strings.Contains(err.Error(), rec.Run.RunID) {
		t.Errorf("%v", err)
	}
	rec.Input = nil
	if _, err := curate.Fixture(rec, curate.Options{}); !errors.Is(err, curate.ErrUncuratable) || !strings.Contains(err.Error(), "no text of a user") {
		t.Errorf("%v", err)
	}
}

func TestDialogue_HasATurnForEachRun(t *testing.T) {
	t.Parallel()
	a, b := recorded(t, llmtest.Say("one")), recorded(t, llmtest.Say("two"))
	f, err := curate.Dialogue([]*trace.Recording{a, b}, curate.Options{ID: "d"})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, turn := range f.Turns() {
		said = append(said, turn.ProviderScript[0].Content)
	}
	if diff := cmp.Diff([]string{"one", "two"}, said); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	broken := recorded(t, llmtest.Turn{Error: &llmtest.Failure{Kind: llm.Unauthorized}})
	if f, err = curate.Dialogue([]*trace.Recording{a, broken}, curate.Options{ID: "d"}); err != nil || f.Scripted() {
		t.Errorf("one turn has no script: %+v, %v", f, err)
	}
	if _, err := curate.Dialogue(nil, curate.Options{}); !errors.Is(err, curate.ErrUncuratable) {
		t.Error(err)
	}
}
